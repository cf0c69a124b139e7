import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

const exporter = new OTLPTraceExporter({
  url: 'http://127.0.0.1:4318/v1/traces',
  headers: { 'X-MON-TOKEN': '<token>' },
});
const provider = new TracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'shop' }),
  spanProcessors: [new BatchSpanProcessor({ exporter })],
});

provider.getTracer('shop').startSpan('order').end();
await provider.shutdown();
