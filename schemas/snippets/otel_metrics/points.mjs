import { randomUUID } from 'node:crypto';
import { DiagConsoleLogger, DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';

diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.WARN);
const exporter = new OTLPMetricExporter({
  url: 'http://127.0.0.1:4318/v1/metrics',
  headers: { 'X-MON-TOKEN': '<token>' },
});
const provider = new MeterProvider({
  // The id tells the processes of a service apart.
  resource: resourceFromAttributes({
    'service.name': 'shop',
    'service.instance.id': randomUUID(),
  }),
  readers: [new PeriodicExportingMetricReader({ exporter })],
});

provider.getMeter('shop').createCounter('orders', { unit: '{order}' }).add(1);
await provider.shutdown();
