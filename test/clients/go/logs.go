package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	otellog "go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// tellingLogs is the exporter, with its results and its log records noted.
type tellingLogs struct {
	sdklog.Exporter
	told *told
}

func (t *tellingLogs) Export(ctx context.Context, records []sdklog.Record) error {
	for _, record := range records {
		t.told.rows = append(t.told.rows, keptRecord(record))
	}
	err := t.Exporter.Export(ctx, records)
	t.told.note(err)
	return err
}

// bodyOf is a body of each kind in turn; the last kind is none.
func bodyOf(number int) attribute.Value {
	switch number % 9 {
	case 0:
		return attribute.StringValue(fmt.Sprintf("a \"b\" \\ %d\tline\nnul\x00é值😀\u200d\u2028", number))
	case 1:
		return attribute.Int64Value(-int64(number))
	case 2:
		return attribute.Float64Value(float64(number) + 0.25)
	case 3:
		return attribute.BoolValue(number%2 == 0)
	case 4:
		return attribute.ByteSliceValue([]byte{0, 255, byte(number)})
	case 5:
		return attribute.SliceValue(attribute.IntValue(number), attribute.SliceValue(attribute.StringValue("é")))
	case 6:
		return attribute.MapValue(attribute.Int("a", number), attribute.Map("b", attribute.Bool("deep", true)))
	case 7:
		return attribute.StringValue(strings.Repeat("é", 100*number))
	default:
		return attribute.Value{}
	}
}

// spanContextOf is the span that a log record belongs to; every third has none.
func spanContextOf(number int) trace.SpanContext {
	if number%3 == 0 {
		return trace.SpanContext{}
	}
	config := trace.SpanContextConfig{TraceFlags: trace.TraceFlags(number % 2)}
	binary.BigEndian.PutUint64(config.TraceID[:], uint64(number/5+1))
	binary.BigEndian.PutUint64(config.SpanID[:], 1<<62+uint64(number))
	return trace.NewSpanContext(config)
}

func emit(logger otellog.Logger, number int, more int) {
	record := otellog.Record{}
	// The rest has the time only at which the SDK observed it.
	if number%7 != 6 {
		record.SetTimestamp(time.Now().Add(-time.Duration(number) * time.Millisecond))
	}
	record.SetSeverity(otellog.Severity(number % 25))
	if number%5 != 0 {
		record.SetSeverityText(fmt.Sprintf("level %d é", number%25))
	}
	record.SetBody(bodyOf(number))
	if number%4 == 0 {
		record.SetEventName("order.placed")
	}
	record.AddAttributes(attributesOf(number)...)
	for index := range more {
		record.AddAttributes(attribute.Int(fmt.Sprintf("more %d", index), index))
	}
	logger.Emit(trace.ContextWithSpanContext(context.Background(), spanContextOf(number)), record)
}

// idText is nothing for a log record without that id.
func idText(id interface {
	IsValid() bool
	String() string
}) string {
	if id.IsValid() {
		return id.String()
	}
	return ""
}

func keptRecord(record sdklog.Record) map[string]any {
	at := record.Timestamp()
	if at.IsZero() {
		at = record.ObservedTimestamp()
	}
	attributes := []attribute.KeyValue{}
	record.WalkAttributes(func(each attribute.KeyValue) bool {
		attributes = append(attributes, each)
		return true
	})
	scope := record.InstrumentationScope()
	return map[string]any{
		"Timestamp":          strconv.FormatInt(at.UnixNano(), 10),
		"ObservedTimestamp":  strconv.FormatInt(record.ObservedTimestamp().UnixNano(), 10),
		"TraceId":            idText(record.TraceID()),
		"SpanId":             idText(record.SpanID()),
		"TraceFlags":         int(record.TraceFlags()),
		"SeverityText":       record.SeverityText(),
		"SeverityNumber":     int(record.Severity()),
		"ServiceName":        "go",
		"Body":               shown(record.Body()),
		"ResourceSchemaUrl":  record.Resource().SchemaURL(),
		"ResourceAttributes": shownAll(record.Resource().Attributes()),
		"ScopeSchemaUrl":     scope.SchemaURL,
		"ScopeName":          scope.Name,
		"ScopeVersion":       scope.Version,
		"ScopeAttributes":    shownAll(scope.Attributes.ToSlice()),
		"LogAttributes":      shownAll(attributes),
		"EventName":          record.EventName(),
	}
}

func createLogExporter(ctx context.Context, transport string) (sdklog.Exporter, error) {
	if transport == "grpc" {
		return otlploggrpc.New(ctx)
	}
	return otlploghttp.New(ctx)
}

func startLogs(ctx context.Context, transport string) (*sdk, error) {
	exporter, err := createLogExporter(ctx, transport)
	if err != nil {
		return nil, err
	}
	told := &told{}
	provider := sdklog.NewLoggerProvider(
		sdklog.WithProcessor(sdklog.NewBatchProcessor(&tellingLogs{exporter, told}, sdklog.WithMaxQueueSize(8192),
			sdklog.WithExportInterval(time.Hour), sdklog.WithExportTimeout(2*time.Minute))),
		sdklog.WithResource(resource.NewWithAttributes("https://opentelemetry.io/schemas/1.30.0", resourceAttributes...)),
	)
	logger := provider.Logger("io.example.go", otellog.WithInstrumentationVersion("1.2.3"),
		otellog.WithSchemaURL("https://opentelemetry.io/schemas/1.31.0"),
		otellog.WithInstrumentationAttributes(attribute.String("of", "the scope"), attribute.Int("number", 1)))
	make := func(number int, more int) { emit(logger, number, more) }
	return &sdk{make: make, flush: provider.ForceFlush, told: told}, nil
}
