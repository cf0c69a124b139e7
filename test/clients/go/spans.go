package main

import (
	"context"
	"fmt"
	"log"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// tellingSpans is the exporter, with its results and its spans noted.
type tellingSpans struct {
	sdktrace.SpanExporter
	told *told
}

func (t *tellingSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, span := range spans {
		t.told.rows = append(t.told.rows, kept(span))
	}
	err := t.SpanExporter.ExportSpans(ctx, spans)
	t.told.note(err)
	return err
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

func createSpanExporter(ctx context.Context, transport string) (sdktrace.SpanExporter, error) {
	if transport == "grpc" {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

func startTraces(ctx context.Context, transport string) (*sdk, error) {
	exporter, err := createSpanExporter(ctx, transport)
	if err != nil {
		return nil, err
	}
	told := &told{}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&tellingSpans{exporter, told}, sdktrace.WithMaxQueueSize(8192),
			sdktrace.WithBatchTimeout(time.Hour), sdktrace.WithExportTimeout(2*time.Minute)),
		sdktrace.WithResource(resource.NewSchemaless(resourceAttributes...)),
	)
	spans := maker{tracer: provider.Tracer("io.example.go", trace.WithInstrumentationVersion("1.2.3"))}
	return &sdk{make: spans.make, flush: provider.ForceFlush, told: told}, nil
}
