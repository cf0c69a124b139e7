import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installGo, missingTool, preparation } from '../support/clients/builds.ts';
import { type ClientSignal, logs, metrics, traces } from '../support/clients/signal.ts';
import { pauseBus, startClientStack } from '../support/clients/suite.ts';
import { overGrpc, overHttp, type Transport } from '../support/clients/transport.ts';
import type { TraceStack } from '../support/otlp/trace-stack.ts';

const run = promisify(execFile);

const version = '0.161.0';
const path = 'github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen';
const prepared = await preparation(
  () => installGo('telemetrygen', path, `v${version}`),
  await missingTool('go'),
);
const program = 'path' in prepared ? prepared.path : '';
const leftOut = 'why' in prepared ? ` (left out, ${prepared.why})` : '';

let on: TraceStack;
beforeAll(async () => {
  on = await startClientStack();
});
afterAll(() => on?.stop());

type Run = {
  readonly signal: ClientSignal;
  readonly transport: Transport;
  readonly url: string;
  readonly token: string;
  readonly args: readonly string[];
};

/** Runs it to its end and answers what it logged, without the token. */
const generate = async ({ signal, transport, url, token, args }: Run): Promise<string> => {
  const all = [
    signal.name,
    ...(transport === overHttp ? ['--otlp-http'] : []),
    '--otlp-insecure',
    '--otlp-endpoint',
    new URL(url).host,
    '--otlp-header',
    `X-MON-TOKEN="${token}"`,
    '--rate',
    '0',
    ...args,
  ];
  // Its SDK would leave out what is too much for the receiver.
  const limit = '1000';
  const env = {
    ...process.env,
    OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: limit,
    OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT: limit,
  };
  const { stdout, stderr } = await run(program, all, { env });
  return `${stdout}${stderr}`.replaceAll(token, '<token>');
};

/** The number of traces, log records or metrics in the log of its workers. */
const generatedIn = (log: string, signal: ClientSignal): number =>
  [...log.matchAll(new RegExp(`"${signal.name}":\\s*(\\d+)`, 'g'))].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );

const transports = [
  ['HTTP', overHttp],
  ['gRPC, its default', overGrpc],
] as const;

describe.skipIf('why' in prepared).each(transports)(
  `telemetrygen traces ${version}${leftOut} over %s`,
  (_, transport) => {
    const { stored, unavailable } = transport;

    it('has every span of four workers stored, with its links, status and attributes', async () => {
      const application = await on.application();
      const args = ['--workers', '4', '--traces', '50', '--child-spans', '3', '--span-links', '2'];
      const shape = ['--status-code', 'Error', '--service', 'shop', '--telemetry-attributes', 'team="é\\"1"'];
      const to = { signal: traces, transport, url: transport.url(on, traces), token: application.token };
      const log = await generate({ ...to, args: [...args, ...shape] });
      expect(generatedIn(log, traces)).toBe(200);
      const rows = await on.storedSpans(application);
      expect(rows).toHaveLength(200 * 4);
      expect(new Set(rows.map(({ SpanId: id }) => id)).size).toBe(200 * 4);
      expect(new Set(rows.map(({ TraceId: id }) => id)).size).toBe(200);
      expect(rows.filter(({ ParentSpanId: id }) => id === '')).toHaveLength(200);
      for (const row of rows)
        expect(row).toMatchObject({ ServiceName: 'shop', StatusCode: 'Error', BizId: '2' });
      const links = rows.map(({ 'Links.SpanId': ids }) => (Array.isArray(ids) ? ids.length : 0));
      expect(Math.max(...links)).toBe(2);
    });

    it(`has every span stored once although the receiver answers ${unavailable.name} for a while`, async () => {
      const application = await on.application();
      const tap = await transport.startTap(on, traces, 'with');
      await pauseBus(on);
      const args = ['--workers', '1', '--traces', '20', '--batch-size', '10'];
      const generating = generate({
        signal: traces,
        transport,
        url: tap.url,
        token: application.token,
        args,
      });
      await Promise.race([tap.answered(unavailable.status), generating]);
      on.stack.engines.nats.resume();
      const log = await generating;
      expect(tap.exchanges[0]?.status).toBe(unavailable.status);
      expect(generatedIn(log, traces)).toBe(20);
      expect(await on.storedSpans(application)).toHaveLength(40);
    });

    it('does not retry the spans that a partial success rejects', async () => {
      const application = await on.application();
      const tap = await transport.startTap(on, traces, 'with');
      const attributes = Array.from({ length: 130 }, (_, index) => [
        '--telemetry-attributes',
        `a${index}="1"`,
      ]);
      const args = ['--traces', '5', ...attributes.flat()];
      const log = await generate({ signal: traces, transport, url: tap.url, token: application.token, args });
      expect(generatedIn(log, traces)).toBe(5);
      expect(tap.exchanges.map(({ status }) => status)).toEqual([stored.status]);
      expect(await on.storedSpans(application)).toEqual([]);
      expect(log).toContain('too_many_attributes');
    });
  },
);

