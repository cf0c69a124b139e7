import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../bench/bodies.ts';
import {
  type BookEntry,
  type BookFlush,
  createPublishersBook,
  type OwnerItems,
  type Posting,
  type PublishersBookOptions,
} from '../../../src/outcomes/publishers-book.ts';
import type { PublishedLine } from '../../../src/outcomes/rows.ts';
import { minuteText } from '../../../src/outcomes/times.ts';

const minute = 29_668_400;
const life = 77;

const of = (owner: number, items: number, dropped?: Record<string, number>): OwnerItems => ({
  owner,
  items,
  rows: items,
  bytes: 100 * items,
  dropped,
});

const entry = (owners: readonly OwnerItems[], at = minute): BookEntry => ({
  arrivedAt: at * 60_000 + 17,
  key: { base: '12', first: 3 },
  owners,
});

const setUp = (options: Partial<PublishersBookOptions> = {}) => {
  const clock = { ms: 1_000_000 };
  const unbooked: string[] = [];
  const book = createPublishersBook({
    life: () => life,
    now: () => clock.ms,
    onUnbooked: (stream) => unbooked.push(stream),
    ...options,
  });
  const open = (owners: readonly OwnerItems[], at?: number, stream = 'METRICS'): Posting => {
    const posting = book.open(stream, stream === 'TRACES' ? 'traces' : 'metrics', entry(owners, at));
    if (posting === undefined) throw new Error('the book has no room');
    return posting;
  };
  /** The lines that are due, as if they had been written at once. */
  const flush = (): BookFlush | undefined => {
    const due = book.take();
    if (due !== undefined) book.written();
    return due;
  };
  return { book, clock, unbooked, open, flush };
};

/** What a flush says, line by line. */
const short = (flush: BookFlush | undefined): [string, number, number, number, number][] =>
  (flush?.published ?? []).map(({ stream, data_id, app_id, messages, items, closed }) => [
    stream,
    data_id + app_id,
    messages,
    items,
    closed,
  ]);

describe('the book', () => {
  it('gives serials from 1 on by stream, under the minute of the arrival', () => {
    const { open } = setUp();
    expect(open([of(1, 1)]).serial).toBe(`77.1.${minute}`);
    expect(open([of(1, 1)], minute + 1).serial).toBe(`77.2.${minute + 1}`);
    expect(open([of(1, 1)], minute, 'METRICS-b').serial).toBe(`77.1.${minute}`);
  });

  it('counts what was confirmed by owner, with rows, bytes, drops and sequences, and messages in the line with owner 0', () => {
    const { open, flush } = setUp();
    open([of(1, 5, { metrics_empty: 2 }), of(2, 1)]).stored(41);
    open([of(1, 7, { metrics_empty: 1, metrics_missing: 3 })]).stored(39);
    const line = { stream: 'METRICS', life, minute: minuteText(minute * 60_000), app_id: 0 };
    const rest = { closed: 2, ended: 0, version: 1 };
    expect(flush()).toEqual({
      life,
      version: 1,
      doubtful: [],
      published: [
        {
          ...{ ...line, data_id: 1, messages: 2, items: 12, rows: 12, bytes: 1_200 },
          ...{ dropped: { metrics_empty: 3, metrics_missing: 3 }, sequence_first: 39, sequence_last: 41 },
          ...rest,
        },
        {
          ...{ ...line, data_id: 2, messages: 1, items: 1, rows: 1, bytes: 100 },
          ...{ dropped: {}, sequence_first: 41, sequence_last: 41, ...rest },
        },
        {
          ...{ ...line, data_id: 0, messages: 2, items: 0, rows: 0, bytes: 0 },
          ...{ dropped: {}, sequence_first: 39, sequence_last: 41, ...rest },
        },
      ],
    });
  });

  // A line must hold exactly the serials up to `closed`: what is settled beyond it is no difference yet.
  it('counts a message once every earlier one has its result, in any order of the answers', () => {
    const { open, flush } = setUp();
    const [first, second, third] = [open([of(1, 1)]), open([of(1, 10)]), open([of(2, 100)])];
    third?.stored(3);
    second?.stored(2);
    expect(flush()).toBeUndefined();
    first?.stored(1);
    expect(short(flush())).toEqual([
      ['METRICS', 1, 2, 11, 3],
      ['METRICS', 2, 1, 100, 3],
      ['METRICS', 0, 3, 0, 3],
    ]);
  });

  it('counts repeats and messages that were not stored nowhere, and says that they are closed', () => {
    const { open, flush } = setUp();
    open([of(1, 5)]).repeated();
    open([of(1, 5)]).notStored();
    const flushed = flush();
    expect(short(flushed)).toEqual([['METRICS', 0, 0, 0, 2]]);
    expect(flushed?.doubtful).toEqual([]);
  });

  it('names what may be stored by serial, key and owner, and counts it nowhere else', () => {
    const { open, flush } = setUp();
    open([of(1, 5), of(2, 6)]).doubtful(false);
    open([of(3, 7)], minute, 'TRACES').doubtful(true);
    open([], minute, 'TRACES').doubtful(false);
    const line = { life, minute: minuteText(minute * 60_000), base: '12', first: 3 };
    const flushed = flush();
    expect(flushed?.doubtful).toEqual([
      { ...line, stream: 'METRICS', serial: 1, data_id: 1, app_id: 0, items: 5, told: 0 },
      { ...line, stream: 'METRICS', serial: 1, data_id: 2, app_id: 0, items: 6, told: 0 },
      { ...line, stream: 'TRACES', serial: 1, data_id: 0, app_id: 3, items: 7, told: 1 },
      { ...line, stream: 'TRACES', serial: 2, data_id: 0, app_id: 0, items: 0, told: 0 },
    ]);
    expect(short(flushed)).toEqual([
      ['METRICS', 0, 0, 0, 1],
      ['TRACES', 0, 0, 0, 2],
    ]);
  });

  it('keeps the first result of a message', () => {
    const { open, flush } = setUp();
    const posting = open([of(1, 5)]);
    posting.doubtful(false);
    posting.stored(1);
    expect(short(flush())).toEqual([['METRICS', 0, 0, 0, 1]]);
  });
});

