import { describe, expect, it } from 'vitest';
import { createDueMinutes } from '../../../src/account/due-minutes.ts';
import type { Outline } from '../../../src/account/outlines.ts';

const startMs = Date.UTC(2026, 1, 3, 4, 0);
const first = 48 * 3_600;
const whole = 2 * 3_600;
/** What was written since the look before, which began 15 s earlier; an insert may take two minutes. */
const recent = 15 + 120;
const stream = 'METRICS';
const old = startMs / 1000 - 3_600;
const present = startMs / 1000;
const later = present + 600;

const outline = (minute: number, items: number, recorded?: string): Outline => ({
  ...{ stream, life: 7, minute, messages: items, items, settledItems: items, placed: '0 0', recorded },
});

/** Not all that is counted is settled. */
const short = (minute: number, items: number, settledItems: number): Outline => ({
  ...outline(minute, items),
  settledItems,
});

/** Looks every 15 seconds. */
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
      isTouched = false,
      reopened = [],
    }: {
      pending?: number[];
      exists?: boolean;
      isFailed?: boolean;
      isTouched?: boolean;
      reopened?: number[];
    } = {},
  ) => {
    for (const minute of reopened) due.reopen(stream, minute);
    const { seconds, minutes: asked } = due.begin(isTouched);
    const minutes = due.of(stream, outlines, exists);
    if (!isFailed) {
      due.compared(stream, minutes, new Set(pending));
      due.end();
    }
    elapsedMs += 15_000;
    return { seconds, asked, minutes };
  };
  return look;
};

/** Looks whose first two have compared an old minute. */
const startedLooks = () => {
  const look = startLooks();
  for (let turn = 0; turn < 2; turn++) look([outline(old, 5, '5 5')]);
  return look;
};

