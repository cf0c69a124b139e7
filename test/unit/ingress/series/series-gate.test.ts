import { describe, expect, it } from 'vitest';
import { type AddedSeries, SeriesGate, type SeriesMax } from '../../../../src/ingress/series/series-gate.ts';
import { judgeShares } from '../../../../src/ingress/series/series-judge.ts';
import { SeriesTable } from '../../../../src/ingress/series/series-table.ts';

const minuteMs = 60_000;

const openGate = (heldMax?: number) => {
  let now = 5_000;
  const full: object[] = [];
  let shown = 0;
  const gate = new SeriesGate({
    now: () => now,
    onFull: (appId, seriesMax, held) => full.push({ appId, seriesMax, held }),
    onHeld: (held) => {
      shown = held;
    },
    ...(heldMax === undefined ? {} : { heldMax }),
  });
  return {
    gate,
    full,
    shown: () => shown,
    pass: (minutes: number) => {
      now += minutes * minuteMs;
    },
    /** Which of these series a request with one data point of each may bring. */
    ask: (appId: number, bounds: SeriesMax, from: number, to: number): boolean[] => {
      const admits = gate.admits(bounds);
      return Array.from({ length: to - from }, (_, index) => {
        const series = from + index;
        return admits?.(appId, Math.imul(series, 0x9e3779b1) >>> 0, series) ?? true;
      });
    },
  };
};

const count = (told: readonly boolean[]): number => told.filter(Boolean).length;
const bound = (seriesMax: number | undefined, appId = 1): SeriesMax => new Map([[appId, seriesMax]]);

describe('the series of an application', () => {
  it('are taken up to its bound; those that are known go on, and further ones are refused', () => {
    const { ask, gate } = openGate();
    expect(count(ask(1, bound(100), 0, 150))).toBe(100);
    expect(count(ask(1, bound(100), 0, 100))).toBe(100);
    expect(count(ask(1, bound(100), 100, 150))).toBe(0);
    expect(gate.held).toBe(100);
  });

  it('leave an hour after their latest data point, and make room', () => {
    const { ask, pass, gate } = openGate();
    ask(1, bound(100), 0, 100);
    pass(59);
    ask(1, bound(100), 0, 40);
    expect(count(ask(1, bound(100), 100, 200))).toBe(0);
    pass(2);
    expect(count(ask(1, bound(100), 100, 200))).toBe(60);
    expect(count(ask(1, bound(100), 0, 40))).toBe(40);
    pass(61);
    gate.sweep();
    expect(gate.held).toBe(0);
    expect(gate.bytes).toBe(0);
  });

  it('are not held without a bound', () => {
    const { ask, gate } = openGate();
    expect(gate.admits(bound(undefined))).toBeUndefined();
    const mixed = new Map([...bound(undefined, 1), ...bound(10, 2)]);
    expect(count(ask(1, mixed, 0, 1_000))).toBe(1_000);
    expect(count(ask(2, mixed, 0, 1_000))).toBe(10);
    expect(gate.held).toBe(10);
  });

  it('follow a bound that changes', () => {
    const { ask } = openGate();
    expect(count(ask(1, bound(10), 0, 20))).toBe(10);
    expect(count(ask(1, bound(15), 0, 20))).toBe(15);
    expect(count(ask(1, bound(5), 0, 20))).toBe(15);
  });

  it('are of that application alone: the same hashes of another one are others', () => {
    const { ask } = openGate();
    const both = new Map([...bound(10, 1), ...bound(10, 2)]);
    expect(count(ask(1, both, 0, 10))).toBe(10);
    expect(count(ask(2, both, 0, 20))).toBe(10);
  });
});

describe('the series of a request that is not stored', () => {
  const hashOf = (series: number): [number, number] => [Math.imul(series, 0x9e3779b1) >>> 0, series];

  it('leave again, and those that were known before stay', () => {
    const { ask, gate } = openGate();
    ask(1, bound(100), 0, 40);
    const added: AddedSeries = [];
    const admits = gate.admits(bound(100), added);
    for (let series = 20; series < 120; series++) admits?.(1, ...hashOf(series));
    expect(gate.held).toBe(100);
    gate.forget(added);
    expect(gate.held).toBe(40);
    expect(count(ask(1, bound(40), 0, 120))).toBe(40);
    expect(count(ask(1, bound(100), 200, 300))).toBe(60);
  });

  it('leave again when a thread has read it', () => {
    const { ask, gate } = openGate();
    ask(1, bound(100), 0, 40);
    const judge = judgeShares(structuredClone(gate.shares(bound(100))));
    for (let series = 20; series < 120; series++) judge.admits(1, ...hashOf(series));
    const added: AddedSeries = [];
    gate.settle(bound(100), judge.seen(), added);
    expect(gate.held).toBe(100);
    gate.forget(added);
    expect(gate.held).toBe(40);
    expect(count(ask(1, bound(40), 0, 120))).toBe(40);
  });

  it('keep no memory beyond the next sweep', () => {
    const { ask, pass, gate } = openGate();
    ask(1, bound(100_000), 0, 40);
    const { bytes } = gate;
    const added: AddedSeries = [];
    const admits = gate.admits(bound(100_000), added);
    for (let series = 0; series < 50_000; series++) admits?.(1, ...hashOf(series));
    gate.forget(added);
    pass(1);
    gate.sweep();
    expect([gate.held, gate.bytes]).toEqual([40, bytes]);
  });
});

