import { randomUUID } from 'node:crypto';
import { DiagConsoleLogger, DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';

diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.WARN);
const exporter = new OTLPLogExporter({
  url: 'http://127.0.0.1:4318/v1/logs',
  headers: { 'X-MON-TOKEN': '<token>' },
});
const provider = new LoggerProvider({
  // The id tells the processes of a service apart.
  resource: resourceFromAttributes({
    'service.name': 'shop',
    'service.instance.id': randomUUID(),
  }),
  processors: [new BatchLogRecordProcessor({ exporter })],
});

provider.getLogger('shop').emit({ severityNumber: 13, severityText: 'WARN', body: 'the order is late' });
await provider.shutdown();
