import { AckPolicy, RetentionPolicy } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { envelopeVersionHeader, serialHeader } from '../../src/bus/message-headers.ts';
import { buildItemsMessage } from '../../src/ingress/otlp/publish.ts';
import { createElapsed } from '../../src/model/elapsed.ts';
import { countedBase } from '../../src/model/uid.ts';
import { jsonTraces } from '../../src/rules/spans/json-traces.ts';
import { createBlockWriter } from '../../src/stores/clickhouse/block-writer.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { spansTable } from '../../src/stores/clickhouse/item-tables.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createTransferMetrics } from '../../src/telemetry/transfer-metrics.ts';
import { createBlocksSink } from '../../src/transfer/blocks/blocks-sink.ts';
import { startConsumer } from '../../src/transfer/consumer.ts';
import { serialText } from '../../src/wire/message-serial.ts';
import { defaultItemLimits } from '../../src/wire/otlp/types.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { defaultTimePolicy } from '../support/time-policy.ts';
import { waitFor } from '../support/wait.ts';

const stream = 'SPANS';
const consumer = { stream, name: 'c', ackWaitMs: 30_000, ackPendingMax: 4_096 };
const arrivedAt = Date.UTC(2026, 5, 1, 12);
const dayMs = 86_400_000;
const [wide, other] = [1, 2];

let engines: TestEngines;
let bus: Bus;
let clickhouse: Clickhouse;
beforeAll(async () => {
  engines = await startEngines({ nats: true, clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  bus = await connectBus(engines.nats.url, 'many-days');
  const { streams, consumers } = await bus.manager();
  await streams.add({ name: stream, subjects: ['spans.>'], retention: RetentionPolicy.Workqueue });
  await consumers.add(stream, {
    ...{ durable_name: consumer.name, ack_policy: AckPolicy.Explicit },
    ...{ ack_wait: consumer.ackWaitMs * 1e6, max_ack_pending: consumer.ackPendingMax },
  });
});
afterAll(async () => {
  await clickhouse?.close();
  await bus?.close();
  await engines?.stop();
});

let published = 0;

/** Publishes a message of an application with a span of this many bytes on each of these days before the arrival. */
const publish = async (appId: number, firstDay: number, days: number, bytes: number): Promise<void> => {
  published++;
  const spans = Array.from({ length: days }, (_, index) => {
    const time = `${arrivedAt - (firstDay + index) * dayMs}000000`;
    return {
      ...{
        traceId: `${published}`.padStart(32, '1'),
        spanId: `${index + 1}`.padStart(16, '1'),
        name: 'span',
      },
      ...{ startTimeUnixNano: time, endTimeUnixNano: time },
      attributes: [{ key: 'text', value: { stringValue: 'x'.repeat(bytes) } }],
    };
  });
  const base = countedBase(1_400_000, published * 1_000);
  const { runs } = jsonTraces.encode(
    Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })),
    {
      resolve: () => ({ appId, bizId: 2, fillDimensions: false, policy: defaultTimePolicy }),
      ...{ clientIp: '203.0.113.9', base, arrivedAt, limits: defaultItemLimits },
    },
  );
  const [run, ...more] = runs;
  if (run === undefined || more.length > 0) throw new Error(`${runs.length} runs`);
  const payload = buildItemsMessage({ pipeline: 'traces', run, base, arrivedAt, mayOverlap: false });
  const named = headers();
  named.set(envelopeVersionHeader, '1');
  named.set(serialHeader, serialText({ life: 7, serial: published, minute: 29_000_000 }));
  await bus.js.publish('spans.0', payload, { headers: named });
};

/** The rows of an application, and how many different spans they are. */
const stored = async (appId: number): Promise<[number, number]> => {
  const row = z.object({ rows: z.coerce.number(), uids: z.coerce.number() });
  const [found] = await clickhouse.rows(
    row,
    `SELECT count() AS rows, uniqExact(uid) AS uids FROM otel.otel_traces WHERE AppId = ${appId}`,
  );
  return [found?.rows ?? Number.NaN, found?.uids ?? Number.NaN];
};

/** The line of spans of a transfer process that holds half a mebibyte; the guarded inserts so far. */
const startLine = () => {
  const line = { guarded: 0 };
  const elapsed = createElapsed();
  const writer = createBlockWriter(clickhouse, spansTable, { insertMsMax: 20_000 });
  const sink = createBlocksSink(
    [{ table: spansTable, writer, onOverlap: async () => {} }],
    { isFresh: () => true, holds: async () => true },
    { pipeline: 'traces', stream, boot: 5, ackWaitMs: () => consumer.ackWaitMs, elapsed, guard: 'suspect' },
    { onGuarded: () => line.guarded++, onUnanswered: async () => {}, onUnclassified: () => {} },
  );
  const running = startConsumer(
    {
      ...{ consumer, pullBytesMax: 256 * 1024, rowsPerWriteMax: 100_000 },
      ...{ writeIntervalMs: 250, writeIntervalMsMax: 1_000 },
      breaker: { inARowMax: 1_000, shareMax: 1, shareItemsMin: 1_000, pauseMs: 1_000 },
    },
    {
      ...{
        bus,
        sink,
        elapsed,
        metrics: createTransferMetrics(),
        log: createLog('test', 'silent'),
        now: Date.now,
      },
      deadLetters: { put: async () => {} },
      ledger: { record: async () => {} },
      samples: { deadLettered: () => {}, purged: () => {} },
    },
  );
  onTestFinished(() => running.stop());
  return Object.assign(line, { running });
};

// Each is written over several writes of two or three seconds and held meanwhile: eight of them are all that is held.
it('messages of many days that would fill a worker do not hold up those of others, and each is stored once', async () => {
  const messages = 16;
  const days = 20;
  for (let count = 0; count < messages; count++) await publish(wide, count * days, days, 4_000);
  await publish(other, 0, 1, 1);
  const line = startLine();
  await waitFor('the span of the other', 60_000, async () => (await stored(other))[0] === 1);
  // Two writes have 32 days each at most.
  expect((await stored(wide))[0]).toBeLessThanOrEqual(100);
  expect(line.running.wideProblem).toContain('messages of many days wait');
  await waitFor('the other days', 240_000, async () => {
    const { consumers } = await bus.manager();
    const { num_pending, num_ack_pending } = await consumers.info(stream, consumer.name);
    return num_pending + num_ack_pending === 0;
  });
  expect([await stored(wide), await stored(other)]).toEqual([
    [messages * days, messages * days],
    [1, 1],
  ]);
  // What was only returned has never been written: a delivery that was read late may be one of them.
  expect(line.guarded).toBeLessThanOrEqual(days);
}, 320_000);
