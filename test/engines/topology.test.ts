import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { checkBatches, ensureTopology, findTopology, retryStreams } from '../../src/bus/topology.ts';
import { withInstances } from '../../src/config/instance-streams.ts';
import { loadPipelines, type StreamDefinition } from '../../src/config/pipelines.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

const root = resolve(import.meta.dirname, '../..');
const pipelines = loadPipelines(join(root, 'pipelines'));
const { streams } = pipelines;

let engines: TestEngines;
let bus: Bus;

beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'test');
});
afterAll(async () => {
  await bus?.close();
  await engines?.stop();
});

const changed = (stream: StreamDefinition): StreamDefinition => ({
  ...stream,
  bytesMax: stream.bytesMax / 2,
  ...(stream.consumer === undefined
    ? {}
    : { consumer: { ...stream.consumer, ackWaitMs: 12_000, ackPendingMax: 77 } }),
});

// Every role would fail at its next start, for an instance that holds a part of the tables.
it('streams of further instances without room in NATS are reported, and created as soon as there is room', async () => {
  const all = withInstances(pipelines, ['default', 'b', 'c']).streams;
  const large = all.map((stream) =>
    stream.name === 'METRICS-b' ? { ...stream, bytesMax: 2 ** 52 } : stream,
  );
  const refused = await ensureTopology(bus, large);
  expect([...refused].map(([name, { code }]) => [name, code])).toEqual([
    ['METRICS-b', 'insufficient_storage'],
  ]);
  const manager = await bus.manager();
  expect((await manager.consumers.info('METRICS-c', 'questdb-c')).name).toBe('questdb-c');
  const told: unknown[] = [];
  const log = { error: (fields: object) => told.push(fields), warn: () => {}, info: () => {} };
  const waiting = retryStreams(bus, large, refused, log, { retryMs: 20 });
  expect(told).toEqual([expect.objectContaining({ stream: 'METRICS-b' })]);
  expect([waiting.has('METRICS-b'), waiting.has('METRICS-c')]).toEqual([true, false]);
  expect(waiting.problem).toMatch(/^METRICS-b: JetStream: insufficient storage/);
  waiting.stop();
  const made = retryStreams(bus, all, refused, log, { retryMs: 20 });
  await until('the stream is made', () => made.problem === undefined);
  made.stop();
  expect((await manager.consumers.info('METRICS-b', 'questdb-b')).name).toBe('questdb-b');
  const first = pipelines.streams.map((stream) => ({
    ...stream,
    name: `${stream.name}-large`,
    bytesMax: 2 ** 52,
  }));
  // The roles wait for it: an upgrade with a new stream may find a NATS without room.
  await expect(ensureTopology(bus, first)).rejects.toMatchObject({
    kind: 'transient',
    code: 'insufficient_storage',
    message: expect.stringMatching(
      /stream METRICS-large cannot be created.* no room .*max_file_store above .* GiB/,
    ),
  });
});

// An operator who adds an instance in the documented order looked for an error of transfer, which creates no stream.
it('a role that only waits for the stream of a further instance warns, and says when it is there', async () => {
  const further = withInstances(pipelines, ['default', 'waited-for']).streams.flatMap((stream) =>
    stream.name === 'METRICS-waited-for' ? [{ ...stream, bytesMax: 2 ** 20 }] : [],
  );
  const missing = await findTopology(bus, further, 'streams');
  const told: unknown[] = [];
  const tell = (level: string) => (fields: object, text: string) =>
    void told.push({ level, ...fields, text });
  const log = { error: tell('error'), warn: tell('warn'), info: tell('info') };
  const waiting = retryStreams(bus, further, missing, log, {
    retryMs: 20,
    ensure: (again, streams) => findTopology(again, streams, 'streams'),
  });
  const stream = 'METRICS-waited-for';
  const why = `stream ${stream} does not exist yet: metadata creates it, and its log says why where it cannot`;
  expect(told).toEqual([{ level: 'warn', stream, why, text: 'waits for the stream of a QuestDB instance' }]);
  expect([...(await ensureTopology(bus, further))]).toEqual([]);
  await until('the role finds it', () => waiting.problem === undefined);
  waiting.stop();
  expect(told.slice(1)).toEqual([
    { level: 'info', stream, text: 'the stream of a QuestDB instance is there' },
  ]);
});

