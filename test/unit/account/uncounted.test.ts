import { describe, expect, it } from 'vitest';
import type { Published } from '../../../src/account/compare.ts';
import { type Compared, createUncounted, isOfGaps } from '../../../src/account/uncounted.ts';

const minute = 1_790_000_040;

const lineOf = (sequenceFirst: number, sequenceLast: number): Published => ({
  ...{ life: 1, minute, dataId: 0, appId: 0, messages: 1, items: 0, sequenceFirst, sequenceLast, reach: 1 },
});

type Seen = Partial<Compared> & {
  readonly last?: number;
  readonly begin?: number;
  /** Whether the stream is there. */
  readonly exists?: boolean;
  /** Whether what it finds reaches ClickHouse. */
  readonly isWritten?: boolean;
};

/** A stream of which some sequences are settled, and what is stored of it. */
const openStream = () => {
  const settled = new Set<number>();
  const stored = new Map<number, number>();
  let reads = 0;
  let clock = 0;
  const sumOf = (): number => [...stored.values()].reduce((sum, each) => sum + each, 0);
  /** A process that looks at it; a look is a minute after the last one, or at the same time. */
  const startProcess = () => {
    const uncounted = createUncounted({
      countSequences: async (_stream, first, last) =>
        [...settled].filter((each) => each >= first && each <= last).length,
      lastSettled: async (_stream, floor) => Math.max(0, ...[...settled].filter((each) => each <= floor)),
      elapsed: () => clock,
      now: () => (minute + 90) * 1000 + clock,
    });
    /** Messages that the look finds lost beyond those of the books and of other processes; below 0 where a line explains earlier ones. */
    return async (
      floor: number,
      { last = 1_000, begin = 1, exists = true, isWritten = true, ...compared }: Seen = {},
      afterMs = 60_000,
    ) => {
      clock += afterMs;
      const known = {
        ...{ heads: [], minutes: [], pending: new Set<number>(), stuck: [], redrives: [] },
        ...{ lost: new Map(), newlyLost: compared.lost ?? new Map() },
      };
      const queue = { exists, begin, first: begin, last, end: last, messages: 0, floor };
      const before = sumOf();
      const found = await uncounted.find('METRICS', queue, { ...known, ...compared }, async () => {
        reads++;
        return new Map(stored);
      });
      if (!isWritten) return 0;
      uncounted.written('METRICS');
      for (const each of found) {
        expect(each).toMatchObject({ kind: 'lost_in_the_stream', dataId: 0, items: 0 });
        expect(isOfGaps(each), 'no line has this minute').toBe(true);
        if (each.messages === 0) stored.delete(each.minute);
        else stored.set(each.minute, each.messages);
      }
      return sumOf() - before;
    };
  };
  return {
    settle: (first: number, last: number): void => {
      for (let each = first; each <= last; each++) settled.add(each);
    },
    startProcess,
    stored,
    reads: () => reads,
  };
};

/** A stream at which one process looks. */
const open = () => {
  const { settle, startProcess } = openStream();
  const process = startProcess();
  const look = (floor: number, compared: Partial<Compared> = {}, last = 1_000, begin = 1): Promise<number> =>
    process(floor, { ...compared, last, begin });
  return { settle, look };
};

