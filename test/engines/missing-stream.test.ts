import { resolve } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { withInstances } from '../../src/config/instance-streams.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { startWatch, type Watch } from '../../src/metadata/watch.ts';
import { createOutcomeReads, type OutcomeReads } from '../../src/outcomes/reads.ts';
import { createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createWatchMetrics } from '../../src/telemetry/watch-metrics.ts';
import { figureOf } from '../support/outcomes/dead-letters.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

const root = resolve(import.meta.dirname, '../..');
const { streams } = withInstances(loadPipelines(`${root}/pipelines`), ['default', 'b']);
const registry = new Registry();
// Nothing listens there: streams are read in any state of ClickHouse.
const clickhouse = createClickhouse({ url: 'http://127.0.0.1:1', connectionsMax: 1 });

let engines: TestEngines;
let bus: Bus;
let watch: Watch;
let reads: OutcomeReads;

beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'test');
  await ensureTopology(
    bus,
    streams.filter(({ name }) => name !== 'METRICS-b'),
  );
  reads = createOutcomeReads(bus, clickhouse, streams);
  watch = startWatch({
    bus,
    clickhouse,
    records: () => undefined,
    streams,
    metrics: createWatchMetrics(registry),
    now: Date.now,
    log: createLog('test', 'silent'),
  });
});
afterAll(async () => {
  reads?.live.stop();
  await watch?.stop();
  await clickhouse.close();
  await bus?.close();
  await engines?.stop();
});

const inFlight = async (): Promise<string[]> => (await reads.inFlight()).map(({ name }) => name);

/** Waits for the metrics of the stream; returns the streams that have figures. */
const seenMissing = (missing: 0 | 1): Promise<string[]> =>
  until(`tidemark_stream_missing is ${missing}`, async () => {
    const text = await registry.metrics();
    const label = '{stream="METRICS-b"}';
    if (!text.includes(`tidemark_stream_missing${label} ${missing}`)) return undefined;
    // The watch reads all streams one by one: the figures of the last one prove that it is done.
    if (figureOf(text, 'tidemark_watch_last_success_timestamp_seconds', { what: 'streams' }) === 0)
      return undefined;
    return [...text.matchAll(/tidemark_stream_bytes_max\{stream="([^"]+)"\}/g)].map(([, name = '']) => name);
  });

// NATS has no room for the stream of a further instance: the ledger and the figures that scale transfer must not go blind for it.
it('a missing stream of a further QuestDB instance is skipped by the ledger and reported by the metrics', async () => {
  expect(await inFlight()).toEqual(['METRICS', 'TRACES', 'LOGS', 'OTEL_METRICS', 'LEDGER']);
  expect(await seenMissing(1)).toEqual(
    expect.arrayContaining(['METRICS', 'TRACES', 'LOGS', 'OTEL_METRICS', 'LEDGER', 'DEADLETTER']),
  );
  expect(await seenMissing(1)).not.toContain('METRICS-b');
  expect([...watch.missing]).toEqual(['METRICS-b']);

  await ensureTopology(bus, streams);
  expect(await inFlight()).toContain('METRICS-b');
  expect(await seenMissing(0)).toContain('METRICS-b');
  expect([...watch.missing]).toEqual([]);

  // No consumer takes its messages: they are in flight, and the stream is reported as missing.
  await (await bus.manager()).consumers.delete('METRICS-b', 'questdb-b');
  expect(await inFlight()).toContain('METRICS-b');
  expect(await seenMissing(1)).not.toContain('METRICS-b');
});

it('a stream that every deployment has is missed aloud', async () => {
  await (await bus.manager()).streams.delete('TRACES');
  await expect(reads.inFlight()).rejects.toMatchObject({ code: 'stream_not_found' });
  await until('it is reported', () => Promise.resolve(watch.missing.has('TRACES') || undefined));
});
