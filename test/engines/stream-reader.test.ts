import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { createStreamReader, type StreamPage, type StreamReader } from '../../src/bus/stream-reader.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

let engines: TestEngines;
let bus: Bus;
let reader: StreamReader;

beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'reader-test');
  reader = createStreamReader(bus);
});
afterAll(async () => {
  await bus?.close();
  await engines?.stop();
});

const makeStream = async (name: string): Promise<void> => {
  await (await bus.manager()).streams.add({ name, subjects: [`${name}.>`], allow_direct: true });
};

/** All sequences that pages bring, by following `next`. */
const follow = async (read: (at: number | undefined) => Promise<StreamPage>): Promise<number[]> => {
  const sequences: number[] = [];
  let next: number | undefined;
  do {
    const page: StreamPage = await read(next);
    sequences.push(...page.entries.map(({ sequence }) => sequence));
    next = page.next;
  } while (next !== undefined);
  return sequences;
};

describe('a stream with gaps', () => {
  const count = 2_000;
  let kept: number[];

  beforeAll(async () => {
    await makeStream('G');
    for (let index = 1; index <= count; index++) {
      await bus.js.publish(`G.${index % 50 === 0 ? 'rare' : 'often'}.${index}`, `payload ${index}`);
    }
    // Single ones, a run longer than any batch, and both ends.
    const isDeleted = (sequence: number): boolean =>
      sequence % 7 === 0 || (sequence > 600 && sequence <= 1_400) || sequence <= 3 || sequence > count - 3;
    const manager = await bus.manager();
    kept = [];
    for (let sequence = 1; sequence <= count; sequence++) {
      if (isDeleted(sequence)) await manager.streams.deleteMessage('G', sequence, false);
      else kept.push(sequence);
    }
  });

  it.each([1, 2, 99, 256, 5_000])('is read whole, both ways, in pages of %i', async (limit) => {
    const newestFirst = await follow((beforeSequence) =>
      reader.readBackwards('G', { beforeSequence, limit }),
    );
    expect(newestFirst).toEqual(kept.toReversed());
    const oldestFirst = await follow((fromSequence) => reader.readForwards('G', { fromSequence, limit }));
    expect(oldestFirst).toEqual(kept);
  });

  it.each([
    ['G.rare.*', (sequence: number) => sequence % 50 === 0],
    ['G.often.*', (sequence: number) => sequence % 50 !== 0],
    ['G.rare.1500', (sequence: number) => sequence === 1_500],
    ['G.never', () => false],
  ])('is read by the subject %s', async (subject, matches) => {
    const wanted = kept.filter(matches);
    for (const limit of [3, 300]) {
      expect(
        await follow((beforeSequence) => reader.readBackwards('G', { beforeSequence, limit, subject })),
      ).toEqual(wanted.toReversed());
      expect(
        await follow((fromSequence) => reader.readForwards('G', { fromSequence, limit, subject })),
      ).toEqual(wanted);
    }
  });

  it('is read from the given sequence', async () => {
    const backwards = await reader.readBackwards('G', { beforeSequence: 1_000, limit: 2 });
    expect(backwards.entries.map(({ sequence }) => sequence)).toEqual([600, 599]);
    const forwards = await reader.readForwards('G', { fromSequence: 1_000, limit: 2 });
    expect(forwards.entries.map(({ sequence }) => sequence)).toEqual([1_401, 1_402]);
    expect(await reader.readForwards('G', { fromSequence: count + 10, limit: 2 })).toEqual({
      entries: [],
      next: undefined,
    });
    expect(await reader.readBackwards('G', { beforeSequence: 1, limit: 2 })).toEqual({
      entries: [],
      next: undefined,
    });
    expect((await reader.readBackwards('G', { beforeSequence: 10 ** 9, limit: 1 })).entries).toHaveLength(1);
  });
});

it('gives subject, time, headers and payload of a message, and none of the headers the server adds', async () => {
  await makeStream('M');
  const before = Date.now();
  await bus.js.publish('M.a', 'payload', { msgID: 'id 1' });
  const { entries } = await reader.readBackwards('M', { limit: 1 });
  expect(entries).toMatchObject([{ sequence: 1, subject: 'M.a' }]);
  const [message] = entries;
  expect(new TextDecoder().decode(message?.payload)).toBe('payload');
  expect([...(message?.headers ?? [])]).toEqual([['Nats-Msg-Id', 'id 1']]);
  expect(message?.time).toBeGreaterThanOrEqual(before - 1_000);
  expect(message?.time).toBeLessThanOrEqual(Date.now() + 1_000);
});

// Dead letters are whole messages of up to 8 MiB: a page of a thousand must not be held at once.
it('reads messages that are larger than a batch, in pages of bounded size', async () => {
  await makeStream('L');
  const sizes = [10, 7, 0.001, 0.001, 5, 3, 3, 3, 0.001, 7].map((mib) => Math.min(7.5, mib) * 2 ** 20);
  for (const [index, size] of sizes.entries()) await bus.js.publish(`L.${index}`, new Uint8Array(size));
  const all = sizes.map((_, index) => index + 1);
  const pageBytes: number[] = [];
  const noted = (page: StreamPage): StreamPage => {
    pageBytes.push(page.entries.reduce((sum, { payload }) => sum + payload.length, 0));
    return page;
  };
  expect(
    await follow(async (beforeSequence) =>
      noted(await reader.readBackwards('L', { beforeSequence, limit: 1_000 })),
    ),
  ).toEqual(all.toReversed());
  expect(
    await follow(async (fromSequence) =>
      noted(await reader.readForwards('L', { fromSequence, limit: 1_000 })),
    ),
  ).toEqual(all);
  expect(Math.max(...pageBytes)).toBeLessThanOrEqual(16 * 2 ** 20);
});

it('returns nothing for an empty stream, and a permanent Fault for a missing one', async () => {
  await makeStream('E');
  expect(await reader.readBackwards('E', { limit: 10 })).toEqual({ entries: [], next: undefined });
  expect(await reader.readForwards('E', { limit: 10 })).toEqual({ entries: [], next: undefined });
  const missing = reader.readBackwards('NONE', { limit: 10 });
  await expect(missing).rejects.toMatchObject({ kind: 'permanent', code: 'stream_not_found' });
});