describe('the minutes that are due', () => {
  it('are those of two days, and once they are quiet', () => {
    const look = startLooks();
    expect(look([outline(old, 5)])).toEqual({ seconds: first, asked: [], minutes: [] });
    expect(look([outline(old, 5)])).toEqual({ seconds: recent, asked: [old], minutes: [old] });
    expect(look([])).toEqual({ seconds: recent, asked: [], minutes: [] });
  });

  it('are those of two days again after a first look that failed', () => {
    const look = startLooks();
    expect(look([outline(old, 5)], { isFailed: true }).seconds).toBe(first);
    expect(look([outline(old, 5)]).seconds).toBe(first);
    expect(look([]).seconds).toBe(recent);
  });

  it('are those of a window every ten minutes', () => {
    const look = startedLooks();
    const windows = Array.from({ length: 79 }, () => look([]).seconds);
    expect(windows.flatMap((seconds, index) => (seconds === whole ? [index] : []))).toEqual([38, 78]);
  });

  it('are those of the window where lines were changed, once a minute at most', () => {
    const look = startedLooks();
    const windows = Array.from({ length: 6 }, () => look([], { isTouched: true }).seconds);
    expect(windows).toEqual([recent, recent, whole, recent, recent, recent]);
    expect(look([]).seconds).toBe(whole);
    expect(look([]).seconds).toBe(recent);
  });

  it('are an old one whose lines have changed, in the look that sees it', () => {
    const look = startedLooks();
    for (let turn = 0; turn < 2; turn++) look([]);
    expect(look([outline(old, 4)], { isTouched: true })).toEqual({
      ...{ seconds: whole, asked: [], minutes: [old] },
    });
    expect(look([])).toEqual({ seconds: recent, asked: [], minutes: [] });
  });

  it('are one whose records have changed although its lines have not', () => {
    const look = startedLooks();
    for (let turn = 0; turn < 2; turn++) look([]);
    expect(look([outline(old, 5, '4 4')], { isTouched: true }).minutes).toEqual([old]);
  });

  it('are, while an old one has something on its way, compared by each look', () => {
    const look = startLooks();
    look([outline(old, 5)]);
    for (let turn = 0; turn < 4; turn++)
      expect(look([outline(old, 5)], { pending: [old] })).toEqual({
        ...{ seconds: recent, asked: [old], minutes: [old] },
      });
    expect(look([outline(old, 5)])).toEqual({ seconds: recent, asked: [old], minutes: [old] });
    expect(look([]).asked).toEqual([]);
  });

  it('are one of which another process has stored something else, once, whether it is remembered or not', () => {
    const look = startedLooks();
    look([]);
    const reopened = [old, present - 4 * 3_600];
    const lines = reopened.map((minute) => outline(minute, 5));
    const again = look(lines, { reopened, isFailed: true });
    expect(again.asked.toSorted()).toEqual(reopened.toSorted());
    expect(look(lines).minutes).toEqual(reopened.toSorted());
    expect(look(lines)).toMatchObject({ asked: [], minutes: [] });
  });

  it('are none of before the first window, and none without lines, where another process has stored something of it', () => {
    const look = startedLooks();
    const [beyond, without] = [present - first - 60, present - 4 * 3_600];
    expect(look([], { reopened: [beyond, without] }).asked).toEqual([without]);
    expect(look([])).toMatchObject({ asked: [], minutes: [] });
  });

  it('are all of them once the stream is gone', () => {
    const look = startedLooks();
    for (let turn = 0; turn < 2; turn++) look([]);
    expect(look([], { exists: false }).asked).toEqual([]);
    expect(look([outline(old, 5)], { exists: false })).toEqual({
      ...{ seconds: recent, asked: [old], minutes: [old] },
    });
  });

  it('stay due after looks that failed, with all that was written since the last one that ended', () => {
    const look = startedLooks();
    look([outline(old, 4)], { isFailed: true });
    expect(look([outline(old, 4)], { isFailed: true })).toMatchObject({ seconds: recent + 15, asked: [old] });
    expect(look([outline(old, 4)])).toEqual({ seconds: recent + 30, asked: [old], minutes: [old] });
    expect(look([])).toMatchObject({ seconds: recent, asked: [] });
  });

  it('are forgotten where they are no longer there', () => {
    const look = startedLooks();
    look([outline(old, 4)], { isFailed: true });
    expect(look([]).asked).toEqual([old]);
    expect(look([]).asked).toEqual([]);
  });

  it('are not one that goes on while what is settled covers what is counted, and are it once its lines have come', () => {
    const look = startLooks();
    for (let turn = 0; turn < 3; turn++) look([]);
    const compared = Array.from({ length: 6 }, (_, turn) => look([outline(present, turn)]).minutes.length);
    // The looks after 45, 60 and 75 seconds, and so on.
    expect(compared).toEqual([0, 0, 0, 1, 0, 1]);
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
    for (const minutes of [[present], [old + 60], [old], []])
      expect(look(outlines)).toMatchObject({ seconds: recent, minutes });
  });

  it('are named to a look as far as it can compare them, the newest first', () => {
    const look = startLooks();
    const outlines = Array.from({ length: 300 }, (_, index) => outline(old - index * 60, 1));
    look(outlines);
    const { asked, minutes } = look(outlines);
    expect(asked).toHaveLength(240);
    expect(asked).toContain(old);
    expect(asked).not.toContain(old - 299 * 60);
    expect(minutes).toHaveLength(240);
    expect(look(outlines).minutes).toHaveLength(60);
  });

  it('are compared again where a record is gone before a whole window was read since they were compared', () => {
    const look = startLooks();
    look([]);
    const compared = { ...outline(old, 5), placed: '5 500' };
    expect([look([compared]).minutes, look([compared]).minutes]).toEqual([[], [old]]);
    for (let turn = 0; turn < 5; turn++) look([]);
    const gone = { ...compared, recorded: '4 400' };
    expect(look([gone], { isTouched: true }).minutes).toEqual([old]);
    expect(look([{ ...gone, recorded: undefined }]).minutes).toEqual([]);
  });

  it('are compared again where one settled line is gone and another one of as many items has come', () => {
    const look = startedLooks();
    const swapped = { ...outline(old, 5, '5 5'), placed: '5 6' };
    expect([look([swapped]).minutes, look([swapped]).minutes]).toEqual([[], [old]]);
  });

  it('take their turn, however many messages wait', () => {
    const look = startLooks();
    const waiting = Array.from({ length: 12 }, (_, index) => ({
      ...short(present + 60 * index, 180_000, 179_000),
      messages: 180_000,
    }));
    const all = waiting.map(({ minute }) => minute);
    const seen = new Set<number>();
    for (let turn = 0; turn < 20; turn++)
      for (const minute of look(waiting, { pending: all }).minutes) seen.add(minute);
    expect([...seen].toSorted((a, b) => a - b)).toEqual(all);
  });

  it('are those of the whole time in which the looks failed', () => {
    const look = startLooks();
    look([]);
    const turns = (4 * 5 * 3_600) / 60;
    for (let turn = 0; turn < turns; turn++) look([], { isFailed: true });
    expect(look([]).seconds).toBeGreaterThanOrEqual(5 * 3_600);
  });
});