// A partial success is an error to the Go exporters of logs, even a warning alone: without --allow-export-failures it ends the program.
describe.skipIf('why' in prepared).each(transports)(
  `telemetrygen logs ${version}${leftOut} over %s`,
  (_, transport) => {
    const { stored, unavailable } = transport;

    it('has every log record of four workers stored, with its body, severity, trace and attributes', async () => {
      const application = await on.application();
      const ids = { TraceId: '0102030405060708090a0b0c0d0e0f10', SpanId: '0102030405060708' };
      const of = [
        '--trace-id',
        ids.TraceId,
        '--span-id',
        ids.SpanId,
        '--severity-text',
        'Warn',
        '--severity-number',
        '13',
      ];
      const shape = ['--body', 'no stock "é"', '--service', 'shop', '--telemetry-attributes', 'team="é\\"1"'];
      const args = ['--workers', '4', '--logs', '50', '--batch-size', '20', ...of, ...shape];
      const to = { signal: logs, transport, url: transport.url(on, logs), token: application.token };
      const log = await generate({ ...to, args });
      expect(generatedIn(log, logs)).toBe(200);
      const rows = await logs.stored(on, application);
      expect(rows).toHaveLength(200);
      for (const row of rows)
        expect(row).toMatchObject({
          ...ids,
          SeverityText: 'Warn',
          SeverityNumber: 13,
          ServiceName: 'shop',
          Body: 'no stock "é"',
          BizId: '2',
        });
    });

    it(`has every log record stored once although the receiver answers ${unavailable.name} for a while`, async () => {
      const application = await on.application();
      const tap = await transport.startTap(on, logs, 'with');
      await pauseBus(on);
      const args = ['--workers', '1', '--logs', '40', '--batch-size', '10', '--allow-export-failures'];
      const generating = generate({ signal: logs, transport, url: tap.url, token: application.token, args });
      await Promise.race([tap.answered(unavailable.status), generating]);
      on.stack.engines.nats.resume();
      const log = await generating;
      expect(tap.exchanges[0]?.status).toBe(unavailable.status);
      expect(generatedIn(log, logs)).toBe(40);
      expect(await logs.stored(on, application)).toHaveLength(40);
    });

    it('does not retry the log records that a partial success rejects', async () => {
      const application = await on.application();
      const tap = await transport.startTap(on, logs, 'with');
      const attributes = Array.from({ length: 130 }, (_, index) => [
        '--telemetry-attributes',
        `a${index}="1"`,
      ]);
      const args = ['--logs', '5', '--allow-export-failures', ...attributes.flat()];
      const log = await generate({ signal: logs, transport, url: tap.url, token: application.token, args });
      expect(generatedIn(log, logs)).toBe(5);
      expect(tap.exchanges.map(({ status }) => status)).toEqual([stored.status]);
      expect(await logs.stored(on, application)).toEqual([]);
      expect(log).toContain('too_many_attributes');
    });
  },
);

const kinds = [
  ['Gauge', 'gauge'],
  ['Sum', 'sum'],
  ['Histogram', 'histogram'],
  ['ExponentialHistogram', 'exponential_histogram'],
] as const;

describe.skipIf('why' in prepared).each(transports)(
  `telemetrygen metrics ${version}${leftOut} over %s`,
  (_, transport) => {
    const { stored, unavailable } = transport;

    it.each(kinds)('has every data point of two workers stored: %s', async (kind, table) => {
      const application = await on.application();
      const ids = { trace: '0102030405060708090a0b0c0d0e0f10', span: '0102030405060708' };
      const exemplars = ['--trace-id', ids.trace, '--span-id', ids.span];
      const shape = ['--service', 'shop', '--telemetry-attributes', 'team="é\\"1"', '--metric-type', kind];
      const delta = kind === 'Gauge' ? [] : ['--aggregation-temporality', 'delta'];
      const args = ['--workers', '2', '--metrics', '40', ...exemplars, ...shape, ...delta];
      const to = { signal: metrics, transport, url: transport.url(on, metrics), token: application.token };
      const log = await generate({ ...to, args });
      expect(generatedIn(log, metrics)).toBe(80);
      const rows = await metrics.stored(on, application);
      expect(rows).toHaveLength(80);
      for (const row of rows)
        expect(row).toMatchObject({
          Table: table,
          ServiceName: 'shop',
          MetricName: 'gen',
          'Exemplars.TraceId': [ids.trace],
          'Exemplars.SpanId': [ids.span],
          BizId: '2',
          ...(kind === 'Gauge' ? {} : { AggregationTemporality: 1 }),
        });
    });

    it(`has every data point stored once although the receiver answers ${unavailable.name} for a while`, async () => {
      const application = await on.application();
      const tap = await transport.startTap(on, metrics, 'with');
      await pauseBus(on);
      const args = ['--workers', '1', '--metrics', '40', '--batch-size', '10', '--allow-export-failures'];
      const generating = generate({
        signal: metrics,
        transport,
        url: tap.url,
        token: application.token,
        args,
      });
      await Promise.race([tap.answered(unavailable.status), generating]);
      on.stack.engines.nats.resume();
      const log = await generating;
      expect(tap.exchanges[0]?.status).toBe(unavailable.status);
      expect(generatedIn(log, metrics)).toBe(40);
      expect(await metrics.stored(on, application)).toHaveLength(40);
    });

    it('does not retry the data points that a partial success rejects', async () => {
      const application = await on.application();
      const tap = await transport.startTap(on, metrics, 'with');
      const attributes = Array.from({ length: 130 }, (_, index) => [
        '--telemetry-attributes',
        `a${index}="1"`,
      ]);
      const args = ['--metrics', '5', '--allow-export-failures', ...attributes.flat()];
      const log = await generate({
        signal: metrics,
        transport,
        url: tap.url,
        token: application.token,
        args,
      });
      expect(generatedIn(log, metrics)).toBe(5);
      expect(tap.exchanges.map(({ status }) => status)).toEqual([stored.status]);
      expect(await metrics.stored(on, application)).toEqual([]);
      expect(log).toContain('too_many_attributes');
    });
  },
);
