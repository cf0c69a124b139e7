import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startJavascript } from '../support/clients/javascript.ts';
import { startClient } from '../support/clients/process.ts';
import { describeClient, expectStored, startClientStack } from '../support/clients/suite.ts';
import { exportWithSdk, rowOfSdk } from '../support/otlp/sdk-spans.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';
import { installPython, pinnedVersion, whyNoPython } from '../support/python/python.ts';

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

/**
 * How long an export may take in all: a receiver that restarts on a busy machine needs more than the ten seconds of the
 * SDKs.
 */
const patienceSeconds = 60;
const patience = { OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: String(patienceSeconds) };

type Packages = Record<string, string>;
const manifest: { dependencies: Packages; devDependencies: Packages } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
);
const versions = { ...manifest.dependencies, ...manifest.devDependencies };

describe.each([
  ['exporter-trace-otlp-http', 'JSON', JsonExporter],
  ['exporter-trace-otlp-proto', 'protobuf', ProtobufExporter],
])('JavaScript SDK', (name, encoding, Exporter) => {
  describeClient(() => on, {
    name: `${name} ${versions[`@opentelemetry/${name}`]} (${encoding})`,
    start: (target) =>
      startJavascript(
        ({ url, token }) =>
          new Exporter({ url, headers: { 'X-MON-TOKEN': token }, timeoutMillis: patienceSeconds * 1_000 }),
        target,
      ),
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: true,
    logsPartialSuccess: true,
  });

  it('exports 1,000 spans in two requests, and every row equals its span', async () => {
    const application = await on.application();
    const exporter = new Exporter({ url: on.url, headers: { 'X-MON-TOKEN': application.token } });
    const held = (await exportWithSdk(exporter, 1000, 7)).map(rowOfSdk);
    expect(held).toHaveLength(1000);
    await expectStored(on, application, held);
  });
});

const program = join(import.meta.dirname, '../support/python/export_spans.py');
const missing = await whyNoPython();
const leftOut = missing === undefined ? '' : ` (left out: ${missing})`;

describe.skipIf(missing !== undefined).each([
  ['opentelemetry-exporter-otlp-proto-http', 'protobuf', 'python-requirements.txt'],
  ['opentelemetry-exporter-otlp-json-http', 'json', 'python-json-requirements.txt'],
])(`Python SDK${leftOut}`, (name, encoding, requirements) => {
  let python: string;
  beforeAll(async () => {
    python = await installPython(requirements);
  });

  describeClient(() => on, {
    name: `${name} ${pinnedVersion(requirements, name)} (${encoding})`,
    start: (target) => startClient(python, [program, encoding], target, patience),
    heedsRetryAfter: true,
    repeats429: true,
    repeatsLostConnection: true,
    logsPartialSuccess: false,
  });

  it.each(['gzip', 'deflate'])(
    'exports spans with compression %s, and every row equals its span',
    async (compression) => {
      const application = await on.application();
      const env = { ...patience, OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: compression };
      const target = { url: on.url, token: application.token };
      const client = startClient(python, [program, encoding], target, env);
      const { ok, rows } = await client.export({ first: 0, count: 300 });
      expect(ok, client.log()).toBe(true);
      await expectStored(on, application, rows);
    },
  );
});
