import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pinnedIn } from '../support/clients/builds.ts';
import { pinnedVersion } from '../support/python/python.ts';

const document = await readFile(join(import.meta.dirname, '../../docs/receivers/clients.md'), 'utf8');

const pins: readonly (readonly [string, string])[] = [
  ['Go `otlptracehttp`', await pinnedIn('go/go.mod', /otlptracehttp v(\S+)/)],
  ['Go `otlptracegrpc`', await pinnedIn('go/go.mod', /otlptracegrpc v(\S+)/)],
  ['`otlp` exporter', await pinnedIn('collector/go.mod', /exporter\/otlpexporter v(\S+)/)],
  ['`otlphttp` exporter', await pinnedIn('collector/go.mod', /exporter\/otlphttpexporter v(\S+)/)],
  ...(await Promise.all(
    ['`OtlpHttpSpanExporter`', '`OtlpGrpcSpanExporter`'].map(
      async (exporter) =>
        [
          exporter,
          await pinnedIn('java/pom.xml', /opentelemetry-exporter-otlp<[\s\S]*?<version>([^<]+)/),
        ] as const,
    ),
  )),
  ['of 2023', await pinnedIn('old-js/package.json', /exporter-trace-otlp-http": "([^"]+)/)],
  [
    'JavaScript `@opentelemetry/exporter-trace-otlp-grpc',
    await pinnedIn('grpc-js/package.json', /exporter-trace-otlp-grpc": "([^"]+)/),
  ],
  ['Go `otlploghttp`', await pinnedIn('go/go.mod', /otlploghttp v(\S+)/)],
  ['Go `otlploggrpc`', await pinnedIn('go/go.mod', /otlploggrpc v(\S+)/)],
  ...(await Promise.all(
    ['http', 'proto', 'grpc'].map(async (kind): Promise<readonly [string, string]> => {
      const exporter = `exporter-logs-otlp-${kind}`;
      const version = await pinnedIn('js-logs/package.json', new RegExp(`${exporter}": "([^"]+)`));
      return [`JavaScript \`@opentelemetry/${exporter}`, version];
    }),
  )),
  ...(await Promise.all(
    ['`OtlpHttpLogRecordExporter`', '`OtlpGrpcLogRecordExporter`'].map(
      async (exporter) =>
        [
          exporter,
          await pinnedIn('java/pom.xml', /opentelemetry-exporter-otlp<[\s\S]*?<version>([^<]+)/),
        ] as const,
    ),
  )),
  ...[
    ['proto.http', 'python-requirements.txt'],
    ['json.http', 'python-json-requirements.txt'],
    ['proto.grpc', 'python-grpc-requirements.txt'],
  ].map(([kind = '', requirements = '']) => {
    const name = `opentelemetry-exporter-otlp-${kind.replace('.', '-')}`;
    return [`otlp.${kind}._log_exporter`, pinnedVersion(requirements, name)] as const;
  }),
  ['exporters, logs', await pinnedIn('collector/go.mod', /exporter\/otlpexporter v(\S+)/)],
  ['Go `otlpmetrichttp`', await pinnedIn('go/go.mod', /otlpmetrichttp v(\S+)/)],
  ['Go `otlpmetricgrpc`', await pinnedIn('go/go.mod', /otlpmetricgrpc v(\S+)/)],
  ...(await Promise.all(
    ['http', 'proto', 'grpc'].map(async (kind): Promise<readonly [string, string]> => {
      const exporter = `exporter-metrics-otlp-${kind}`;
      const version = await pinnedIn('js-metrics/package.json', new RegExp(`${exporter}": "([^"]+)`));
      return [`JavaScript \`@opentelemetry/${exporter}`, version];
    }),
  )),
  ...(await Promise.all(
    ['`OtlpHttpMetricExporter`', '`OtlpGrpcMetricExporter`'].map(
      async (exporter) =>
        [
          exporter,
          await pinnedIn('java/pom.xml', /opentelemetry-exporter-otlp<[\s\S]*?<version>([^<]+)/),
        ] as const,
    ),
  )),
  ...[
    ['proto.http', 'python-requirements.txt'],
    ['json.http', 'python-json-requirements.txt'],
    ['proto.grpc', 'python-grpc-requirements.txt'],
  ].map(([kind = '', requirements = '']) => {
    const name = `opentelemetry-exporter-otlp-${kind.replace('.', '-')}`;
    return [`otlp.${kind}.metric_exporter`, pinnedVersion(requirements, name)] as const;
  }),
  ['exporters, metrics', await pinnedIn('collector/go.mod', /exporter\/otlpexporter v(\S+)/)],
  [
    'Python `opentelemetry-instrument`',
    pinnedVersion('auto-instrumentation-requirements.txt', 'opentelemetry-distro'),
  ],
  [
    'Java agent `opentelemetry-javaagent`',
    await pinnedIn('java/pom.xml', /opentelemetry-javaagent<[\s\S]*?<version>([^<]+)/),
  ],
  ['`telemetrygen metrics', await pinnedIn('telemetrygen.test.ts', /const version = '([^']+)'/)],
  ['`telemetrygen logs', await pinnedIn('telemetrygen.test.ts', /const version = '([^']+)'/)],
  ['`telemetrygen', await pinnedIn('telemetrygen.test.ts', /const version = '([^']+)'/)],
  ['JavaScript `@', await pinnedIn('../../package.json', /exporter-trace-otlp-http": "([^"]+)/)],
  [
    'Python `opentelemetry-exporter-otlp-proto-http',
    pinnedVersion('python-requirements.txt', 'opentelemetry-exporter-otlp-proto-http'),
  ],
  [
    'Python `opentelemetry-exporter-otlp-proto-grpc',
    pinnedVersion('python-grpc-requirements.txt', 'opentelemetry-exporter-otlp-proto-grpc'),
  ],
  [
    'Python `opentelemetry-exporter-otlp-json-http',
    pinnedVersion('python-json-requirements.txt', 'opentelemetry-exporter-otlp-json-http'),
  ],
  [
    'of 2025',
    pinnedVersion('../../clients/old-python/requirements.txt', 'opentelemetry-exporter-otlp-proto-http'),
  ],
  ['Python `bk-monitor-report`', pinnedVersion('bk-monitor-report-requirements.txt', 'bk-monitor-report')],
];

// A document with other versions than the tested ones would promise untested behaviour.
describe('docs/receivers/clients.md', () => {
  it.each(pins)('names the version that is run of %s: %s', (client, version) => {
    const line = document.split('\n').find((each) => each.includes(client));
    expect(line).toContain(`| ${version} |`);
  });
});
