import { describe, expect, it } from 'vitest';
import type { SeenDay } from '../../../src/account/days-to-compare.ts';
import type { Difference } from '../../../src/account/difference.ts';
import type { StoreDifference } from '../../../src/account/store-compare.ts';
import { addStoreFindings, mergeFindings } from '../../../src/account/store-findings.ts';
import { createWatchedDays, isToBeRead, isUrgent } from '../../../src/account/watched-days.ts';

const day = (recorded: number, stored: number): SeenDay => ({
  ...{ pipeline: 'metrics', owner: 1, day: 20_000, recorded, stored },
  state: `${stored} ${recorded}`,
});

describe('the rows of a day are read', () => {
  it.each([
    ['not when it is seen for the first time', undefined, day(100, 90), 0, false],
    ['when it is quiet', day(100, 100), day(100, 100), 0, true],
    ['not while it is written to', day(100, 120), day(130, 150), 37_999, false],
    ['all the same after 38 seconds of it', day(100, 120), day(130, 150), 38_000, true],
  ])('%s', (_, before, now, sinceComparedMs, isRead) => {
    expect(isToBeRead(now, before, sinceComparedMs)).toBe(isRead);
  });
});

describe('the rows of a day are read although others were read just now', () => {
  it.each([
    ['where the store lacks rows that the records name', day(100, 100), undefined, day(100, 80), true],
    ['where the records do not name what was there', day(100, 140), undefined, day(130, 150), true],
    ['where more are missing than when it was compared', day(100, 80), -20, day(100, 70), true],
    ['but not where as many are missing as then', day(100, 80), -20, day(120, 100), false],
    ['and not where its numbers agree', day(100, 100), 0, day(120, 120), false],
  ])('%s', (_, seen, comparedExcess, now, isNow) => {
    const watched = { seen, changes: 0, comparedAt: 0, comparedExcess, isChanged: false };
    expect(isUrgent(now, watched)).toBe(isNow);
  });
});

describe('however long it takes to read rows', () => {
  it('a truncated table is read at the next look, and a day that agrees once the reading has its share', () => {
    let elapsedMs = 0;
    const days = createWatchedDays({ today: () => 20_000, elapsed: () => elapsedMs });
    const other = { ...day(50, 50), owner: 2 };
    const look = (seen: SeenDay[], readMs: number) => {
      elapsedMs += 25_000;
      const { due } = days.next(seen);
      days.compared(due, due.length === 0 ? 0 : readMs);
      return due.map(({ owner }) => owner);
    };
    expect(look([day(100, 100), other], 4_000)).toEqual([]);
    expect(look([day(100, 100), other], 4_000)).toEqual([1, 2]);
    expect(look([day(100, 0), { ...other, state: 'changed' }], 4_000)).toEqual([]);
    expect(look([day(100, 0), { ...other, state: 'changed' }], 4_000)).toEqual([1]);
    const later = [...Array(7).keys()].map(() => look([day(100, 0), { ...other, state: 'changed' }], 4_000));
    expect(later.findIndex((due) => due.includes(2))).toBe(1);
  });

  it('a day that changed and is quiet is read before those that were equal, and the look that reads it comes soon', () => {
    let elapsedMs = 0;
    const days = createWatchedDays({ today: () => 20_000, elapsed: () => elapsedMs });
    const [equal, swapped] = [day(100, 100), { ...day(10, 10), owner: 2 }];
    const look = (afterMs: number, seen: SeenDay[]) => {
      elapsedMs += afterMs;
      const { due, isNextSoon } = days.next(seen);
      days.compared(due, due.length === 0 ? 0 : 2_000);
      return { due: due.map(({ owner }) => owner), isNextSoon };
    };
    look(0, [equal]);
    look(20_000, [equal]);
    // The reading of the equal day has a fortieth of the time: until 98 s. That of the changed one a twentieth: until 58 s.
    expect(look(20_000, [equal, swapped])).toEqual({ due: [], isNextSoon: true });
    expect(look(5_000, [equal, swapped])).toEqual({ due: [], isNextSoon: true });
    expect(look(20_000, [equal, swapped])).toEqual({ due: [2], isNextSoon: false });
    expect(look(20_000, [equal, swapped])).toEqual({ due: [], isNextSoon: false });
  });
});

