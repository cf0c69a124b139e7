// Exports spans, log records or data points with the OpenTelemetry Collector's otlphttp or otlp exporter as it comes, but without
// its sending queue, which would hide what became of a batch. Arguments: traces, logs or metrics, encoding (json or proto; grpc for
// the otlp exporter), compression (gzip or none). Reads batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers each
// with a line of whether the exporter told of a success and what it was given.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"
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

// pipeline makes the items of a batch, and answers what they are and the exporter's error.
type pipeline func(ctx context.Context, asked batch) ([]map[string]any, error)

const (
	resourceSchema = "https://opentelemetry.io/schemas/1.30.0"
	scopeSchema    = "https://opentelemetry.io/schemas/1.31.0"
)

func fillResource(resource pcommon.Resource, number int) {
	resource.Attributes().PutStr("service.name", fmt.Sprintf("collector %d", number))
	resource.Attributes().PutStr("net.host.ip", "10.1.2.3")
}

func fillScope(scope pcommon.InstrumentationScope, number int) {
	scope.SetName(fmt.Sprintf("io.example.collector.%d", number))
	scope.SetVersion("1.2.3")
	scope.Attributes().PutStr("of", "the scope")
	scope.SetDroppedAttributesCount(2)
}

func fill(to pcommon.Map, number int) {
	n := int64(number)
	to.PutInt("number", n)
	to.PutStr("text", fmt.Sprintf("a \"b\" \\ %d", number))
	to.PutDouble("double", float64(number)+0.25)
	to.PutInt("largest", math.MaxInt64-n)
	to.PutInt("smallest", math.MinInt64+n)
	to.PutDouble("infinity", math.Inf(1))
	to.PutDouble("minus infinity", math.Inf(-1))
	to.PutDouble("no number", math.NaN())
	to.PutDouble("minus zero", math.Copysign(0, -1))
	to.PutDouble("large", 1e21*float64(number+1))
	to.PutDouble("small", 1e-7*float64(number+1))
	to.PutBool("bool", number%2 == 0)
	to.PutStr("empty", "")
	to.PutStr("control", "tab\tline\nnul\x00end")
	to.PutStr("unicode", "é值😀\u200d")
	to.PutEmptySlice("nothing in it")
	to.PutEmptyMap("no keys in it")
	to.PutEmptyBytes("bytes").FromRaw([]byte{0, 255, byte(number)})
	nested := to.PutEmptySlice("nested")
	if err := nested.FromRaw([]any{
		[]any{n, int64(math.MinInt64), int64(math.MaxInt64)}, []any{"a", []any{true}},
		map[string]any{"k": []any{1.5, map[string]any{"deep": "é"}}},
	}); err != nil {
		log.Fatal(err)
	}
	if err := to.PutEmptyMap("map").FromRaw(map[string]any{"b": map[string]any{"c": []any{"d"}}}); err != nil {
		log.Fatal(err)
	}
	if number%50 == 0 {
		to.PutStr("long", strings.Repeat("é", 30_000))
	}
}

func traceID(number int) (id pcommon.TraceID) {
	binary.BigEndian.PutUint64(id[:8], uint64(number/5+1))
	binary.BigEndian.PutUint64(id[8:], 1<<63)
	return id
}

func spanID(number int) (id pcommon.SpanID) {
	binary.BigEndian.PutUint64(id[:], 1<<62+uint64(number))
	return id
}

func plain(value any) any {
	switch value := value.(type) {
	case []byte:
		return base64.StdEncoding.EncodeToString(value)
	case []any:
		all := make([]any, len(value))
		for index, each := range value {
			all[index] = plain(each)
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key, each := range value {
			all[key] = plain(each)
		}
		return all
	default:
		return value
	}
}

func shown(value pcommon.Value) string {
	// As the Collector's exporters write it.
	if value.Type() == pcommon.ValueTypeDouble || value.Type() == pcommon.ValueTypeEmpty {
		return value.AsString()
	}
	if text, isText := plain(value.AsRaw()).(string); isText {
		return text
	}
	text, err := json.Marshal(plain(value.AsRaw()))
	if err != nil {
		log.Fatal(err)
	}
	return string(text)
}

func shownAll(attributes pcommon.Map) map[string]string {
	all := map[string]string{}
	for key, value := range attributes.All() {
		all[key] = shown(value)
	}
	return all
}

func id(raw []byte) string {
	for _, each := range raw {
		if each != 0 {
			return fmt.Sprintf("%x", raw)
		}
	}
	return ""
}

func nanos(at pcommon.Timestamp) string { return strconv.FormatUint(uint64(at), 10) }

// settingsOf is the exporter's factory, its configuration and its surroundings, for this signal's variables and option.
func settingsOf(signal string, encoding string, compression string) (exporter.Factory, component.Config, exporter.Settings) {
	variables := "OTEL_EXPORTER_OTLP_" + strings.ToUpper(signal)
	header := strings.SplitN(os.Getenv(variables+"_HEADERS"), "=", 2)
	endpoint := os.Getenv(variables + "_ENDPOINT")
	set := map[string]any{
		"headers":       map[string]any{header[0]: header[1]},
		"compression":   compression,
		"sending_queue": map[string]any{"enabled": false},
	}
	factory := otlphttpexporter.NewFactory()
	if encoding == "grpc" {
		factory = otlpexporter.NewFactory()
		set["endpoint"] = endpoint
		set["tls"] = map[string]any{"insecure": true}
	} else {
		set[signal+"_endpoint"] = endpoint
		set["encoding"] = encoding
	}
	config := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(set).Unmarshal(config); err != nil {
		log.Fatal(err)
	}
	logger, err := zap.NewProduction()
	if err != nil {
		log.Fatal(err)
	}
	settings := exporter.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	settings.Logger = logger
	return factory, config, settings
}

func start(ctx context.Context, signal string, encoding string, compression string) pipeline {
	factory, config, settings := settingsOf(signal, encoding, compression)
	switch signal {
	case "logs":
		return startLogs(ctx, factory, config, settings)
	case "metrics":
		return startMetrics(ctx, factory, config, settings)
	}
	return startTraces(ctx, factory, config, settings)
}

func main() {
	ctx := context.Background()
	export := start(ctx, os.Args[1], os.Args[2], os.Args[3])
	input := bufio.NewScanner(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for input.Scan() {
		var asked batch
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		rows, err := export(ctx, asked)
		if err != nil {
			log.Print(err)
		}
		if err := output.Encode(answer{Ok: err == nil, Rows: rows}); err != nil {
			log.Fatal(err)
		}
	}
}
