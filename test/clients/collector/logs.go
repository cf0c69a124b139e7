package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// fillBody makes a body of each kind in turn; the last kind is none.
func fillBody(body pcommon.Value, number int) {
	switch number % 9 {
	case 0:
		body.SetStr(fmt.Sprintf("a \"b\" \\ %d\tline\nnul\x00é值😀\u200d", number))
	case 1:
		body.SetInt(-int64(number))
	case 2:
		body.SetDouble(float64(number) + 0.25)
	case 3:
		body.SetBool(number%2 == 0)
	case 4:
		body.SetEmptyBytes().FromRaw([]byte{0, 255, byte(number)})
	case 5:
		if err := body.SetEmptySlice().FromRaw([]any{int64(number), []any{"é"}}); err != nil {
			log.Fatal(err)
		}
	case 6:
		if err := body.SetEmptyMap().FromRaw(map[string]any{"b": map[string]any{"deep": true}}); err != nil {
			log.Fatal(err)
		}
	case 7:
		body.SetStr(strings.Repeat("é", 100*number))
	}
}

func fillRecord(record plog.LogRecord, number int, more int) {
	observed := time.Now()
	// The rest has one of its two times only, the observed time or its own.
	if number%7 != 6 {
		record.SetTimestamp(pcommon.NewTimestampFromTime(observed.Add(-time.Duration(number) * time.Millisecond)))
	}
	if number%7 != 5 {
		record.SetObservedTimestamp(pcommon.NewTimestampFromTime(observed))
	}
	// Every third belongs to no span.
	if number%3 != 0 {
		record.SetTraceID(traceID(number))
		record.SetSpanID(spanID(number))
		record.SetFlags(plog.LogRecordFlags(0x300 + number%2))
	}
	record.SetSeverityNumber(plog.SeverityNumber(number % 25))
	if number%5 != 0 {
		record.SetSeverityText(fmt.Sprintf("level %d é", number%25))
	}
	if number%4 == 0 {
		record.SetEventName("order.placed")
	}
	fillBody(record.Body(), number)
	fill(record.Attributes(), number)
	for index := range more {
		record.Attributes().PutInt(fmt.Sprintf("more %d", index), int64(index))
	}
	record.SetDroppedAttributesCount(uint32(number % 2))
}

// madeRecords has two resources of two scopes each, and the log records shared out among them.
func madeRecords(asked batch) plog.Logs {
	logs := plog.NewLogs()
	scopes := []plog.ScopeLogs{}
	for resource := range 2 {
		records := logs.ResourceLogs().AppendEmpty()
		records.SetSchemaUrl(resourceSchema)
		fillResource(records.Resource(), resource)
		for scope := range 2 {
			in := records.ScopeLogs().AppendEmpty()
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
		fillRecord(scopes[offset%len(scopes)].LogRecords().AppendEmpty(), asked.First+offset, more)
	}
	return logs
}

func rowOfRecord(resource plog.ResourceLogs, scope plog.ScopeLogs, record plog.LogRecord) map[string]any {
	service, _ := resource.Resource().Attributes().Get("service.name")
	traceID, spanID := record.TraceID(), record.SpanID()
	at := record.Timestamp()
	if at == 0 {
		at = record.ObservedTimestamp()
	}
	return map[string]any{
		"Timestamp":          nanos(at),
		"ObservedTimestamp":  nanos(record.ObservedTimestamp()),
		"TraceId":            id(traceID[:]),
		"SpanId":             id(spanID[:]),
		"TraceFlags":         int(record.Flags() & 0xff),
		"SeverityText":       record.SeverityText(),
		"SeverityNumber":     int(record.SeverityNumber()),
		"ServiceName":        service.AsString(),
		"Body":               shown(record.Body()),
		"ResourceSchemaUrl":  resource.SchemaUrl(),
		"ResourceAttributes": shownAll(resource.Resource().Attributes()),
		"ScopeSchemaUrl":     scope.SchemaUrl(),
		"ScopeName":          scope.Scope().Name(),
		"ScopeVersion":       scope.Scope().Version(),
		"ScopeAttributes":    shownAll(scope.Scope().Attributes()),
		"LogAttributes":      shownAll(record.Attributes()),
		"EventName":          record.EventName(),
	}
}

func rowsOfRecords(logs plog.Logs) []map[string]any {
	rows := []map[string]any{}
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				rows = append(rows, rowOfRecord(resource, scope, record))
			}
		}
	}
	return rows
}

func startLogs(ctx context.Context, factory exporter.Factory, config component.Config, settings exporter.Settings) pipeline {
	logs, err := factory.CreateLogs(ctx, settings, config)
	if err != nil {
		log.Fatal(err)
	}
	if err := logs.Start(ctx, componenttest.NewNopHost()); err != nil {
		log.Fatal(err)
	}
	return func(ctx context.Context, asked batch) ([]map[string]any, error) {
		records := madeRecords(asked)
		rows := rowsOfRecords(records)
		return rows, logs.ConsumeLogs(ctx, records)
	}
}