describe('the lines of a flush', () => {
  it('are those that changed, with all of their counts and a higher version', () => {
    const { open, flush } = setUp();
    open([of(1, 1)]).stored(1);
    open([of(2, 2)]).stored(2);
    flush();
    open([of(2, 3)]).stored(3);
    const second = flush();
    expect(short(second)).toEqual([
      ['METRICS', 2, 2, 5, 3],
      ['METRICS', 0, 3, 0, 3],
    ]);
    expect(second?.published.map(({ version }) => version)).toEqual([2, 2]);
    expect(flush()).toBeUndefined();
  });

  it('come again, with what was counted since, where they may not be written', () => {
    const { book, open, flush } = setUp();
    open([of(1, 1)]).stored(1);
    open([of(2, 5)]).doubtful(false);
    expect(book.take()?.version).toBe(1);
    // One flush at a time: their order is that of the versions.
    expect(book.take()).toBeUndefined();
    open([of(1, 2)]).stored(2);
    book.failed();
    const again = flush();
    expect(again?.version).toBe(2);
    expect(again?.doubtful).toHaveLength(1);
    expect(short(again)).toEqual([
      ['METRICS', 1, 2, 3, 3],
      ['METRICS', 0, 2, 0, 3],
    ]);
    expect(flush()).toBeUndefined();
  });

  // Many thousand lines a second would cost more than they tell.
  it('wait for five seconds where more than a thousand changed', () => {
    const { clock, open, flush } = setUp();
    const change = (): void => {
      for (let owner = 1; owner <= 1_001; owner++) open([of(owner, 1)]).stored(1);
    };
    change();
    expect(short(flush())).toHaveLength(1_002);
    change();
    clock.ms += 4_999;
    expect(flush()).toBeUndefined();
    clock.ms += 1;
    expect(short(flush())).toHaveLength(1_002);
  });

  it('are written again 45 s and 5 min after the last change was, then leave memory, but for a heartbeat every 10 s', () => {
    const { clock, open, flush } = setUp();
    open([of(1, 1)]).stored(1);
    open([of(2, 2)]).doubtful(false);
    const seen: [number, number, number][] = [];
    const startedAt = clock.ms;
    for (; clock.ms <= startedAt + 320_000; clock.ms += 1_000) {
      const flushed = flush();
      if (flushed !== undefined)
        seen.push([(clock.ms - startedAt) / 1_000, flushed.published.length, flushed.doubtful.length]);
    }
    expect(seen.filter(([, published]) => published > 1)).toEqual([
      [0, 2, 1],
      [45, 2, 1],
      [300, 2, 1],
    ]);
    const heartbeats = seen.filter(([, published]) => published === 1).map(([second]) => second);
    expect(heartbeats.slice(0, 6)).toEqual([10, 20, 30, 40, 55, 65]);
    expect(heartbeats.slice(-2)).toEqual([310, 320]);
    expect(seen.every(([, published, doubtful]) => published > 1 || doubtful === 0)).toBe(true);
  });

  // LEDGER may have been full for longer than that.
  it('are written again after they were written, however late that was', () => {
    const { book, clock, open, flush } = setUp();
    open([of(1, 1)]).stored(1);
    for (let second = 0; second < 600; second++) {
      clock.ms += 1_000;
      book.take();
      book.failed();
    }
    expect(short(flush())).toHaveLength(2);
    clock.ms += 44_000;
    expect(short(flush())).toHaveLength(1);
    clock.ms += 1_000;
    expect(short(flush())).toHaveLength(2);
  });

  // Its counts are no longer in memory: a line of this minute would replace them by less.
  it('never begin again for a minute that left memory: a late message counts under the next one', () => {
    const { clock, open, flush } = setUp();
    open([of(1, 1)]).stored(1);
    open([of(1, 1)], minute + 1).stored(2);
    for (const ms of [0, 45_000, 255_000]) {
      clock.ms += ms;
      flush();
    }
    const late = open([of(1, 4)]);
    expect(late.serial).toBe(`77.3.${minute + 2}`);
    late.stored(3);
    expect(flush()?.published.map(({ minute, items }) => [minute, items])).toEqual([
      [minuteText((minute + 2) * 60_000), 4],
      [minuteText((minute + 2) * 60_000), 0],
    ]);
  });

  it('stay in memory while a message of their minute has no result', () => {
    const { clock, open, flush } = setUp();
    open([of(1, 1)]).stored(1);
    const waiting = open([of(1, 5)]);
    for (const ms of [0, 45_000, 255_000, 60_000]) {
      clock.ms += ms;
      flush();
    }
    waiting.stored(2);
    expect(short(flush())).toEqual([
      ['METRICS', 1, 2, 6, 2],
      ['METRICS', 0, 2, 0, 2],
    ]);
  });

  it('are all of them at the end, marked as the last ones, and what has no result is doubtful', () => {
    const { book, clock, open, flush, unbooked } = setUp();
    open([of(1, 1)]).stored(1);
    open([of(3, 1)], minute - 60, 'TRACES').stored(1);
    for (const ms of [0, 45_000, 255_000]) {
      clock.ms += ms;
      flush();
    }
    open([of(1, 5)], minute + 5).stored(2);
    flush();
    open([of(2, 7)], minute + 5);
    book.end();
    const last = flush();
    expect(last?.doubtful.map(({ serial, data_id, told }) => [serial, data_id, told])).toEqual([[3, 2, 0]]);
    expect(short(last)).toEqual([
      ['METRICS', 1, 1, 5, 3],
      ['METRICS', 0, 1, 0, 3],
      ['TRACES', 0, 1, 0, 1],
    ]);
    expect(last?.published.every(({ ended }) => ended === 1)).toBe(true);
    expect(book.open('METRICS', 'metrics', entry([of(1, 1)]))).toBeUndefined();
    expect(unbooked).toEqual(['METRICS']);
  });
});