describe('a day that changes again and again', () => {
  // Each reading of it would else put off the reading of all that waits for a smaller share of the time.
  it('keeps neither the day that is always written to nor an old one from being read', () => {
    let elapsedMs = 0;
    const days = createWatchedDays({ today: () => 20_000, elapsed: () => elapsedMs });
    const reads = [0, 0, 0, 0];
    const hours = 6;
    for (let look = 0; elapsedMs < hours * 3_600_000; look++) {
      elapsedMs += 20_000;
      const seen = [
        { ...day(look, look), owner: 1 },
        { ...day(Math.floor(look / 3), Math.floor(look / 3)), owner: 2 },
        { ...day(5, 5), owner: 3, day: 19_000 },
      ];
      const { due } = days.next(seen);
      for (const { owner } of due) reads[owner] = (reads[owner] ?? 0) + 1;
      days.compared(due, due.length === 0 ? 0 : 2_000);
    }
    const [, busy = 0, changed = 0, old = 0] = reads;
    // Every eighty seconds, at each pause of its writing, and every hour, with some time for the others.
    expect(busy).toBeGreaterThanOrEqual(hours * 40);
    expect(changed).toBeGreaterThanOrEqual(hours * 50);
    expect(old).toBeGreaterThanOrEqual(hours - 1);
  });
});

describe('a day of all applications of a signal that some write to', () => {
  it('is read for those that rest where it is not read as a whole, in a hundredth of the time, and that of a data id is not', () => {
    let elapsedMs = 0;
    const days = createWatchedDays({ today: () => 20_000, elapsed: () => elapsedMs });
    let rows = 0;
    const look = (afterMs: number, readMs: number) => {
      elapsedMs += afterMs;
      rows += 1;
      const ofAll: SeenDay = { ...day(rows, rows), pipeline: 'traces', owner: 0 };
      const { due, resting } = days.next([day(rows, rows), ofAll]);
      days.compared([], 0, readMs);
      return [due.length, resting.map(({ pipeline }) => pipeline)];
    };
    expect(look(0, 0)).toEqual([0, []]);
    expect(look(20_000, 100)).toEqual([0, ['traces']]);
    // After 38 s of writing all of it is read.
    expect(look(37_999, 0)).toEqual([2, []]);
    expect(look(1, 1_000)).toEqual([0, ['traces']]);
    expect(look(98_999, 0)).toEqual([2, []]);
    expect(look(1, 0)).toEqual([0, ['traces']]);
  });
});

