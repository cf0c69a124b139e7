package main

import (
	"context"
	stdlog "log"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

func main() {
	ctx := context.Background()
	exporter, err := otlploghttp.New(ctx,
		otlploghttp.WithEndpointURL("http://127.0.0.1:4318/v1/logs"),
		otlploghttp.WithHeaders(map[string]string{"X-MON-TOKEN": "<token>"}))
	if err != nil {
		stdlog.Fatal(err)
	}
	provider := sdklog.NewLoggerProvider(
		sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)),
		sdklog.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))))

	var record log.Record
	record.SetTimestamp(time.Now())
	record.SetSeverity(log.SeverityWarn)
	record.SetSeverityText("WARN")
	record.SetBody(attribute.StringValue("the order is late"))
	provider.Logger("shop").Emit(ctx, record)
	if err := provider.Shutdown(ctx); err != nil {
		stdlog.Fatal(err)
	}
}
