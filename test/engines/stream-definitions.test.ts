import { join, resolve } from 'node:path';
import {
  AckPolicy,
  type ConsumerInfo,
  type ConsumerUpdateConfig,
  type StreamInfo,
  type StreamUpdateConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { mendingWith, type StreamWatch, watchStreams } from '../../src/bus/stream-watch.ts';
import { ensureTopology, type FirstMarks, mendStream } from '../../src/bus/topology.ts';
import { loadPipelines, type StreamDefinition } from '../../src/config/pipelines.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { limitStream } from '../support/stack/stream-limits.ts';

const { streams: all } = loadPipelines(join(resolve(import.meta.dirname, '../..'), 'pipelines'));
const own = all.filter(({ name }) => name === 'METRICS' || name === 'DEADLETTER');
const withBudget = (mebibytes: number): StreamDefinition[] =>
  own.map((stream) => ({ ...stream, bytesMax: mebibytes * 2 ** 20 }));

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
beforeEach(async () => {
  const { streams } = await bus.manager();
  for await (const name of streams.names()) await streams.delete(name);
});

type Process = { readonly watch: StreamWatch; readonly mended: string[]; readonly told: string[] };

/** nats-server may refuse a stream whose name was deleted a moment ago: its store could not be created. */
const storeNotCreated = /\(10049\)$/;

/** The streams as metadata makes them: again, with the same marks, where nats-server is not ready for one. */
const made = async (streams: readonly StreamDefinition[]): Promise<void> => {
  const marks: FirstMarks = new Map();
  const refusal = await vi.waitFor(
    () =>
      ensureTopology(bus, streams, undefined, marks).then(
        () => undefined,
        (error: unknown) => {
          if (storeNotCreated.test(String(error))) throw error;
          return error;
        },
      ),
    { timeout: 10_000, interval: 100 },
  );
  if (refusal !== undefined) throw refusal;
};

/** A metadata process as far as it keeps streams; it looks only when it is asked to. */
const start = async (streams: readonly StreamDefinition[]): Promise<Process> => {
  await made(streams);
  const mended: string[] = [];
  const told: string[] = [];
  const watch = watchStreams(bus, {
    streams,
    hasConsumers: true,
    log: { error: ({ stream }: { stream: string }) => told.push(stream), info: () => {} },
    everyMs: 2 ** 30,
    mend: mendingWith(async (stream, { kind, mark }) => {
      await mendStream(bus, stream, kind === 'stream_missing' ? 1 : 'is there', mark);
      mended.push(`${kind} ${stream.name}`);
    }),
  });
  return { watch, mended, told };
};

const looks = async (...processes: Process[]): Promise<void> => {
  for (let count = 0; count < 3; count++) for (const { watch } of processes) await watch.look();
};

const budgets = async (): Promise<number[]> => {
  const { streams } = await bus.manager();
  const infos = await Promise.all(own.map(({ name }) => streams.info(name)));
  return infos.map(({ config }) => config.max_bytes / 2 ** 20);
};

// A rollout of a changed budget had both versions change the streams back every half second, and one forgotten process did so for ever.
it('two metadata processes with different definitions do not change the streams back and forth: the one that started last has its own', async () => {
  const before = await start(withBudget(64));
  await looks(before);
  const after = await start(withBudget(128));
  await looks(before, after);
  expect(await budgets()).toEqual([128, 128]);
  expect([before.mended, after.mended]).toEqual([[], []]);
  expect(before.told.toSorted()).toEqual(['DEADLETTER', 'METRICS']);
  expect(before.watch.problem).toMatch(
    /METRICS: max_bytes is 134217728 and not 67108864; given by a metadata process with another pipelines\/streams\.yaml/,
  );
  expect(after.watch.problem).toBeUndefined();

  const undone = await start(withBudget(64));
  await looks(after, before, undone);
  expect(await budgets()).toEqual([64, 64]);
  expect([before.watch.problem, undone.watch.problem]).toEqual([undefined, undefined]);
  expect(after.watch.problem).toContain('METRICS: max_bytes is 67108864');
});

// A process that waits for room tries twice a second: the start is its first attempt.
it('a later attempt of a process does not take the streams from one that started meanwhile', async () => {
  const marks: FirstMarks = new Map();
  const attempt = () => ensureTopology(bus, withBudget(64), undefined, marks);
  await start(withBudget(32));
  await attempt();
  expect(await budgets()).toEqual([64, 64]);
  const last = await start(withBudget(128));
  await attempt();
  await looks(last);
  expect(await budgets()).toEqual([128, 128]);
  expect(last.watch.problem).toBeUndefined();
});

it('what is changed by hand goes back to the definition that was given last, by those who have it', async () => {
  const before = await start(withBudget(64));
  const after = await start(withBudget(128));
  await looks(before, after);
  const { streams, consumers } = await bus.manager();
  await streams.update('METRICS', { max_bytes: 2 ** 20 });
  await looks(before);
  expect(await budgets()).toEqual([1, 128]);
  await looks(after);
  expect(await budgets()).toEqual([128, 128]);
  // Made by any; the limits stay.
  await consumers.delete('METRICS', 'questdb');
  await looks(before, after);
  expect((await consumers.info('METRICS', 'questdb')).name).toBe('questdb');
  expect(await budgets()).toEqual([128, 128]);
  expect([before.mended, after.mended]).toEqual([['consumer_missing METRICS'], ['changed METRICS']]);
});

it('a deleted stream is made again by any process, and gets the definition that was given last', async () => {
  const before = await start(withBudget(64));
  const after = await start(withBudget(128));
  await looks(before, after);
  await (await bus.manager()).streams.delete('METRICS');
  await looks(before);
  expect(await budgets()).toEqual([64, 128]);
  await looks(before, after);
  expect(await budgets()).toEqual([128, 128]);
  expect([before.mended, after.mended]).toEqual([['stream_missing METRICS'], ['changed METRICS']]);
  expect(after.watch.problem ?? '').not.toContain('another');
});

it('a stream of a version that left no mark is changed to the definition once', async () => {
  const process = await start(withBudget(64));
  const { streams } = await bus.manager();
  await streams.update('METRICS', { max_bytes: 2 ** 20, metadata: {} });
  await looks(process);
  expect(await budgets()).toEqual([64, 64]);
  expect(process.mended).toEqual(['changed METRICS']);
});

it('a stream that was held while metadata started has its definition when the hold is over', async () => {
  await start(withBudget(64));
  await limitStream(bus, 'METRICS', 2 ** 20);
  const after = await start(withBudget(128));
  await looks(after);
  expect(await budgets()).toEqual([1, 128]);
  const { streams } = await bus.manager();
  const { config } = await streams.info('METRICS');
  const { 'tidemark-hold': _, ...metadata } = config.metadata ?? {};
  await streams.update('METRICS', { metadata });
  await looks(after);
  expect(await budgets()).toEqual([128, 128]);
});

/** The definitions of a process and its look after a change by hand. */
const changedBy = async (change: () => Promise<unknown>): Promise<Process> => {
  const process = await start(withBudget(64));
  await change();
  await looks(process);
  return process;
};

// Items that were answered expired, were pushed out, or were refused for ever, and no /readyz said anything.
describe('what a stream is limited by in NATS is changed back', () => {
  it.each<[string, Partial<StreamUpdateConfig>]>([
    ['METRICS', { max_age: nanos(400_000) }],
    ['METRICS', { max_age: nanos(3_000), duplicate_window: nanos(3_000) }],
    ['METRICS', { max_msgs: 3 }],
    ['METRICS', { max_msg_size: 100 }],
    ['METRICS', { no_ack: true }],
    ['METRICS', { subject_transform: { src: 'metrics.>', dest: 'metrics.x.>' } }],
    ['METRICS', { consumer_limits: { max_ack_pending: 5_000, inactive_threshold: nanos(3_600_000) } }],
    ['METRICS', { allow_direct: false }],
    ['DEADLETTER', { max_age: nanos(400_000) }],
    ['DEADLETTER', { max_msgs_per_subject: 1 }],
    ['DEADLETTER', { max_msgs_per_subject: 1, discard_new_per_subject: true }],
  ])('%s: %j', async (name, change) => {
    const { streams } = await bus.manager();
    let before: StreamInfo | undefined;
    const process = await changedBy(async () => {
      before = await streams.info(name);
      await streams.update(name, change);
    });
    const after = await streams.info(name);
    // An empty transform is none.
    const { subject_transform: _, ...config } = after.config;
    expect(config).toEqual(before?.config);
    expect(process.watch.problem).toBeUndefined();
    expect(process.mended).toEqual([`changed ${name}`]);
    await bus.js.publish(name === 'METRICS' ? 'metrics.0' : 'deadletter.metrics', Buffer.alloc(300));
    expect((await streams.info(name)).state.messages).toBe(1);
  });
});

describe('what a consumer is limited by in NATS is changed back', () => {
  it.each<[Partial<ConsumerUpdateConfig>]>([
    [{ headers_only: true }],
    [{ inactive_threshold: nanos(600_000) }],
    [{ backoff: [nanos(1_000), nanos(2_000)], max_deliver: 3 }],
    [{ max_batch: 1, max_expires: nanos(100), max_bytes: 10 }],
    [{ max_deliver: 2 }],
    [{ filter_subject: 'metrics.7' }],
    [{ filter_subjects: ['metrics.7', 'metrics.8'] }],
  ])('%j', async (change) => {
    const { consumers } = await bus.manager();
    let before: ConsumerInfo | undefined;
    const process = await changedBy(async () => {
      before = await consumers.info('METRICS', 'questdb');
      await consumers.update('METRICS', 'questdb', change);
    });
    expect((await consumers.info('METRICS', 'questdb')).config).toEqual(before?.config);
    expect(process.watch.problem).toBeUndefined();
    expect(process.mended).toEqual(['changed METRICS']);
  });
});

const nextOf = async (count: number) => {
  const consumer = await bus.js.consumers.get('METRICS', 'questdb');
  const sequences: number[] = [];
  for await (const message of await consumer.fetch({ max_messages: count, expires: 1_000 })) {
    sequences.push(message.seq);
    message.nak();
  }
  return sequences;
};

// A filter hid what was published meanwhile, also once it was gone again, and a redelivery that was counted out never came.
it('messages that a changed consumer has passed are delivered once it is changed back', async () => {
  const process = await start(withBudget(64));
  const { consumers } = await bus.manager();
  await consumers.update('METRICS', 'questdb', { filter_subject: 'metrics.7' });
  await bus.js.publish('metrics.0', 'hidden');
  expect(await nextOf(1)).toEqual([]);
  await looks(process);
  expect(await nextOf(1)).toEqual([1]);

  await consumers.update('METRICS', 'questdb', { max_deliver: 2 });
  expect([await nextOf(1), await nextOf(1)]).toEqual([[1], []]);
  await looks(process);
  expect(await nextOf(1)).toEqual([1]);
  expect(process.watch.problem).toBeUndefined();
});

// With a filter the request to change a consumer has another subject, which the user of metadata may not publish to: it ended at its start.
it('metadata starts, with the rights that it has, beside a consumer that somebody gave a filter', async () => {
  await start(withBudget(64));
  const { consumers } = await bus.manager();
  const metadata = await connectBus(engines.asUser(engines.nats.url, 'metadata'), 'metadata');
  onTestFinished(() => metadata.close());
  await consumers.update('METRICS', 'questdb', { filter_subject: 'metrics.7' });
  await ensureTopology(metadata, withBudget(64));
  expect((await consumers.info('METRICS', 'questdb')).config.filter_subject).toBeUndefined();
  expect(metadata.refused).toBeUndefined();
});

it('what only an operator can end is named with its remedy, and left', async () => {
  const { streams, consumers } = await bus.manager();
  const process = await changedBy(async () => {
    await consumers.pause('METRICS', 'questdb', new Date(Date.now() + 86_400_000));
    await streams.update('DEADLETTER', { deny_delete: true });
  });
  expect(process.watch.problem).toMatch(
    /METRICS: consumer questdb is paused until .*: the next tidemark backup with --release-checkpoint ends that/,
  );
  expect(process.watch.problem).toMatch(/deny_delete is true and not false .*nats stream rm DEADLETTER/);
  expect(process.mended).toEqual([]);
  expect((await consumers.info('METRICS', 'questdb')).paused).toBe(true);

  await streams.update('DEADLETTER', { max_age: nanos(400_000) });
  await looks(process);
  expect((await streams.info('DEADLETTER')).config.max_age).toBe(0);
  // Those of a backup end by themselves.
  await consumers.pause('METRICS', 'questdb', new Date(Date.now() + 180_000));
  await looks(process);
  expect(process.watch.problem).not.toContain('METRICS');
});

// It was deleted first, and could not be made: nothing of the stream was stored until it was full.
it('a consumer that cannot be made beside that of an operator is not deleted', async () => {
  const process = await start(withBudget(64));
  const { consumers } = await bus.manager();
  await consumers.update('METRICS', 'questdb', { filter_subject: 'metrics.7' });
  const own = { ack_policy: AckPolicy.Explicit, durable_name: 'own', filter_subject: 'metrics.8' };
  await consumers.add('METRICS', own);
  await looks(process);
  await ensureTopology(bus, withBudget(64));
  expect((await consumers.info('METRICS', 'questdb')).config.filter_subject).toBe('metrics.7');
  expect(process.watch.problem).toMatch(/METRICS: .*nats consumer rm METRICS/);
  await consumers.delete('METRICS', 'own');
  await looks(process);
  expect((await consumers.info('METRICS', 'questdb')).config.filter_subject).toBeUndefined();
});

// A start of metadata made the consumer again, which ended a hold and a pause.
it('a consumer of a held stream is left at a start, and one that is made again stays paused', async () => {
  await start(withBudget(64));
  const { consumers } = await bus.manager();
  const release = await limitStream(bus, 'METRICS', 2 ** 20);
  await consumers.update('METRICS', 'questdb', { filter_subject: 'metrics.7' });
  await consumers.pause('METRICS', 'questdb', new Date(Date.now() + 86_400_000));
  await start(withBudget(64));
  const held = await consumers.info('METRICS', 'questdb');
  expect([held.config.filter_subject, held.paused]).toEqual(['metrics.7', true]);
  await release();
  await start(withBudget(64));
  const remade = await consumers.info('METRICS', 'questdb');
  expect([remade.config.filter_subject, remade.paused]).toEqual([undefined, true]);
});

// With `max_request_batch` NATS gives each consumer one: it was changed back for ever.
it('a batch of a consumer that limits no pull is left', async () => {
  const { consumers } = await bus.manager();
  const process = await changedBy(() => consumers.update('METRICS', 'questdb', { max_batch: 8_000 }));
  expect([process.watch.problem, process.mended]).toEqual([undefined, []]);
});