describe('an application at its bound', () => {
  it('is reported at most once an hour', () => {
    const { ask, pass, full } = openGate();
    ask(1, bound(10), 0, 10);
    expect(full).toEqual([]);
    ask(1, bound(10), 10, 20);
    ask(1, bound(10), 10, 20);
    expect(full).toEqual([{ appId: 1, seriesMax: 10, held: 10 }]);
    for (let minute = 0; minute < 61; minute++) {
      pass(1);
      ask(1, bound(10), 0, 20);
    }
    expect(full.length).toBe(2);
  });
});

describe('the series of all applications', () => {
  it('have a bound: the one that holds more than an equal share gets no further one, another goes on to its share', () => {
    const { ask, gate } = openGate(1_000);
    const all = new Map([1, 2, 3, 4].map((appId) => [appId, 5_000]));
    expect(count(ask(1, all, 0, 3_000))).toBe(1_000);
    expect(count(ask(2, all, 0, 3_000))).toBe(500);
    expect(count(ask(3, all, 0, 3_000))).toBe(334);
    expect(count(ask(1, all, 0, 3_000))).toBe(1_000);
    expect(gate.held).toBe(1_834);
    expect(count(ask(4, all, 0, 3_000))).toBe(166);
    expect(gate.held).toBe(2_000);
  });

  it('cost 16 to 32 bytes each', () => {
    const { ask, gate } = openGate();
    for (const held of [1_000, 3_000, 10_000, 100_000]) {
      ask(1, bound(200_000), 0, held);
      expect(gate.held).toBe(held);
      const each = gate.bytes / held;
      expect(each).toBeGreaterThanOrEqual(16);
      expect(each).toBeLessThanOrEqual(32);
    }
  });

  it('are shown by the sweep, which leaves no table of an application that is silent', () => {
    const { ask, pass, gate, shown } = openGate();
    for (let appId = 1; appId <= 50; appId++) ask(appId, bound(100, appId), 0, 20);
    gate.sweep();
    expect(shown()).toBe(1_000);
    pass(61);
    ask(7, bound(100, 7), 0, 5);
    gate.sweep();
    expect(shown()).toBe(5);
    expect(gate.held).toBe(5);
  });
});

describe('a body that a thread decodes', () => {
  it('is judged by the series held when it went there; what it brought is held afterwards', () => {
    const { ask, gate, full } = openGate();
    ask(1, bound(100), 0, 60);
    // The shares go to the thread as copies.
    const judge = judgeShares(structuredClone(gate.shares(bound(100))));
    const told = Array.from({ length: 130 }, (_, series) =>
      judge.admits(1, Math.imul(series, 0x9e3779b1) >>> 0, series),
    );
    expect(count(told)).toBe(100);
    expect(told.slice(0, 60).every(Boolean)).toBe(true);
    expect(gate.held).toBe(60);
    gate.settle(bound(100), judge.seen());
    expect(gate.held).toBe(100);
    expect(count(ask(1, bound(100), 0, 130))).toBe(100);
    expect(full).toEqual([{ appId: 1, seriesMax: 100, held: 60 }]);
  });

  it('keeps series from leaving as a small one does', () => {
    const { ask, pass, gate } = openGate();
    ask(1, bound(100), 0, 100);
    pass(50);
    const judge = judgeShares(structuredClone(gate.shares(bound(100))));
    for (let series = 0; series < 30; series++) judge.admits(1, Math.imul(series, 0x9e3779b1) >>> 0, series);
    gate.settle(bound(100), judge.seen());
    pass(20);
    gate.sweep();
    expect(gate.held).toBe(30);
  });

  it('of an application without a bound is not judged', () => {
    const { gate } = openGate();
    expect(gate.shares(bound(undefined))).toEqual([]);
    expect(judgeShares([]).admits(1, 1, 1)).toBe(true);
    expect(judgeShares([]).seen()).toEqual([]);
  });
});

describe('the table of series', () => {
  it('finds each of many series whose hashes differ in one half only', () => {
    const table = new SeriesTable();
    for (let half = 0; half < 2_000; half++) {
      table.add(half, 7, 1);
      table.add(7, half, 1);
    }
    // 7, 7 was added twice.
    expect(table.held).toBe(3_999);
    for (let half = 0; half < 2_000; half++) {
      expect(table.touch(half, 7, 2)).toBe(true);
      expect(table.touch(half, 2_000, 2)).toBe(false);
    }
    table.sweep(2);
    expect(table.held).toBe(2_000);
    expect(table.seenIn(2).length).toBe(4_000);
  });

  it('finds all others after any of them was removed', () => {
    for (let round = 0; round < 200; round++) {
      const table = new SeriesTable();
      const halves = Array.from({ length: 48 }, (_, index) => index);
      for (const half of halves) table.add(half, round, 1);
      for (const half of halves) if (half % 3 === round % 3) table.remove(half, round);
      table.remove(1000, round);
      expect(table.held).toBe(32);
      for (const half of halves) expect(table.touch(half, round, 1)).toBe(half % 3 !== round % 3);
    }
  });
});
