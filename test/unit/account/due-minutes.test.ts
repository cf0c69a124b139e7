import { describe, expect, it } from 'vitest';
import type { Outline } from '../../../src/account/books.ts';
import { createDueMinutes } from '../../../src/account/due-minutes.ts';

const startMs = Date.UTC(2026, 1, 3, 4, 0);
const first = 48 * 3_600;
const whole = 2 * 3_600;
const recent = 600;
const stream = 'METRICS';
const old = startMs / 1000 - 3_600;
const present = startMs / 1000;
const later = present + 600;

const outline = (minute: number, items: number): Outline => ({
  ...{ stream, life: 7, minute, messages: items, items, settledItems: items, recordedItems: items },
});

/** Not all that is counted is settled. */
const short = (minute: number, items: number, settledItems: number): Outline => ({
  ...outline(minute, items),
  settledItems,
});

/** Looks every 15 seconds: metadata rests for at least that long between two. */
const startLooks = () => {
  let elapsedMs = 0;
  const due = createDueMinutes({ now: () => startMs + elapsedMs, elapsed: () => elapsedMs });
  /** One look at these outlines; all that is due is compared, unless the look fails. */
  const look = (
    outlines: readonly Outline[],
    {
      pending = [],
      exists = true,
      isFailed = false,
    }: { pending?: number[]; exists?: boolean; isFailed?: boolean } = {},
  ) => {
    const seconds = due.begin();
    const minutes = due.of(stream, outlines, exists);
    if (!isFailed) {
      due.compared(stream, minutes, new Set(pending));
      due.end();
    }
    elapsedMs += 15_000;
    return { seconds, minutes };
  };
  return look;
};

describe('the minutes that are due', () => {
  it('are those of two days until each of them was compared once', () => {
    const look = startLooks();
    expect(look([outline(old, 5)])).toEqual({ seconds: first, minutes: [] });
    expect(look([outline(old, 5)])).toEqual({ seconds: first, minutes: [old] });
    expect(look([])).toEqual({ seconds: recent, minutes: [] });
  });

  it('are not those of two days for as long as an old one goes on changing', () => {
    const look = startLooks();
    const windows = Array.from({ length: 6 }, (_, turn) => look([outline(old, turn)]).seconds);
    expect(windows).toEqual([first, first, first, recent, whole, recent]);
  });

  it('are read in a window of minutes, and each minute of time in the whole one', () => {
    const look = startLooks();
    for (let turn = 0; turn < 2; turn++) look([outline(old, 5)]);
    const windows = Array.from({ length: 8 }, () => look([outline(old, 5)]).seconds);
    expect(windows).toEqual([recent, recent, recent, whole, recent, recent, recent, whole]);
  });

  it('are not forgotten by a look that does not read them', () => {
    const look = startLooks();
    for (let turn = 0; turn < 2; turn++) look([outline(old, 5)]);
    for (let turn = 0; turn < 3; turn++) expect(look([]).minutes).toEqual([]);
    expect(look([outline(old, 5)])).toEqual({ seconds: whole, minutes: [] });
  });

  it('are, where an old one has changed, compared by the whole look that sees it', () => {
    const look = startLooks();
    for (let turn = 0; turn < 2; turn++) look([outline(old, 5)]);
    for (let turn = 0; turn < 3; turn++) look([]);
    expect(look([outline(old, 4)])).toEqual({ seconds: whole, minutes: [old] });
    expect(look([]).seconds).toBe(recent);
  });

  it('are, while an old one has something on its way, compared by each look', () => {
    const look = startLooks();
    look([outline(old, 5)]);
    for (let turn = 0; turn < 4; turn++)
      expect(look([outline(old, 5)], { pending: [old] }).minutes).toEqual([old]);
    expect(look([outline(old, 5)]).minutes).toEqual([old]);
    expect(look([]).seconds).toBe(recent);
  });

  it('are all of them once the stream is gone', () => {
    const look = startLooks();
    for (let turn = 0; turn < 2; turn++) look([outline(old, 5)]);
    expect(look([], { exists: false }).seconds).toBe(recent);
    expect(look([outline(old, 5)], { exists: false })).toEqual({ seconds: whole, minutes: [old] });
  });

  it('stay due after a look that failed', () => {
    const look = startLooks();
    for (let turn = 0; turn < 2; turn++) look([outline(old, 5)]);
    look([], { isFailed: true });
    expect(look([outline(old, 4)], { isFailed: true }).seconds).toBe(whole);
    expect(look([outline(old, 4)])).toEqual({ seconds: whole, minutes: [old] });
  });

  it('are not one that goes on while what is settled covers what is counted, and are it once its lines have come', () => {
    const look = startLooks();
    for (let turn = 0; turn < 3; turn++) look([]);
    const compared = Array.from({ length: 6 }, (_, turn) => look([outline(present, turn)]).minutes.length);
    // The looks after 45, 60 and 75 seconds, and so on.
    expect(compared).toEqual([0, 0, 1, 0, 1, 0]);
  });

  it('are, of a minute that goes on and of which not all is settled, compared twice a minute of time', () => {
    const look = startLooks();
    for (let turn = 0; turn < 3; turn++) look([]);
    const compared = Array.from(
      { length: 8 },
      (_, turn) => look([short(later, turn + 1, turn)]).minutes.length,
    );
    expect(compared).toEqual([1, 0, 1, 0, 1, 0, 1, 0]);
  });

  it('are as many as one look can read: the newest first, then the others, and one of any size', () => {
    const look = startLooks();
    const outlines = [outline(old, 600_000), outline(old + 60, 1_500_000), outline(present, 500_000)];
    expect(look(outlines).minutes).toEqual([]);
    expect(look(outlines)).toEqual({ seconds: first, minutes: [present] });
    expect(look(outlines)).toEqual({ seconds: first, minutes: [old + 60] });
    expect(look(outlines)).toEqual({ seconds: first, minutes: [old] });
    expect(look(outlines)).toEqual({ seconds: recent, minutes: [] });
  });
});
