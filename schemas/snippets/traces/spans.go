package main

import (
	"context"
	"log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL("http://127.0.0.1:4318/v1/traces"),
		otlptracehttp.WithHeaders(map[string]string{"X-MON-TOKEN": "<token>"}))
	if err != nil {
		log.Fatal(err)
	}
	provider := trace.NewTracerProvider(
		trace.WithBatcher(exporter),
		trace.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))))

	_, span := provider.Tracer("shop").Start(ctx, "order")
	span.End()
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
}
