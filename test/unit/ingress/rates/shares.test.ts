import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createRateShares,
  type DemandReport,
  fractionOf,
  readReport,
} from '../../../../src/ingress/rates/shares.ts';
import { always } from '../../../support/properties.ts';

const names = ['a', 'b', 'c', 'd'];
const keys = ['d:1', 'd:2', 'a:1'];

const anyReport: fc.Arbitrary<DemandReport> = fc.record({
  tick: fc.constant(0),
  rest: fc.oneof(fc.constant(0), fc.nat(5000)),
  demand: fc.dictionary(fc.constantFrom(...keys), fc.nat(3_000_000)),
});

/** Reports of processes, and goodbyes. */
const anyHistory = fc.array(fc.tuple(fc.constantFrom(...names), fc.option(anyReport)), { maxLength: 30 });

describe('the shares of a rate', () => {
  it.each([
    ['one process alone has all', 0, 0, 10, 1, 1],
    ['nobody has demand: equal parts', 0, 0, 10, 4, 0.25],
    ['above the rate: in proportion', 25, 30, 10, 3, 25 / 30],
    ['above the rate: none for who has no demand', 0, 30, 10, 3, 0],
    ['one sender at its full rate has all of it', 10, 10, 10, 3, 1],
    ['little demand: four times it, and a part of the rest', 1, 1, 10, 3, 0.6],
    ['little demand elsewhere: a part of the rest', 0, 1, 10, 3, 0.2],
  ])('%s', (_case, own, total, rate, processes, fraction) => {
    expect(fractionOf(own, total, rate, processes)).toBeCloseTo(fraction, 12);
  });

  // More than 1 is more than the limit; less is a sender refused that keeps to it.
  it('add up to 1 over all processes with the same reports', () => {
    always(
      fc.property(
        anyHistory,
        fc.constantFrom(...keys, 'd:9'),
        fc.integer({ min: 1, max: 2000 }),
        (history, key, rate) => {
          const live = new Set<string>();
          const all = new Map(names.map((name) => [name, createRateShares(name)]));
          for (const [name, report] of history) {
            for (const shares of all.values()) {
              if (report === null) shares.remove(name);
              else shares.apply(name, report);
            }
            if (report === null) live.delete(name);
            else live.add(name);
          }
          const fractions = [...live].map((name) => all.get(name)?.fraction(key, rate) ?? 0);
          expect(fractions.every((fraction) => fraction >= 0)).toBe(true);
          if (live.size > 0) expect(fractions.reduce((sum, each) => sum + each, 0)).toBeCloseTo(1, 9);
        },
      ),
    );
  });

  it('count a process that could not list a key with the largest demand that it omitted', () => {
    const shares = createRateShares('a');
    shares.apply('a', { tick: 0, rest: 0, demand: { 'd:1': 30_000 } });
    shares.apply('b', { tick: 0, rest: 10_000, demand: { 'd:2': 90_000 } });
    expect([shares.fraction('d:1', 20), shares.fraction('d:2', 20)]).toEqual([0.75, 0]);
  });

  // A process that was killed takes its part of the limit with it until it is noticed.
  it('are those of live processes: one that is silent for four ticks has stopped, but not while no report arrives at all', () => {
    const shares = createRateShares('a');
    const none = { rest: 0, demand: {} };
    shares.apply('b', { tick: 70, ...none });
    for (const tick of [0, 1, 1, 1, 1, 1, 2]) shares.apply('a', { tick, ...none });
    expect(shares.processes).toBe(2);
    shares.apply('a', { tick: 3, ...none });
    expect([shares.processes, shares.fraction('d:1', 5)]).toEqual([1, 1]);
    shares.apply('b', { tick: 90, ...none });
    expect(shares.processes).toBe(2);
  });

  it.each([undefined, 'x', 5, { tick: -1 }, { tick: 0, rest: 0, demand: { 'd:1': 'x' } }])(
    'treat a report that is %j as that of a process without demand',
    (value) => {
      expect(readReport(value)).toEqual({ tick: 0, rest: 0, demand: {} });
    },
  );
});
