// Exports spans, log records or data points with the OpenTelemetry SDK and its exporters over HTTP or gRPC, set up by the SDK's own
// variables. Arguments: traces, logs or metrics; http or grpc. Reads batches ({"first": 0, "count": 10, "attributes": 0}) a line and
// answers each with a line of whether the exporter told of a success and what the SDK held of the items.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
)

type batch struct {
	First      int `json:"first"`
	Count      int `json:"count"`
	Attributes int `json:"attributes"`
}

type answer struct {
	Ok   bool             `json:"ok"`
	Rows []map[string]any `json:"rows"`
}

// told is what an exporter was given and what it answered, since the last batch.
type told struct {
	errs  []error
	calls int
	rows  []map[string]any
}

func (t *told) note(err error) {
	t.calls++
	// The exporter answers what a partial success says as an error, although it takes it for a success.
	if err == nil || !strings.Contains(err.Error(), "OTLP partial success") {
		t.errs = append(t.errs, err)
	}
}

// sdk makes items with rising numbers, the first of a batch with more attributes, and exports them when it is flushed.
type sdk struct {
	make  func(number int, more int)
	flush func(ctx context.Context) error
	told  *told
}

var resourceAttributes = []attribute.KeyValue{
	attribute.String("service.name", "go"),
	attribute.String("net.host.ip", "10.1.2.3"),
	attribute.Int("process.pid", 4711),
}

func attributesOf(number int) []attribute.KeyValue {
	n := int64(number)
	shapes := []attribute.KeyValue{
		attribute.Int64("number", n),
		attribute.String("text", fmt.Sprintf("a \"b\" \\ %d", number)),
		attribute.Float64("double", float64(number)+0.25),
		attribute.Int64("largest", math.MaxInt64-n),
		attribute.Int64("smallest", math.MinInt64+n),
		attribute.Bool("bool", number%2 == 0),
		attribute.String("empty", ""),
		attribute.String("control", "tab\tline\nnul\x00end"),
		attribute.String("unicode", "é值😀\u200d\u2028"),
		attribute.StringSlice("texts", []string{"a", "é", ""}),
		attribute.Int64Slice("integers", []int64{n, math.MinInt64, math.MaxInt64}),
		attribute.Float64Slice("doubles", []float64{1.5, -2.25}),
		attribute.BoolSlice("bools", []bool{true, false}),
		attribute.StringSlice("nothing in it", []string{}),
	}
	if number%50 == 0 {
		shapes = append(shapes, attribute.String("long", strings.Repeat("é", 30_000)))
	}
	return shapes
}

// plain is what JSON can say of a value; bytes as base64.
func plain(value attribute.Value) any {
	switch value.Type() {
	case attribute.BYTESLICE:
		return base64.StdEncoding.EncodeToString(value.AsByteSlice())
	case attribute.SLICE:
		all := []any{}
		for _, each := range value.AsSlice() {
			all = append(all, plain(each))
		}
		return all
	case attribute.MAP:
		all := map[string]any{}
		for _, each := range value.AsMap() {
			all[string(each.Key)] = plain(each.Value)
		}
		return all
	case attribute.EMPTY:
		return ""
	default:
		return value.AsInterface()
	}
}

func shown(value attribute.Value) string {
	switch plain := plain(value).(type) {
	case string:
		return plain
	case float64:
		return strconv.FormatFloat(plain, 'f', -1, 64)
	default:
		text, err := json.Marshal(plain)
		if err != nil {
			log.Fatal(err)
		}
		return string(text)
	}
}

func shownAll(attributes []attribute.KeyValue) map[string]string {
	all := map[string]string{}
	for _, each := range attributes {
		all[string(each.Key)] = shown(each.Value)
	}
	return all
}

func nanos(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

func start(ctx context.Context, signal string, transport string) (*sdk, error) {
	switch signal {
	case "logs":
		return startLogs(ctx, transport)
	case "metrics":
		return startMetrics(ctx, transport)
	}
	return startTraces(ctx, transport)
}

func main() {
	ctx := context.Background()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Print(err) }))
	sdk, err := start(ctx, os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	input := bufio.NewScanner(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for input.Scan() {
		var asked batch
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		*sdk.told = told{rows: []map[string]any{}}
		for offset := range asked.Count {
			more := 0
			if offset == 0 {
				more = asked.Attributes
			}
			sdk.make(asked.First+offset, more)
		}
		if err := sdk.flush(ctx); err != nil {
			log.Print(err)
		}
		result := answer{Ok: sdk.told.calls > 0 && errors.Join(sdk.told.errs...) == nil, Rows: sdk.told.rows}
		if err := output.Encode(result); err != nil {
			log.Fatal(err)
		}
	}
}
