import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installPython, runPython, whyNoPython } from '../support/python.ts';
import { exportWithSdk, rowOfSdk } from '../support/sdk-spans.ts';
import type { Application } from '../support/stack.ts';
import { startTraceStack, type TraceStack } from '../support/trace-stack.ts';

const seed = 7;
const spans = 1000;

let on: TraceStack;
beforeAll(async () => {
  on = await startTraceStack();
});
afterAll(() => on?.stop());

type Row = Readonly<Record<string, unknown>>;

const bySpanId = (rows: readonly Row[]): Row[] =>
  rows.toSorted((a, b) => (String(a['SpanId']) < String(b['SpanId']) ? -1 : 1));

/** Fails unless the application's rows are exactly these. */
const expectStored = async (application: Application, held: readonly Row[]): Promise<void> => {
  const ids = { AppId: String(application.app_id), BizId: '2' };
  expect(held).toHaveLength(spans);
  expect(bySpanId(await on.storedSpans(application))).toEqual(
    bySpanId(held.map((row) => ({ ...row, ...ids }))),
  );
};

describe('the JavaScript SDK', () => {
  it.each([
    ['JSON', JsonExporter],
    ['protobuf', ProtobufExporter],
  ])('exports 1,000 spans in %s, and every row is what it held', async (_, Exporter) => {
    const application = await on.application();
    const exporter = new Exporter({ url: on.url, headers: { 'X-MON-TOKEN': application.token } });
    await expectStored(application, (await exportWithSdk(exporter, spans, seed)).map(rowOfSdk));
  });
});

const missing = await whyNoPython();

describe.skipIf(missing !== undefined)(
  `the Python SDK${missing === undefined ? '' : ` (left out: ${missing})`}`,
  () => {
    let python: string;
    beforeAll(async () => {
      python = await installPython();
    });

    it.each(['none', 'gzip', 'deflate'])(
      'exports 1,000 spans in protobuf with compression %s, and every row is what it held',
      async (compression) => {
        const application = await on.application();
        const args = [on.url, application.token, String(spans), String(seed), compression];
        const lines = await runPython(python, 'export_spans.py', args);
        await expectStored(
          application,
          lines.map((line): Row => JSON.parse(line)),
        );
      },
    );
  },
);
