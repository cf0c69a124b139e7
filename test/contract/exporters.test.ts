import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startJavascript } from '../support/clients/javascript.ts';
import { describeClient, expectStored, startClientStack } from '../support/clients/suite.ts';
import { exportWithSdk, rowOfSdk } from '../support/otlp/sdk-spans.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';

// The exporters that need Node alone; those of Python and of languages that are built first are in test/clients.

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

/** How long an export may take in all, ms: a receiver that restarts on a busy machine needs more than the ten seconds of the SDKs. */
const patienceMs = 60_000;

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
          new Exporter({ url, headers: { 'X-MON-TOKEN': token }, timeoutMillis: patienceMs }),
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