// A role that cannot bring a consumer to its definition never starts: every change of an ack wait would be an outage.
it('existing streams and consumers follow their definition, and keep their messages and positions', async () => {
  await ensureTopology(bus, streams);
  for (const text of ['first', 'second']) await bus.js.publish('metrics.0', text);
  const consumer = await bus.js.consumers.get('METRICS', 'questdb');
  await (await consumer.next())?.ackAck();
  await ensureTopology(bus, streams.map(changed));
  await Promise.all([ensureTopology(bus, streams.map(changed)), ensureTopology(bus, streams.map(changed))]);
  const manager = await bus.manager();
  for (const { name, consumer: durable, bytesMax } of streams) {
    expect((await manager.streams.info(name)).config.max_bytes).toBe(bytesMax / 2);
    if (durable === undefined) continue;
    const { config } = await manager.consumers.info(name, durable.name);
    expect([config.ack_wait, config.max_ack_pending]).toEqual([12_000_000_000, 77]);
  }
  expect((await consumer.next())?.string()).toBe('second');
});

// A receiver that takes a request of several messages for a stream that takes no batches could not store it whole.
it('streams that a program before batches made take them after an update, with all they hold, and keep that beside such a program', async () => {
  const before = streams.map(({ isAtomic, ...stream }) => ({
    ...stream,
    name: `OLD-${stream.name}`,
    subjects: [`old.${stream.name}.>`],
    bytesMax: 2 ** 20,
    consumer: undefined,
  }));
  const now = before.map((stream, index) => ({
    ...stream,
    ...(index < 2 ? { isAtomic: true as const } : {}),
  }));
  expect(now.filter(({ isAtomic }) => isAtomic).map(({ name }) => name)).toEqual([
    'OLD-METRICS',
    'OLD-TRACES',
  ]);
  await ensureTopology(bus, before);
  await bus.js.publish('old.METRICS.0', 'kept');
  await expect(checkBatches(bus, now)).rejects.toMatchObject({ code: 'batches_unsupported' });
  await ensureTopology(bus, now);
  await checkBatches(bus, now);
  await ensureTopology(bus, before);
  await checkBatches(bus, now);
  const { state } = await (await bus.manager()).streams.info('OLD-METRICS');
  expect(state.messages).toBe(1);
});

it('the streams of all QuestDB instances and of the items of applications take batches, the others do not', () => {
  const all = withInstances(pipelines, ['default', 'b']).streams;
  expect(all.filter(({ isAtomic }) => isAtomic).map(({ name }) => name)).toEqual([
    'METRICS',
    'TRACES',
    'LOGS',
    'OTEL_METRICS',
    'METRICS-b',
  ]);
});

// Metadata waits for it at each start: without a remedy in its message nobody would know what for.
it('a stream whose retention NATS does not change is refused with what to do', async () => {
  const one = { name: 'HELD', subjects: ['held.>'], bytesMax: 2 ** 20, replicas: 1, discard: 'new' } as const;
  const before: StreamDefinition = {
    ...one,
    ...{ retention: 'limits', duplicateWindowMs: 10_000, consumer: undefined },
  };
  const queue: StreamDefinition = { ...before, retention: 'workqueue' };
  await ensureTopology(bus, [before]);
  const remedy = /can not change retention.*Stop the receivers.*nats stream rm HELD;/;
  await expect(ensureTopology(bus, [queue])).rejects.toMatchObject({
    kind: 'transient',
    message: expect.stringMatching(remedy),
  });
  const refused = await ensureTopology(bus, [{ ...queue, isFurther: true }]);
  expect(refused.get('HELD')?.message).toMatch(remedy);
  await (await bus.manager()).streams.delete('HELD');
  expect((await ensureTopology(bus, [queue])).size).toBe(0);
});
