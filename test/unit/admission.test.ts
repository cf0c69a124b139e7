import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBytesInFlight } from '../../src/ingress/admission.ts';
import { createRateLimiter, effectiveRate, type RateVerdict } from '../../src/ingress/rate-limiter.ts';
import { always } from '../support/properties.ts';

const start = Date.UTC(2026, 5, 1, 12, 0, 0, 137);

const judge = (
  limiter: ReturnType<typeof createRateLimiter>,
  rate: number,
  atMs: number,
  key = 1,
): RateVerdict => {
  const verdict = limiter.judge(`d:${key}`, rate, atMs);
  if (verdict === undefined) throw new Error('an unlimited verdict');
  return verdict;
};

/** Times of requests at this rate over ten seconds, in whole milliseconds as the clock gives them. */
const arrivals = (perSecond: number): number[] =>
  Array.from({ length: 10 * perSecond }, (_, index) => start + Math.floor((index * 1000) / perSecond));

describe('max_rate', () => {
  it.each([
    [-1, 1000, 1000],
    [-1, 0, 0],
    [-2, 1000, -2],
    [0, 1000, 0],
    [5, 1000, 5],
  ])('%d with a default of %d counts as %d', (maxRate, fallback, rate) => {
    expect(effectiveRate(maxRate, fallback)).toBe(rate);
  });

  // More than the limit overloads what the limit protects; less refuses a sender that keeps to it.
  it.each([1, 2, 3, 7, 10, 60, 333, 1000])(
    'of %d admits that many a second, and a burst of one second at first',
    (rate) => {
      for (const offered of [rate * 3, 2000]) {
        const limiter = createRateLimiter();
        const admitted = arrivals(offered).filter((at) => judge(limiter, rate, at).isAdmitted).length;
        expect(admitted).toBeGreaterThanOrEqual(10 * rate - 1);
        expect(admitted).toBeLessThanOrEqual(11 * rate);
      }
    },
  );

  it.each([1, 2, 3, 7, 10, 60, 333, 1000])('of %d refuses nobody who keeps to it', (rate) => {
    const limiter = createRateLimiter();
    expect(arrivals(rate).filter((at) => !judge(limiter, rate, at).isAdmitted)).toEqual([]);
  });

  it.each([1, 2, 3, 6, 7, 9, 10, 11, 30, 60, 70, 333, 700, 1000])(
    'of %d admits the requests of one second at one instant',
    (rate) => {
      for (let offset = 0; offset < 50; offset++) {
        const limiter = createRateLimiter();
        const at = start + 7919 * offset;
        const verdicts = Array.from({ length: rate + 3 }, () => judge(limiter, rate, at).isAdmitted);
        expect(verdicts.filter(Boolean).length).toBe(rate);
      }
    },
  );

  it('counts each source for itself', () => {
    const limiter = createRateLimiter();
    expect(
      [judge(limiter, 1, start, 1), judge(limiter, 1, start, 2), judge(limiter, 1, start, 1)].map(
        ({ isAdmitted }) => isAdmitted,
      ),
    ).toEqual([true, true, false]);
  });

  it('of 0 is no limit, and says nothing of one', () => {
    const limiter = createRateLimiter();
    for (let count = 0; count < 5000; count++) expect(limiter.judge('d:1', 0, start)).toBeUndefined();
  });

  it.each([-2, -5, -1000])('of %d admits nothing', (rate) => {
    const limiter = createRateLimiter();
    for (const at of [start, start + 10_000, start + 86_400_000]) {
      expect(judge(limiter, rate, at)).toMatchObject({
        isAdmitted: false,
        headers: { 'RateLimit-Policy': '"max_rate";q=0;w=1' },
      });
    }
  });

  it('tells how much is left and when to come again', () => {
    const limiter = createRateLimiter();
    const headers = Array.from({ length: 4 }, () => judge(limiter, 4, start).headers);
    expect(headers.map((fields) => fields['RateLimit'])).toEqual([
      '"max_rate";r=3;t=1',
      '"max_rate";r=2;t=1',
      '"max_rate";r=1;t=1',
      '"max_rate";r=0;t=1',
    ]);
    expect(new Set(headers.map((fields) => fields['RateLimit-Policy']))).toEqual(
      new Set(['"max_rate";q=4;w=1']),
    );
    const refused = judge(limiter, 4, start);
    expect(refused).toMatchObject({
      isAdmitted: false,
      retryAfterSeconds: 1,
      headers: { RateLimit: '"max_rate";r=0;t=1' },
    });
  });

  // A sender that waits as long as it was told and is refused again loses its trust in Retry-After, and its data.
  it('admits who waited as long as it was told', () => {
    always(
      fc.property(
        fc.integer({ min: 1, max: 2000 }),
        fc.array(fc.nat(400), { maxLength: 40 }),
        (rate, gaps) => {
          const limiter = createRateLimiter();
          let at = start;
          for (const gap of gaps) {
            at += gap;
            for (let count = 0; count < 3; count++) {
              const verdict = judge(limiter, rate, at);
              expect(verdict.retryAfterSeconds).toBeGreaterThanOrEqual(1);
              expect(Number.isInteger(verdict.retryAfterSeconds)).toBe(true);
              if (verdict.isAdmitted) continue;
              at += verdict.retryAfterSeconds * 1000;
              expect(judge(limiter, rate, at).isAdmitted).toBe(true);
            }
          }
        },
      ),
    );
  });

  it('forgets sources of long ago, and none that still has to wait', () => {
    const limiter = createRateLimiter();
    const waiting = 99_999;
    for (let key = 0; key < waiting; key++) judge(limiter, 1, start, key);
    judge(limiter, 1, start + 2900, waiting);
    // One more than are remembered: now the others, which need not wait any more, are forgotten.
    judge(limiter, 1, start + 3000, waiting + 1);
    expect(judge(limiter, 1, start + 3000, waiting).isAdmitted).toBe(false);
    expect(judge(limiter, 1, start + 3000, 5).isAdmitted).toBe(true);
  });
});

describe('bytes in flight', () => {
  const create = (bytesMax: number) => {
    const seen: number[] = [];
    return { seen, room: createBytesInFlight(bytesMax, (held) => seen.push(held)) };
  };

  it('are refused above the limit, and taken again once room was given back', () => {
    const { room, seen } = create(100);
    expect([room.tryTake(60), room.tryTake(40), room.tryTake(1), room.held]).toEqual([
      true,
      true,
      false,
      100,
    ]);
    room.give(60);
    expect([room.tryTake(61), room.tryTake(60), room.held]).toEqual([false, true, 100]);
    expect(seen).toEqual([60, 100, 40, 100]);
  });

  // A limit below the largest body would otherwise refuse that body for ever, with an answer that says: try again.
  it('let one request in alone, however large it is', () => {
    const { room } = create(100);
    expect([room.tryTake(1000), room.tryTake(1), room.held]).toEqual([true, false, 1000]);
    room.give(1000);
    expect(room.tryTake(1)).toBe(true);
  });

  it('never pass the limit by more than one request', () => {
    always(
      fc.property(fc.array(fc.tuple(fc.nat(50), fc.boolean())), (steps) => {
        const { room } = create(100);
        const taken: number[] = [];
        for (const [bytes, isGiven] of steps) {
          if (isGiven) room.give(taken.pop() ?? 0);
          else if (room.tryTake(bytes)) taken.push(bytes);
          expect(room.held).toBe(taken.reduce((sum, each) => sum + each, 0));
          expect(room.held).toBeLessThanOrEqual(100);
        }
      }),
    );
  });
});