describe('the memory of the book', () => {
  it('gives up the second writing of written lines first', () => {
    const { open, flush, unbooked } = setUp({ linesMax: 20 });
    for (let at = 0; at < 100; at++) {
      open([of(1, 1), of(2, 1)], minute + at).stored(at);
      flush();
    }
    expect(unbooked).toEqual([]);
  });

  it('takes no message beyond its limit, and counts each of these as unbooked until there is room', () => {
    const { book, open, flush, unbooked } = setUp({ linesMax: 10 });
    for (let owner = 1; owner <= 9; owner++) open([of(owner, 1)]).stored(owner);
    expect(book.open('METRICS', 'metrics', entry([of(10, 1)]))).toBeUndefined();
    expect(unbooked).toEqual(['METRICS']);
    expect(short(flush())).toHaveLength(10);
    // Under another minute: the lines of this one left memory to make room.
    expect(open([of(10, 1)]).serial).toBe(`77.10.${minute + 1}`);
  });

  it('takes the first of too many waiting messages for doubtful, with any answer that comes later', () => {
    const { open, flush } = setUp({ postingsMax: 3 });
    const postings = [1, 2, 3, 4, 5].map((owner) => open([of(owner, 1)]));
    for (const [index, posting] of postings.entries()) posting.stored(index + 1);
    const flushed = flush();
    expect(flushed?.doubtful.map(({ serial, told }) => [serial, told])).toEqual([
      [1, 0],
      [2, 0],
    ]);
    expect(short(flushed)).toEqual([
      ['METRICS', 3, 1, 1, 5],
      ['METRICS', 4, 1, 1, 5],
      ['METRICS', 5, 1, 1, 5],
      ['METRICS', 0, 3, 0, 5],
    ]);
  });

  it('has no serial without a life', () => {
    const { book, unbooked } = setUp({ life: () => undefined });
    expect(book.open('METRICS', 'metrics', entry([of(1, 1)]))).toBeUndefined();
    expect(book.take()).toBeUndefined();
    expect(unbooked).toEqual(['METRICS']);
  });
});

