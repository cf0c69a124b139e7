import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { buildItemsMessage } from '../../src/ingress/otlp/publish.ts';
import { countedBase } from '../../src/model/uid.ts';
import { jsonTraces } from '../../src/rules/spans/json-traces.ts';
import { createBlockWriter } from '../../src/stores/clickhouse/block-writer.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { spansTable } from '../../src/stores/clickhouse/item-tables.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createBlocksSink } from '../../src/transfer/blocks/blocks-sink.ts';
import { startLateLooks } from '../../src/transfer/blocks/late-looks.ts';
import { startOwedMerges } from '../../src/transfer/blocks/owed-merges.ts';
import type { HeldMessage } from '../../src/transfer/held-message.ts';
import { type BlocksEnvelope, decodeBlocksEnvelope } from '../../src/wire/blocks-envelope.ts';
import { defaultItemLimits } from '../../src/wire/otlp/types.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { createMemoryBucket } from '../support/stack/memory-bucket.ts';
import { openTcpProxy } from '../support/stack/tcp-proxy.ts';
import { defaultTimePolicy } from '../support/time-policy.ts';
import { until } from '../support/until.ts';

const log = createLog('test', 'silent');
const arrivedAt = Date.UTC(2026, 5, 1, 12);
const rows = 2_000;

let engines: TestEngines;
let clickhouse: Clickhouse;
beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});

const spansMessage = (): HeldMessage<BlocksEnvelope> => {
  const time = `${arrivedAt}000000`;
  const spans = Array.from({ length: rows }, (_, index) => ({
    ...{ traceId: '1'.padStart(32, '1'), spanId: `${index + 1}`.padStart(16, '1'), name: 'span' },
    ...{ startTimeUnixNano: time, endTimeUnixNano: time },
  }));
  const base = countedBase(1_400_000, 0);
  const encoded = jsonTraces.encode(
    Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })),
    {
      resolve: () => ({ appId: 1, bizId: 2, fillDimensions: false, policy: defaultTimePolicy }),
      ...{ clientIp: '203.0.113.9', base, arrivedAt, limits: defaultItemLimits },
    },
  );
  const [run] = encoded.runs;
  if (run === undefined) throw new Error('no run');
  const payload = buildItemsMessage({ pipeline: 'traces', run, base, arrivedAt, mayOverlap: false });
  const read = decodeBlocksEnvelope(payload, 1);
  if (read.kind !== 'envelope') throw new Error(read.kind);
  const nothing = (): void => {};
  return {
    delivery: {
      ...{ payload, subject: 'traces.0', version: 1, streamSequence: 1, redelivered: false, redrive: 0 },
      ...{ ack: nothing, nak: nothing, working: nothing, free: nothing },
    },
    envelope: read.envelope,
    ...{ rows, bytes: payload.length, touchedAt: 0, takenAt: 0 },
  };
};

const stored = async (): Promise<number> => {
  const row = z.object({ rows: z.coerce.number() });
  const [found] = await clickhouse.rows(row, 'SELECT count() AS rows FROM otel.otel_traces');
  return found?.rows ?? Number.NaN;
};

/** The line of spans of a transfer process whose inserts go this way. */
const openLine = (url: string) => {
  const client = createClickhouse({ url });
  const bucket = createMemoryBucket();
  const writer = createBlockWriter(client, spansTable, { insertMsMax: 500 });
  const common = { bucket, log, lookMs: 20 };
  const merges = startOwedMerges({
    ...common,
    table: spansTable,
    merge: writer.optimizeDay,
    onMerged: () => {},
  });
  const tables = [{ table: spansTable, writer, onOverlap: merges.owe }];
  // The rows are there twice before a look is due: the test lets it be due then.
  const release = Promise.withResolvers<void>();
  const late = startLateLooks({
    ...common,
    tables: tables.map((each) => ({
      ...each,
      writer: {
        ...writer,
        countRepeats: async (bounds) => {
          await release.promise;
          return writer.countRepeats(bounds);
        },
      },
    })),
    delayMs: 0,
  });
  bucket.snapshot();
  const sink = createBlocksSink(
    tables,
    { isFresh: () => true, holds: async () => true },
    {
      pipeline: 'traces',
      stream: 'TRACES',
      boot: 5,
      ackWaitMs: () => 30_000,
      elapsed: () => 0,
      guard: 'suspect',
    },
    { onGuarded: () => {}, onUnanswered: late.owe, onUnclassified: () => {} },
  );
  onTestFinished(async () => {
    late.stop();
    merges.stop();
    await client.close();
  });
  return { sink, bucket, lookIsDue: release.resolve };
};

// Nothing else looks for them: a plain count of the day would stay wrong.
it('a complete insert that a proxy delivers after its repeat was stored is found, and its rows are there once', async () => {
  const proxy = await openTcpProxy(Number(new URL(engines.clickhouse.url).port));
  onTestFinished(() => proxy.close());
  const { sink, bucket, lookIsDue } = openLine(
    Object.assign(new URL(engines.clickhouse.url), { hostname: '127.0.0.1', port: String(proxy.port) }).href,
  );
  const message = spansMessage();
  proxy.setWeather({ kind: 'late' });
  await expect(sink.write([message], () => {})).rejects.toMatchObject({ kind: 'transient' });
  proxy.setWeather({ kind: 'clear' });
  await sink.write([message], () => {});
  expect(await stored()).toBe(rows);
  await clickhouse.run('SYSTEM STOP MERGES otel.otel_traces');
  proxy.deliver();
  await until('the late insert is stored', async () => (await stored()) === 2 * rows);
  lookIsDue();
  const day = Math.floor(arrivedAt / 86_400_000);
  await until('a merge of the day is owed', async () => (await bucket.get(`merge.${day}`)) !== undefined);
  await clickhouse.run('SYSTEM START MERGES otel.otel_traces');
  await until('every row is there once', async () => (await stored()) === rows);
});
