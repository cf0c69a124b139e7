package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

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

// madeSpans has two resources of two scopes each, and the spans shared out among them.
func madeSpans(asked batch) ptrace.Traces {
	traces := ptrace.NewTraces()
	scopes := []ptrace.ScopeSpans{}
	for resource := range 2 {
		spans := traces.ResourceSpans().AppendEmpty()
		spans.SetSchemaUrl(resourceSchema)
		fillResource(spans.Resource(), resource)
		for scope := range 2 {
			in := spans.ScopeSpans().AppendEmpty()
			fillScope(in.Scope(), scope)
			in.SetSchemaUrl(scopeSchema)
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

func startTraces(ctx context.Context, factory exporter.Factory, config component.Config, settings exporter.Settings) pipeline {
	traces, err := factory.CreateTraces(ctx, settings, config)
	if err != nil {
		log.Fatal(err)
	}
	if err := traces.Start(ctx, componenttest.NewNopHost()); err != nil {
		log.Fatal(err)
	}
	return func(ctx context.Context, asked batch) ([]map[string]any, error) {
		spans := madeSpans(asked)
		rows := rowsOf(spans)
		return rows, traces.ConsumeTraces(ctx, spans)
	}
}