describe('the gaps of a stream', () => {
  it('are found again, and taken back again, where that was not written', async () => {
    const { settle, startProcess, stored } = openStream();
    const look = startProcess();
    settle(1, 110);
    settle(114, 120);
    expect(await look(100)).toBe(0);
    expect(await look(120)).toBe(0);
    expect(await look(120, { isWritten: false })).toBe(0);
    expect(await look(120)).toBe(3);
    const head = { life: 1, minute, dataId: 0, appId: 0, messages: 3, items: 3, reach: 3 };
    const explained = {
      ...{ heads: [{ ...head, sequenceFirst: 111, sequenceLast: 113 }], minutes: [minute] },
      lost: new Map([[minute, 3]]),
    };
    await look(120, { ...explained, isWritten: false });
    expect([...stored.values()]).toEqual([3]);
    expect(await look(120, explained)).toBe(-3);
  });

  it('are messages that no publisher has counted, each reported once, a minute after the floor passed them', async () => {
    const { settle, look } = open();
    settle(1, 100);
    expect(await look(100)).toBe(0);
    settle(101, 110);
    settle(114, 120);
    expect(await look(120)).toBe(0);
    expect(await look(120)).toBe(3);
    expect(await look(120)).toBe(0);
  });

  it('are those behind the last line, too, when a process starts: a ClickHouse from an older copy lacks them', async () => {
    const { settle, startProcess } = openStream();
    settle(1, 6);
    const process = startProcess();
    expect(await process(10)).toBe(0);
    expect(await process(10)).toBe(4);
    const later = startProcess();
    expect([await later(10), await later(10)]).toEqual([0, 0]);
    settle(11, 12);
    expect([await later(13), await later(13)]).toEqual([0, 1]);
  });

  it('are none where a stream was made again above the numbers that there were', async () => {
    const { settle, startProcess } = openStream();
    settle(1, 6);
    const process = startProcess();
    expect([await process(20, { begin: 21 }), await process(20, { begin: 21 })]).toEqual([0, 0]);
  });

  it('before the first look are not judged', async () => {
    const { look } = open();
    for (let round = 0; round < 3; round++) expect(await look(100)).toBe(0);
  });

  it('are not those of losses that the books name', async () => {
    const { look } = open();
    await look(100);
    await look(105);
    const lost = new Map([[minute, 5]]);
    expect(await look(105, { heads: [lineOf(101, 105)], minutes: [minute], lost })).toBe(0);
  });

  it('are withdrawn when a line that comes later explains them, and not by a loss whose gaps are yet to be counted', async () => {
    const { settle, look } = open();
    settle(1, 100);
    await look(100);
    await look(108);
    expect(await look(108)).toBe(8);
    const later = { heads: [lineOf(109, 111)], minutes: [minute], lost: new Map([[minute, 3]]) };
    expect(await look(111, later)).toBe(0);
    expect(await look(111, later)).toBe(0);
    const named = { minutes: [minute + 60], lost: new Map([[minute + 60, 8]]) };
    expect(await look(111, { ...named, heads: [{ ...lineOf(101, 108), minute: minute + 60 }] })).toBe(-8);
    expect(await look(111)).toBe(0);
  });

  it('are withdrawn when a line explains them whose later messages are not counted yet', async () => {
    const { settle, look } = open();
    settle(1, 100);
    await look(100);
    await look(108);
    expect(await look(108)).toBe(8);
    const line = { heads: [lineOf(101, 112)], minutes: [minute], lost: new Map([[minute, 12]]) };
    expect(await look(112, line)).toBe(-8);
    expect(await look(112)).toBe(0);
    expect(await look(112)).toBe(0);
  });

  it('are not those of lost redrives, whose letters are a difference already, and no fewer elsewhere', async () => {
    const { settle, look } = open();
    settle(1, 100);
    await look(100);
    await look(104);
    expect(await look(104)).toBe(4);
    const redrives = [{ first: 90, last: 110, messages: 3 }];
    expect(await look(104, { redrives })).toBe(-3);
    settle(105, 120);
    await look(123, { redrives });
    expect(await look(123, { redrives }), 'beyond them').toBe(3);
    expect(await look(123)).toBe(3);
  });

  it('are not hidden by losses of before the first look', async () => {
    const { look } = open();
    await look(100);
    await look(105, { heads: [lineOf(40, 60)], minutes: [minute], lost: new Map([[minute, 20]]) });
    expect(await look(105)).toBe(5);
  });

  it('are not hidden by messages whose lines were deleted after they were counted', async () => {
    const { settle, look } = open();
    settle(1, 110);
    await look(100);
    await look(110);
    await look(110);
    // The comparison takes them for lost, until their records explain them.
    const withoutLines = { heads: [lineOf(101, 110)], minutes: [minute], lost: new Map([[minute, 4]]) };
    expect(await look(110, withoutLines)).toBe(0);
    settle(112, 120);
    await look(120);
    expect(await look(120)).toBe(1);
  });

  it('are not judged beyond the first PubAck of a minute that still waits', async () => {
    const { look } = open();
    await look(100);
    const waiting = { heads: [lineOf(103, 120)], minutes: [minute], pending: new Set([minute]) };
    await look(120, waiting);
    expect(await look(120, waiting)).toBe(2);
    expect(await look(120, { heads: [lineOf(103, 120)], minutes: [minute] })).toBe(18);
  });

  it('are not those of stuck messages', async () => {
    const { look } = open();
    await look(100);
    await look(103);
    const stuck = [101, 102].map((sequence) => ({ sequence, life: 0, serial: 0, minute, items: [] }));
    expect(await look(103, { stuck })).toBe(1);
  });

  it('are not the numbers between a stream that was lost and the one that was made after it', async () => {
    const { settle, look } = open();
    await look(100, {}, 100);
    settle(101, 103);
    // Seen with 110 messages, then confirmed up to 112, of which the books name none as lost; made again from 5,000,000 on.
    await look(103, {}, 110);
    const heads = [lineOf(104, 112)];
    await look(4_999_999, { heads }, 4_999_999, 5_000_000);
    expect(await look(4_999_999, { heads }, 4_999_999, 5_000_000)).toBe(9);
    settle(5_000_000, 5_000_004);
    await look(5_000_005, {}, 5_000_005, 5_000_000);
    expect(await look(5_000_005, {}, 5_000_005, 5_000_000)).toBe(1);
  });

  it('are not counted a second time after a look at which the stream was gone', async () => {
    const { settle, startProcess, stored } = openStream();
    const look = startProcess();
    const gone: Seen = { exists: false, last: 0 };
    const again: Seen = { last: 5_000_000, begin: 5_000_000 };
    // The lines of the first hundred have expired.
    settle(101, 108);
    await look(100);
    await look(110);
    expect(await look(110, { last: 110, isWritten: false })).toBe(0);
    expect(await look(0, gone), 'of what was not written').toBe(0);
    expect(await look(110, { last: 110 })).toBe(2);
    expect(await look(0, gone)).toBe(0);
    // Confirmed up to 112 before it went, of which the books name two as lost.
    const heads = { heads: [lineOf(111, 112)], minutes: [minute], lost: new Map([[minute, 2]]) };
    expect(await look(0, { ...gone, ...heads })).toBe(0);
    for (let turn = 0; turn < 3; turn++) expect(await look(4_999_999, { ...again, ...heads })).toBe(0);
    settle(5_000_000, 5_000_004);
    await look(5_000_005, again);
    expect(await look(5_000_005, again), 'what is lost of the new one').toBe(1);
    expect([...stored.values()]).toEqual([2, 1]);
  });

  it('begin with a stream that was gone when the process started', async () => {
    const { startProcess, reads } = openStream();
    const look = startProcess();
    expect(await look(0, { exists: false, last: 0 })).toBe(0);
    expect(reads()).toBe(0);
    const again: Seen = { last: 5_000_005, begin: 5_000_000 };
    for (let turn = 0; turn < 2; turn++) expect(await look(4_999_999, again)).toBe(0);
    await look(5_000_001, again);
    expect(await look(5_000_001, again)).toBe(2);
  });

  it('restart with a stream that went back', async () => {
    const { settle, look } = open();
    await look(100);
    await look(50, {}, 50);
    settle(51, 60);
    expect(await look(60, {}, 60)).toBe(0);
    expect(await look(60, {}, 60)).toBe(0);
    await look(62, {}, 62);
    expect(await look(62, {}, 62)).toBe(2);
  });
});

