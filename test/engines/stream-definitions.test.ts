import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
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

/** A metadata process as far as it keeps streams; it looks only when it is asked to. */
const start = async (streams: readonly StreamDefinition[]): Promise<Process> => {
  await ensureTopology(bus, streams);
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