describe('what differs in a day', () => {
  it('becomes no less while the day is written to', () => {
    const of = (items: number, isAtLeast?: boolean): StoreDifference => ({
      ...{
        pipeline: 'traces',
        dataId: 0,
        appId: 2,
        day: 20_000,
        kind: 'missing_in_the_store',
        items,
        why: '',
      },
      ...(isAtLeast === undefined ? {} : { isAtLeast }),
    });
    const other: StoreDifference = { ...of(9), kind: 'unmerged' };
    const merge = (before: readonly StoreDifference[], ...differences: StoreDifference[]) =>
      mergeFindings(before, { differences, compared: [] });
    expect(merge([of(5), other], of(3, true))).toEqual([of(5), other]);
    expect(merge([of(5), other], of(7, true))).toEqual([other, of(7, true)]);
    expect(merge([of(5), other], of(3, false))).toEqual([of(3, false)]);
    expect(merge([of(5), other])).toEqual([of(5), other]);
  });

  it('stands once, also while another owner of the day is on its way', () => {
    const difference: StoreDifference = {
      ...{ pipeline: 'traces', dataId: 0, appId: 2, day: 20_000, kind: 'unrecorded', items: 50, why: '' },
    };
    const found = { differences: [difference], compared: [] };
    expect(mergeFindings(mergeFindings([], found), found)).toEqual([difference]);
  });

  it('stands where the rows of its owner cannot be read, also while those of the others of the day are', async () => {
    const of = (dataId: number): StoreDifference => ({
      ...{ pipeline: 'metrics', dataId, appId: 0, day: 20_000, kind: 'missing_in_the_store', items: 3 },
      why: '',
    });
    const unread: StoreDifference = { ...of(2), day: undefined, kind: 'not_known', items: 0, why: 'away' };
    const now = {
      differences: [unread],
      compared: [{ pipeline: 'metrics' as const, owner: 0, day: 20_000 }],
    };
    const merged = mergeFindings([of(1), of(2)], now);
    expect(merged).toEqual([of(2), unread]);
    expect(mergeFindings(merged, now), 'and is said once').toEqual([of(2), unread]);
    const stored: Difference[] = [1, 2].map((dataId) => ({
      ...{ kind: 'missing_in_the_store', stream: 'METRICS', pipeline: 'metrics', dataId, appId: 0 },
      ...{ minute: 20_000 * 86_400, items: 3, messages: 0 },
    }));
    const found = {
      ...{ all: stored, isEmpty: false, changes: 0 },
      readAgain: async () => [],
      takeOver: async () => [],
      replace: async (isInScope: (each: Difference) => boolean) => {
        expect(stored.filter(isInScope).map(({ dataId }) => dataId)).toEqual([1]);
      },
    };
    await addStoreFindings(found, now, new Map());
    const isExpired = (_: string, __: number, day = 0): boolean => day <= 20_000;
    await addStoreFindings(
      { ...found, replace: async (isInScope) => expect(stored.filter(isInScope)).toEqual(stored) },
      { differences: [], compared: [] },
      new Map(),
      isExpired,
    );
    expect.assertions(4);
  });

  it('is not known where the store refuses to read the day, beside what was found before, until the day is read again', async () => {
    const of = (kind: StoreDifference['kind'], items: number): StoreDifference => ({
      ...{ pipeline: 'metrics', dataId: 1, appId: 0, day: 20_000, kind, items, why: '' },
      ...(kind === 'not_known' ? { isUnread: true } : {}),
    });
    const stored: Difference[] = [];
    const found = {
      ...{ all: stored, isEmpty: false, changes: 0 },
      readAgain: async () => [],
      takeOver: async () => [],
      replace: async (isInScope: (each: Difference) => boolean, now: readonly Difference[]) => {
        const standing = stored.filter(
          (each) => !isInScope(each) && !now.some(({ kind }) => kind === each.kind),
        );
        stored.splice(0, stored.length, ...standing, ...now);
      },
    };
    let before: StoreDifference[] = [];
    const place = [{ pipeline: 'metrics' as const, owner: 1, day: 20_000 }];
    /** `compared`: none while the day is written to. */
    const lookAt = async (compared: typeof place, ...differences: StoreDifference[]) => {
      before = mergeFindings(before, { differences, compared, read: place });
      await addStoreFindings(found, { differences: before, compared, read: place }, new Map());
      return stored.map(({ kind, items }) => [kind, items]);
    };
    const look = (...differences: StoreDifference[]) => lookAt(place, ...differences);
    expect(await look(of('missing_in_the_store', 3))).toEqual([['missing_in_the_store', 3]]);
    // It may pass, and a look that does not read the day says nothing of it.
    expect(await look(of('not_known', 0))).toEqual([['missing_in_the_store', 3]]);
    before = mergeFindings(before, { differences: [], compared: [] });
    const both = [
      ['missing_in_the_store', 3],
      ['not_known', 0],
    ];
    expect(await look(of('not_known', 0))).toEqual(both);
    expect(await look(of('not_known', 0))).toEqual(both);
    // It is read again, also while it is written to.
    expect(await lookAt([])).toEqual([['missing_in_the_store', 3]]);
    expect(await look()).toEqual([]);
  });
});
