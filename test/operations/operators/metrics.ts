import { beforeAll, describe, expect, it } from 'vitest';
import { labelBounds } from '../../../src/telemetry/label-bounds.ts';
import { definedMetrics, type Role, roles } from '../../../tools/docs/metrics.ts';
import { readExposition, type Sample, sumOf } from '../../support/deploy/prometheus-text.ts';
import type { Application, Report, RoleProcess, Stack } from '../../support/stack/stack.ts';
import { waitFor } from '../../support/wait.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
let report: Report;
let application: Application;

const processOf = (role: Role): RoleProcess => {
  const found = role === 'metadata' ? stack.metadata : stack[role][0];
  if (found === undefined) throw new Error(`no ${role}`);
  return found;
};

const samplesOf = async (role: Role): Promise<Sample[]> =>
  readExposition(await processOf(role).metrics()).samples;

const post = (port: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${processOf('ingress').ports[port]}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const push = (token: string, timestamps: readonly unknown[]) =>
  post('push', '/v2/push/', {
    data_id: report.data_source.mon_data_id,
    access_token: token,
    data: timestamps.map((timestamp, index) => ({ metrics: { cpu: index }, timestamp })),
  });

const spans = (count: number) => {
  const start = BigInt(Date.now()) * 1_000_000n;
  const span = (index: number) => ({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: String(index + 1).padStart(16, '0'),
    name: 'a',
    startTimeUnixNano: index === 0 ? '1700000000' : String(start),
    endTimeUnixNano: String(start + 1n),
  });
  const scopeSpans = [{ spans: Array.from({ length: count }, (_, index) => span(index)) }];
  return post(
    'otlp',
    '/v1/traces',
    { resourceSpans: [{ scopeSpans }] },
    { 'X-MON-TOKEN': application.token },
  );
};

beforeAll(async () => {
  stack = await sharedStack();
  report = await stack.createReport('metrics');
  application = await stack.createApplication('metrics');
  const now = Date.now();
  await waitFor(
    'the new data id is known',
    60_000,
    async () => (await push(report.data_source.token, [now])).ok,
  );
  await waitFor('the new application is known', 60_000, async () => (await spans(3)).ok);
  // A point in seconds, one that is dropped at the receiver, and a wrong token.
  await push(report.data_source.token, [now, 1_700_000_000, 'N']);
  await push('wrong', [now]);
  await stack.waitForEmptyStream('METRICS');
  await stack.waitForEmptyStream('TRACES');
});

describe('the metrics of the roles under load', () => {
  // A dashboard on a figure that no process exposes stays empty, and an alarm on it silent.
  it.each(roles)('are those of docs/metrics.md (%s)', async (role) => {
    const { kinds } = readExposition(await processOf(role).metrics());
    const defined = await definedMetrics(role);
    const ours = [...kinds.keys()].filter((name) => name.startsWith('tidemark_'));
    expect(ours.toSorted()).toEqual(
      defined.flatMap(({ name }) => (name.startsWith('tidemark_') ? [name] : [])).toSorted(),
    );
    expect(defined.filter(({ name, kind }) => kinds.get(name) !== kind)).toEqual([]);
  });

  it.each(roles)('have only bounded labels (%s)', async (role) => {
    const wrong = (await samplesOf(role))
      .filter(({ name }) => name.startsWith('tidemark_'))
      .flatMap(({ name, labels }) =>
        Object.entries(labels).flatMap(([label, value]) =>
          labelBounds[label]?.pattern.test(value) === true ? [] : [`${name}{${label}="${value}"}`],
        ),
      );
    expect(wrong).toEqual([]);
  });

  it('count accepted, deferred, refused, stored and dropped items', async () => {
    const ingress = await samplesOf('ingress');
    const metrics = { pipeline: 'metrics' };
    expect(sumOf(ingress, 'tidemark_ingress_items_deferred_total', metrics)).toBe(2);
    expect(
      sumOf(ingress, 'tidemark_ingress_requests_refused_total', { reason: 'unauthorized' }),
    ).toBeGreaterThan(0);
    expect(sumOf(ingress, 'tidemark_ready')).toBe(1);
    await waitFor('transfer counts it', 60_000, async () => {
      const transfer = await samplesOf('transfer');
      expect(sumOf(transfer, 'tidemark_transfer_items_stored_total', metrics)).toBe(2);
      expect(sumOf(transfer, 'tidemark_transfer_items_dropped_total', metrics)).toBe(2);
      expect(sumOf(transfer, 'tidemark_transfer_items_stored_total', { pipeline: 'traces' })).toBe(2);
      return true;
    });
  });

  it('report streams, parts and outcomes, each read', async () => {
    // It looks at each when it starts, and at parts not again for half a minute.
    await processOf('metadata').stop();
    processOf('metadata').start();
    await waitFor('everything was read', 120_000, async () => {
      const samples = await samplesOf('metadata');
      for (const what of ['streams', 'parts', 'outcomes'])
        expect(sumOf(samples, 'tidemark_watch_last_success_timestamp_seconds', { what })).toBeGreaterThan(0);
      expect(sumOf(samples, 'tidemark_clickhouse_parts_max', { table: 'otel_traces' })).toBeGreaterThan(0);
      return true;
    });
    const samples = await samplesOf('metadata');
    for (const stream of ['METRICS', 'TRACES', 'LOGS', 'OTEL_METRICS', 'LEDGER', 'DEADLETTER', 'AUDIT']) {
      const left = sumOf(samples, 'tidemark_stream_bytes_left', { stream }) ?? 0;
      const bytes = sumOf(samples, 'tidemark_stream_bytes', { stream }) ?? 0;
      expect(left + bytes).toBe(sumOf(samples, 'tidemark_stream_bytes_max', { stream }));
    }
    expect(sumOf(samples, 'tidemark_clickhouse_parts_delay')).toBeGreaterThan(0);
    expect(sumOf(samples, 'tidemark_outcome_unbalanced_owners')).toBe(0);
  });
});

describe('the lag', () => {
  // It decides how many transfer processes run: it must be there when none does.
  it('exists while transfer is down, and ends once everything is stored', async () => {
    await processOf('transfer').stop();
    await push(report.data_source.token, [Date.now()]);
    const label = { stream: 'METRICS' };
    await waitFor('the lag shows', 90_000, async () => {
      const samples = await samplesOf('metadata');
      return (
        sumOf(samples, 'tidemark_consumer_pending', label) === 1 &&
        (sumOf(samples, 'tidemark_stream_oldest_age_seconds', label) ?? 0) > 0
      );
    });
    processOf('transfer').start();
    await waitFor('the lag is gone', 90_000, async () => {
      const samples = await samplesOf('metadata');
      return (
        sumOf(samples, 'tidemark_stream_messages', label) === 0 &&
        sumOf(samples, 'tidemark_stream_oldest_age_seconds', label) === 0
      );
    });
  });
});
