import { describe, expect, it } from 'vitest';
import type { Published } from '../../../src/account/compare.ts';
import { type Compared, createUncounted, isOfGaps } from '../../../src/account/uncounted.ts';

const minute = 1_790_000_040;

const lineOf = (sequenceFirst: number, sequenceLast: number): Published => ({
  ...{ life: 1, minute, dataId: 0, appId: 0, messages: 1, items: 0, sequenceFirst, sequenceLast, reach: 1 },
});

/** A stream of which some sequences are settled; a look at it is a minute after the last one. */
const open = () => {
  const settled = new Set<number>();
  const reported = new Map<number, number>();
  let clock = 0;
  const uncounted = createUncounted({
    countSequences: async (_stream, first, last) =>
      [...settled].filter((each) => each >= first && each <= last).length,
    elapsed: () => clock,
    now: () => (minute + 90) * 1000 + clock,
  });
  return {
    settle: (first: number, last: number): void => {
      for (let each = first; each <= last; each++) settled.add(each);
    },
    /** Messages that the look finds lost beyond those of the books; below 0 where a line explains earlier ones. */
    look: async (
      floor: number,
      compared: Partial<Compared> = {},
      last = 1_000,
      begin = 1,
    ): Promise<number> => {
      clock += 60_000;
      const known = {
        heads: [],
        minutes: [],
        pending: new Set<number>(),
        lost: new Map(),
        stuck: [],
        redrives: [],
      };
      const queue = { exists: true, begin, first: begin, last, end: last, messages: 0, floor };
      const [found, ...others] = await uncounted.find('METRICS', queue, { ...known, ...compared });
      expect(others).toEqual([]);
      if (found === undefined) return 0;
      expect(found).toMatchObject({ kind: 'lost_in_the_stream', dataId: 0, items: 0 });
      expect(isOfGaps(found), 'no line has this minute').toBe(true);
      const change = found.messages - (reported.get(found.minute) ?? 0);
      reported.set(found.minute, found.messages);
      return change;
    },
  };
};

describe('the gaps of a stream', () => {
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
