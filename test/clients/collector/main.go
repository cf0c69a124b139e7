// Exports spans with the OpenTelemetry Collector's otlphttp or otlp exporter as it comes, but without its sending queue, which would
// hide what became of a batch. Arguments: encoding (json or proto; grpc for the otlp exporter), compression (gzip or none). Reads
// batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers each with a line of whether the exporter told of a success
// and what it was given.
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
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
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

var kinds = []ptrace.SpanKind{
	ptrace.SpanKindUnspecified, ptrace.SpanKindInternal, ptrace.SpanKindServer, ptrace.SpanKindClient,
	ptrace.SpanKindProducer, ptrace.SpanKindConsumer,
}

func fillSpan(span ptrace.Span, number int, more int) {
	start := time.Now()
	span.SetTraceID(traceID(number))
	span.SetSpanID(spanID(number))
	if number%5 != 0 {
		span.SetParentSpanID(spanID(number - 1))
	}
	if number%4 == 0 {
		span.TraceState().FromRaw(fmt.Sprintf("vendor=v%d,other=1", number))
	}
	span.SetFlags(0x301)
	span.SetName(fmt.Sprintf("operation %d é值😀", number%13))
	span.SetKind(kinds[number%6])
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(number) * 1001)))
	fill(span.Attributes(), number)
	for index := range more {
		span.Attributes().PutInt(fmt.Sprintf("more %d", index), int64(index))
	}
	span.SetDroppedAttributesCount(uint32(number % 2))
	span.SetDroppedEventsCount(uint32(number % 3))
	span.SetDroppedLinksCount(uint32(number % 5))
	for index := range number % 3 {
		event := span.Events().AppendEmpty()
		event.SetName(fmt.Sprintf("event %d", index))
		event.SetTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(index))))
		event.Attributes().PutInt("index", int64(index))
		event.SetDroppedAttributesCount(3)
	}
	for index := range number % 4 {
		link := span.Links().AppendEmpty()
		link.SetTraceID(traceID(number + 5))
		link.SetSpanID(spanID(number + 5 + index))
		link.TraceState().FromRaw("vendor=v,other=1")
		link.Attributes().PutStr("why", "batch")
		link.SetDroppedAttributesCount(4)
		link.SetFlags(0x301)
	}
	if number%3 == 1 {
		span.Status().SetCode(ptrace.StatusCodeOk)
	}
	if number%3 == 2 {
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage(fmt.Sprintf("failed %d", number))
	}
}

