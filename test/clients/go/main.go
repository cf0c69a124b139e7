// Exports spans with the OpenTelemetry SDK and otlptracehttp or otlptracegrpc, set up by the SDK's own variables. Argument: http or
// grpc. Reads batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers each with a line of whether the exporter told
// of a success and what the SDK held of the spans.
package main

import (
	"bufio"
	"context"
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
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
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

// telling is the exporter, with its results and its spans noted.
type telling struct {
	sdktrace.SpanExporter
	errs  []error
	calls int
	spans []sdktrace.ReadOnlySpan
}

func (t *telling) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := t.SpanExporter.ExportSpans(ctx, spans)
	t.calls++
	// The exporter answers what a partial success says as an error, although it takes it for a success.
	if err == nil || !strings.Contains(err.Error(), "OTLP partial success") {
		t.errs = append(t.errs, err)
	}
	t.spans = append(t.spans, spans...)
	return err
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

var kinds = []trace.SpanKind{
	trace.SpanKindInternal, trace.SpanKindServer, trace.SpanKindClient, trace.SpanKindProducer, trace.SpanKindConsumer,
}

// maker makes spans, each of which knows the one before.
type maker struct {
	tracer  trace.Tracer
	earlier trace.SpanContext
}

func (m *maker) make(number int, more int) {
	ctx := context.Background()
	if m.earlier.IsValid() && number%5 != 0 {
		ctx = trace.ContextWithSpanContext(ctx, m.earlier)
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(kinds[number%5])}
	if m.earlier.IsValid() && number%7 == 0 {
		state, err := trace.ParseTraceState(fmt.Sprintf("vendor=v%d,other=1", number))
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, trace.WithLinks(
			trace.Link{SpanContext: m.earlier, Attributes: []attribute.KeyValue{attribute.String("why", "batch")}},
			trace.Link{SpanContext: m.earlier.WithTraceState(state)},
		))
	}
	_, span := m.tracer.Start(ctx, fmt.Sprintf("operation %d é值😀", number%13), options...)
	span.SetAttributes(attributesOf(number)...)
	for index := range more {
		span.SetAttributes(attribute.Int(fmt.Sprintf("more %d", index), index))
	}
	for index := range number % 3 {
		span.AddEvent(fmt.Sprintf("event %d", index), trace.WithAttributes(
			attribute.Int("index", index), attribute.StringSlice("texts", []string{"é", ""})))
	}
	if number%11 == 0 {
		span.RecordError(fmt.Errorf("no %d", number))
	}
	if number%3 == 1 {
		span.SetStatus(codes.Ok, "")
	}
	if number%3 == 2 {
		span.SetStatus(codes.Error, fmt.Sprintf("failed %d", number))
	}
	span.End()
	m.earlier = span.SpanContext()
}

func shown(value attribute.Value) string {
	switch value.Type() {
	case attribute.STRING:
		return value.AsString()
	case attribute.BOOL:
		return strconv.FormatBool(value.AsBool())
	case attribute.INT64:
		return strconv.FormatInt(value.AsInt64(), 10)
	case attribute.FLOAT64:
		return strconv.FormatFloat(value.AsFloat64(), 'f', -1, 64)
	default:
		text, err := json.Marshal(value.AsInterface())
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

func kept(span sdktrace.ReadOnlySpan) map[string]any {
	context := span.SpanContext()
	parent := ""
	if span.Parent().SpanID().IsValid() {
		parent = span.Parent().SpanID().String()
	}
	eventTimes, eventNames, eventAttributes := []string{}, []string{}, []map[string]string{}
	for _, event := range span.Events() {
		eventTimes = append(eventTimes, nanos(event.Time))
		eventNames = append(eventNames, event.Name)
		eventAttributes = append(eventAttributes, shownAll(event.Attributes))
	}
	linkTraces, linkSpans, linkStates, linkAttributes := []string{}, []string{}, []string{}, []map[string]string{}
	for _, link := range span.Links() {
		linkTraces = append(linkTraces, link.SpanContext.TraceID().String())
		linkSpans = append(linkSpans, link.SpanContext.SpanID().String())
		linkStates = append(linkStates, "") // The exporter does not send the trace state of a link.
		linkAttributes = append(linkAttributes, shownAll(link.Attributes))
	}
	kind := span.SpanKind().String()
	return map[string]any{
		"Timestamp":          nanos(span.StartTime()),
		"Duration":           strconv.FormatInt(span.EndTime().UnixNano()-span.StartTime().UnixNano(), 10),
		"TraceId":            context.TraceID().String(),
		"SpanId":             context.SpanID().String(),
		"ParentSpanId":       parent,
		"TraceState":         context.TraceState().String(),
		"SpanName":           span.Name(),
		"SpanKind":           strings.ToUpper(kind[:1]) + kind[1:],
		"ServiceName":        "go",
		"ResourceAttributes": shownAll(span.Resource().Attributes()),
		"ScopeName":          span.InstrumentationScope().Name,
		"ScopeVersion":       span.InstrumentationScope().Version,
		"SpanAttributes":     shownAll(span.Attributes()),
		"StatusCode":         span.Status().Code.String(),
		"StatusMessage":      span.Status().Description,
		"Events.Timestamp":   eventTimes,
		"Events.Name":        eventNames,
		"Events.Attributes":  eventAttributes,
		"Links.TraceId":      linkTraces,
		"Links.SpanId":       linkSpans,
		"Links.TraceState":   linkStates,
		"Links.Attributes":   linkAttributes,
	}
}

func start(ctx context.Context, transport string) (sdktrace.SpanExporter, error) {
	if transport == "grpc" {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

func main() {
	ctx := context.Background()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Print(err) }))
	exporter, err := start(ctx, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	told := &telling{SpanExporter: exporter}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(told, sdktrace.WithMaxQueueSize(8192), sdktrace.WithBatchTimeout(time.Hour),
			sdktrace.WithExportTimeout(2*time.Minute)),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "go"),
			attribute.String("net.host.ip", "10.1.2.3"),
			attribute.Int("process.pid", 4711),
		)),
	)
	spans := maker{tracer: provider.Tracer("io.example.go", trace.WithInstrumentationVersion("1.2.3"))}
	input := bufio.NewScanner(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for input.Scan() {
		var asked batch
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		*told = telling{SpanExporter: exporter}
		for offset := range asked.Count {
			more := 0
			if offset == 0 {
				more = asked.Attributes
			}
			spans.make(asked.First+offset, more)
		}
		if err := provider.ForceFlush(ctx); err != nil {
			log.Print(err)
		}
		result := answer{Ok: told.calls > 0 && errors.Join(told.errs...) == nil, Rows: []map[string]any{}}
		for _, span := range told.spans {
			result.Rows = append(result.Rows, kept(span))
		}
		if err := output.Encode(result); err != nil {
			log.Fatal(err)
		}
	}
}