describe('the gaps of a stream at which several processes look', () => {
  /** A line of these messages, which are lost; the minute of its messages is before those of the looks. */
  const lineComes = (first: number, last: number, at = minute): Partial<Compared> => ({
    heads: [{ ...lineOf(first, last), minute: at }],
    minutes: [at],
    lost: new Map([[at, last - first + 1]]),
  });

  it('are reported once, although each process finds them at another minute', async () => {
    const { settle, startProcess, stored } = openStream();
    const [one, other] = [startProcess(), startProcess()];
    for (const look of [one, other]) await look(100);
    for (const look of [one, other]) await look(106);
    expect(await one(106)).toBe(6);
    expect(await other(106)).toBe(0);
    settle(107, 110);
    for (const look of [other, one]) await look(114);
    expect(await other(114), 'of the next ones, in another order').toBe(4);
    expect(await one(114)).toBe(0);
    expect([...stored.values()]).toEqual([6, 4]);
  });

  it('are reported once where the other process has counted more of them already', async () => {
    const { startProcess } = openStream();
    const [one, other] = [startProcess(), startProcess()];
    for (const look of [one, other]) await look(100);
    await one(106);
    await other(106, {}, 0);
    await one(110, {}, 30_000);
    expect(await one(110)).toBe(10);
    expect(await other(110, {}, 0)).toBe(0);
    expect(await other(110)).toBe(0);
  });

  it('are withdrawn once when a line explains them, by the process that sees it first', async () => {
    const { startProcess, stored } = openStream();
    const [one, other] = [startProcess(), startProcess()];
    for (const look of [one, other]) await look(100);
    for (const look of [one, other, one, other]) await look(106);
    expect([...stored.values()]).toEqual([6]);
    expect(await other(106, lineComes(101, 104))).toBe(-4);
    expect(await one(106, lineComes(101, 104))).toBe(0);
    expect([...stored.values()]).toEqual([2]);
  });

  it('are withdrawn by a process that was started later, and only by lines of messages that had arrived', async () => {
    const { startProcess, stored } = openStream();
    const earlier = startProcess();
    await earlier(100);
    await earlier(106);
    await earlier(106);
    const [at = 0] = stored.keys();
    const later = startProcess();
    const loss = lineComes(90, 95, at + 30);
    expect(await later(106, loss), 'another loss while no process looked').toBe(0);
    const known = { ...lineComes(80, 85), newlyLost: new Map([[minute, 0]]) };
    expect(await later(106, known), 'a loss that was stored before').toBe(0);
    expect(await later(106, lineComes(101, 106))).toBe(-6);
    expect(await earlier(106, lineComes(101, 106))).toBe(0);
    expect([...stored]).toEqual([]);
  });

  it('cost no statement while nothing is found or explained', async () => {
    const { settle, startProcess, reads } = openStream();
    const look = startProcess();
    settle(101, 200);
    for (const floor of [100, 120, 140, 160, 180]) await look(floor);
    expect(reads(), 'that of the start').toBe(1);
  });
});