// made has two resources of two scopes each, and the spans shared out among them.
func made(asked batch) ptrace.Traces {
	traces := ptrace.NewTraces()
	scopes := []ptrace.ScopeSpans{}
	for resource := range 2 {
		spans := traces.ResourceSpans().AppendEmpty()
		spans.SetSchemaUrl("https://opentelemetry.io/schemas/1.30.0")
		spans.Resource().Attributes().PutStr("service.name", fmt.Sprintf("collector %d", resource))
		spans.Resource().Attributes().PutStr("net.host.ip", "10.1.2.3")
		for scope := range 2 {
			in := spans.ScopeSpans().AppendEmpty()
			in.Scope().SetName(fmt.Sprintf("io.example.collector.%d", scope))
			in.Scope().SetVersion("1.2.3")
			in.Scope().Attributes().PutStr("of", "the scope")
			in.Scope().SetDroppedAttributesCount(2)
			in.SetSchemaUrl("https://opentelemetry.io/schemas/1.31.0")
			scopes = append(scopes, in)
		}
	}
	for offset := range asked.Count {
		more := 0
		if offset == 0 {
			more = asked.Attributes
		}
		fillSpan(scopes[offset%len(scopes)].Spans().AppendEmpty(), asked.First+offset, more)
	}
	return traces
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

func shownAll(attributes pcommon.Map) map[string]string {
	all := map[string]string{}
	for key, value := range attributes.All() {
		// As the Collector's exporters write it.
		if value.Type() == pcommon.ValueTypeDouble {
			all[key] = value.AsString()
			continue
		}
		if text, isText := plain(value.AsRaw()).(string); isText {
			all[key] = text
			continue
		}
		text, err := json.Marshal(plain(value.AsRaw()))
		if err != nil {
			log.Fatal(err)
		}
		all[key] = string(text)
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

func rowOf(resource pcommon.Resource, scope pcommon.InstrumentationScope, span ptrace.Span) map[string]any {
	service, _ := resource.Attributes().Get("service.name")
	traceID, spanID, parentID := span.TraceID(), span.SpanID(), span.ParentSpanID()
	eventTimes, eventNames, eventAttributes := []string{}, []string{}, []map[string]string{}
	for _, event := range span.Events().All() {
		eventTimes = append(eventTimes, nanos(event.Timestamp()))
		eventNames = append(eventNames, event.Name())
		eventAttributes = append(eventAttributes, shownAll(event.Attributes()))
	}
	linkTraces, linkSpans, linkStates, linkAttributes := []string{}, []string{}, []string{}, []map[string]string{}
	for _, link := range span.Links().All() {
		linkTrace, linkSpan := link.TraceID(), link.SpanID()
		linkTraces = append(linkTraces, id(linkTrace[:]))
		linkSpans = append(linkSpans, id(linkSpan[:]))
		linkStates = append(linkStates, link.TraceState().AsRaw())
		linkAttributes = append(linkAttributes, shownAll(link.Attributes()))
	}
	return map[string]any{
		"Timestamp":          nanos(span.StartTimestamp()),
		"Duration":           nanos(span.EndTimestamp() - span.StartTimestamp()),
		"TraceId":            id(traceID[:]),
		"SpanId":             id(spanID[:]),
		"ParentSpanId":       id(parentID[:]),
		"TraceState":         span.TraceState().AsRaw(),
		"SpanName":           span.Name(),
		"SpanKind":           span.Kind().String(),
		"ServiceName":        service.AsString(),
		"ResourceAttributes": shownAll(resource.Attributes()),
		"ScopeName":          scope.Name(),
		"ScopeVersion":       scope.Version(),
		"SpanAttributes":     shownAll(span.Attributes()),
		"StatusCode":         span.Status().Code().String(),
		"StatusMessage":      span.Status().Message(),
		"Events.Timestamp":   eventTimes,
		"Events.Name":        eventNames,
		"Events.Attributes":  eventAttributes,
		"Links.TraceId":      linkTraces,
		"Links.SpanId":       linkSpans,
		"Links.TraceState":   linkStates,
		"Links.Attributes":   linkAttributes,
	}
}

func rowsOf(traces ptrace.Traces) []map[string]any {
	rows := []map[string]any{}
	for _, resource := range traces.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				rows = append(rows, rowOf(resource.Resource(), scope.Scope(), span))
			}
		}
	}
	return rows
}

func start(ctx context.Context, encoding string, compression string) exporter.Traces {
	header := strings.SplitN(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), "=", 2)
	endpoint := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
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
		set["traces_endpoint"] = endpoint
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
	traces, err := factory.CreateTraces(ctx, settings, config)
	if err != nil {
		log.Fatal(err)
	}
	if err := traces.Start(ctx, componenttest.NewNopHost()); err != nil {
		log.Fatal(err)
	}
	return traces
}

func main() {
	ctx := context.Background()
	traces := start(ctx, os.Args[1], os.Args[2])
	input := bufio.NewScanner(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for input.Scan() {
		var asked batch
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		spans := made(asked)
		rows := rowsOf(spans)
		err := traces.ConsumeTraces(ctx, spans)
		if err != nil {
			log.Print(err)
		}
		if err := output.Encode(answer{Ok: err == nil, Rows: rows}); err != nil {
			log.Fatal(err)
		}
	}
}