/** The line of each key with the highest version, as ClickHouse keeps it; more lines come with `add`. */
const createStanding = () => {
  const byKey = new Map<string, PublishedLine>();
  return {
    add: (lines: readonly PublishedLine[]): void => {
      for (const line of lines) {
        const key = `${line.stream} ${line.minute} ${line.data_id} ${line.app_id}`;
        if (line.version > (byKey.get(key)?.version ?? 0)) byKey.set(key, line);
      }
    },
    lines: (): PublishedLine[] => [...byKey.values()],
  };
};

type Told = { serial: number; owner: number; items: number; isStored: boolean };

/** What of METRICS was stored up to `closed`, by owner. */
const expectedOf = (told: readonly Told[], closed: number): Map<number, number> => {
  const items = new Map<number, number>();
  for (const one of told)
    if (one.isStored && one.serial <= closed) items.set(one.owner, (items.get(one.owner) ?? 0) + one.items);
  return items;
};

it('at every flush of a random history the standing lines hold exactly the items of the closed serials', () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = createRandom(seed);
    const { book, clock, open } = setUp({ linesMax: 200 });
    const told: Told[] = [];
    const waiting: { posting: Posting; told: Told }[] = [];
    const standing = createStanding();
    const upTo = (most: number): number => Math.floor(random() * most);
    for (let step = 0; step < 400; step++) {
      clock.ms += upTo(20_000);
      if (random() < 0.7) {
        const owner = 1 + upTo(5);
        const items = 1 + upTo(9);
        // Clocks go back, too.
        const at = minute + Math.floor(clock.ms / 60_000) - (random() < 0.1 ? upTo(60) : 0);
        const posting = open([of(owner, items)], at);
        const one = { serial: Number(posting.serial.split('.')[1]), owner, items, isStored: false };
        told.push(one);
        waiting.push({ posting, told: one });
      }
      for (let count = upTo(3); count > 0; count--) {
        const [settled] = waiting.splice(upTo(waiting.length), 1);
        if (settled === undefined) continue;
        const what = upTo(10);
        settled.told.isStored = what < 7;
        if (what < 7) settled.posting.stored(settled.told.serial);
        else if (what === 7) settled.posting.repeated();
        else if (what === 8) settled.posting.notStored();
        else settled.posting.doubtful(false);
      }
      const flushed = book.take();
      if (flushed === undefined) continue;
      // One in three is not confirmed; of these half are stored all the same.
      const isConfirmed = random() < 0.67;
      if (isConfirmed || random() < 0.5) standing.add(flushed.published);
      if (!isConfirmed) {
        book.failed();
        continue;
      }
      book.written();
      const all = standing.lines();
      const closed = Math.max(...all.filter(({ data_id }) => data_id === 0).map((line) => line.closed));
      const items = new Map<number, number>();
      for (const line of all)
        if (line.data_id !== 0) items.set(line.data_id, (items.get(line.data_id) ?? 0) + line.items);
      expect([...items].toSorted(), `seed ${seed}, step ${step}`).toEqual(
        [...expectedOf(told, closed)].toSorted(),
      );
    }
  }
});
