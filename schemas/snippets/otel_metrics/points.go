package main

import (
	"context"
	"crypto/rand"
	"log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

func main() {
	ctx := context.Background()
	exporter, err := otlpmetrichttp.New(ctx,
		otlpmetrichttp.WithEndpointURL("http://127.0.0.1:4318/v1/metrics"),
		otlpmetrichttp.WithHeaders(map[string]string{"X-MON-TOKEN": "<token>"}))
	if err != nil {
		log.Fatal(err)
	}
	provider := metric.NewMeterProvider(
		metric.WithReader(metric.NewPeriodicReader(exporter)),
		// The id tells the processes of a service apart.
		metric.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "shop"),
			attribute.String("service.instance.id", rand.Text()))))

	orders, err := provider.Meter("shop").Int64Counter("orders", api.WithUnit("{order}"))
	if err != nil {
		log.Fatal(err)
	}
	orders.Add(ctx, 1)
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
}
