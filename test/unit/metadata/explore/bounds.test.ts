import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGate } from '../../../../src/metadata/explore/gate.ts';
import { bucketsMax, bucketsOf, periodOf } from '../../../../src/metadata/explore/period.ts';
import { always } from '../../../support/properties.ts';

const day = 86_400;
const nowMs = 1_800_000_000_500;

describe('the period of a query', () => {
  it('is the last hour by default, the present second included', () => {
    expect(periodOf({}, nowMs)).toEqual({ since: 1_799_996_401, until: 1_800_000_001 });
    expect(periodOf({ until: 100 }, nowMs)).toEqual({ since: 0, until: 100 });
  });

  it('is at most seven days, unless it says wide', () => {
    expect(periodOf({ since: 0, until: 7 * day }, nowMs)).toEqual({ since: 0, until: 7 * day });
    expect(() => periodOf({ since: 0, until: 7 * day + 1 }, nowMs)).toThrow(/7 days.*wide/);
    expect(periodOf({ since: 0, until: 700 * day, wide: true }, nowMs).until).toBe(700 * day);
    expect(() => periodOf({ since: 5, until: 5 }, nowMs)).toThrow(/before until/);
  });

  // The console and the commands offer it; their clock may be behind, and the call takes time.
  it('may be the last seven days as a caller counts them: until now, with a minute for its clock and the way', () => {
    const now = Math.floor(nowMs / 1000);
    for (const late of [0, 1, 59])
      expect(periodOf({ since: now - late - 7 * day }, nowMs)).toEqual({
        since: now - late - 7 * day,
        until: now + 1,
      });
    expect(() => periodOf({ since: now - 60 - 7 * day }, nowMs)).toThrow(/7 days.*wide/);
    expect(() => periodOf({ since: now - 7 * day, until: now + 1 }, nowMs)).toThrow(/7 days.*wide/);
  });
});

describe('the buckets of a query', () => {
  it('are at most 600: 601 are refused, with their number', () => {
    expect(bucketsOf({ since: 0, until: 36_000 }, 60).starts).toHaveLength(600);
    expect(() => bucketsOf({ since: 0, until: 36_001 }, 60)).toThrow(/makes 601 buckets/);
    expect(() => bucketsOf({ since: 30, until: 36_030 }, 60)).toThrow(/makes 601 buckets/);
  });

  it('cover the whole period without a step, in steps of equal length', () => {
    const second = fc.integer({ min: 0, max: 4_294_967_295 });
    always(
      fc.property(second, second, (a, b) => {
        fc.pre(a !== b);
        const period = { since: Math.min(a, b), until: Math.max(a, b) };
        const { step, starts } = bucketsOf(period, undefined);
        expect(starts.length).toBeLessThanOrEqual(bucketsMax);
        const [first = Number.NaN] = starts;
        expect(first % step).toBe(0);
        expect(first).toBeLessThanOrEqual(period.since);
        expect((starts.at(-1) ?? 0) + step).toBeGreaterThanOrEqual(period.until);
      }),
    );
  });
});

describe('the gate of queries', () => {
  const { signal } = new AbortController();
  const held = () => Promise.withResolvers<void>();

  it('lets four calls at once pass, two of one token, and refuses the others with too_many_queries', async () => {
    const gate = createGate();
    const work = held();
    const run = (token: number) => gate.run(token, signal, () => work.promise);
    const first = [run(1), run(1)];
    await expect(run(1)).rejects.toMatchObject({ code: 'too_many_queries', message: /one token/ });
    first.push(run(2), run(2));
    await expect(run(3)).rejects.toMatchObject({ code: 'too_many_queries', message: /this process/ });
    work.resolve();
    await Promise.all(first);
    await expect(gate.run(3, signal, async () => 'done')).resolves.toBe('done');
  });

  it('has a place again after a call that failed', async () => {
    const gate = createGate();
    const fail = () => gate.run(1, signal, () => Promise.reject(new Error('no')));
    for (let count = 0; count < 5; count++) await expect(fail()).rejects.toThrow('no');
  });

  it('gives all queries of a call ten seconds together', async () => {
    let now = 0;
    const gate = createGate(() => now);
    await gate.run(1, signal, async (bounds) => {
      expect(bounds().timeoutMs).toBe(10_000);
      now = 9_000;
      expect(bounds().timeoutMs).toBe(1_000);
      now = 10_000;
      expect(bounds).toThrow(/did not end within 10000 ms/);
    });
  });
});
