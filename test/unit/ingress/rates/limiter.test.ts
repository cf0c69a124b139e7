import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRateLimiter, effectiveRate, type RateVerdict } from '../../../../src/ingress/rates/limiter.ts';
import { createRateShares } from '../../../../src/ingress/rates/shares.ts';
import { always } from '../../../support/properties.ts';

const start = Date.UTC(2026, 5, 1, 12, 0, 0, 137);

const judge = (
  limiter: ReturnType<typeof createRateLimiter>,
  rate: number,
  atMs: number,
  key = 1,
): RateVerdict => {
  const verdict = limiter.admit(`d:${key}`, rate, atMs);
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
    'of %d admits that many a second, and a burst of half a second at first',
    (rate) => {
      for (const offered of [rate * 3, 2000]) {
        const limiter = createRateLimiter();
        const admitted = arrivals(offered).filter((at) => judge(limiter, rate, at).isAdmitted).length;
        expect(admitted).toBeGreaterThanOrEqual(10 * rate - 1);
        expect(admitted).toBeLessThanOrEqual(Math.ceil(10.5 * rate + 0.25));
      }
    },
  );

  it.each([1, 2, 3, 7, 10, 60, 333, 1000])('of %d refuses no sender within it', (rate) => {
    const limiter = createRateLimiter();
    expect(arrivals(rate).filter((at) => !judge(limiter, rate, at).isAdmitted)).toEqual([]);
  });

  it.each([1, 2, 3, 6, 7, 9, 10, 11, 30, 60, 70, 333, 700, 1000])(
    'of %d admits the requests of half a second, or one, at one instant',
    (rate) => {
      for (let offset = 0; offset < 50; offset++) {
        const limiter = createRateLimiter();
        const at = start + 7919 * offset;
        const verdicts = Array.from({ length: rate + 3 }, () => judge(limiter, rate, at).isAdmitted);
        expect(verdicts.filter(Boolean).length).toBe(Math.max(1, Math.floor(rate / 2)));
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

  it('of 0 is no limit, and has no RateLimit headers', () => {
    const limiter = createRateLimiter();
    for (let count = 0; count < 5000; count++) expect(limiter.admit('d:1', 0, start)).toBeUndefined();
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

  it('reports the remaining requests and the time to wait', () => {
    const limiter = createRateLimiter();
    const headers = Array.from({ length: 4 }, () => judge(limiter, 8, start).headers);
    expect(headers.map((fields) => fields['RateLimit'])).toEqual([
      '"max_rate";r=3;t=1',
      '"max_rate";r=2;t=1',
      '"max_rate";r=1;t=1',
      '"max_rate";r=0;t=1',
    ]);
    expect(new Set(headers.map((fields) => fields['RateLimit-Policy']))).toEqual(
      new Set(['"max_rate";q=8;w=1']),
    );
    const refused = judge(limiter, 8, start);
    expect(refused).toMatchObject({
      isAdmitted: false,
      retryAfterSeconds: 1,
      headers: { RateLimit: '"max_rate";r=0;t=1' },
    });
  });

  // A sender that waits for Retry-After and is refused again loses its trust in it, and its data.
  it('admits a sender that has waited for the given time', () => {
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

  // A limit that was lowered must not make a sender wait for what it was allowed before, and a raised one must not be late.
  it.each([
    [1000, 1],
    [1, 1000],
  ])('that changes from %d to %d holds with the next request', (before, after) => {
    const limiter = createRateLimiter();
    for (const at of arrivals(2 * before).slice(0, 4 * before)) judge(limiter, before, at);
    const later = arrivals(2 * after).map((at) => at + 2000);
    const admitted = later.filter((at) => judge(limiter, after, at).isAdmitted).length;
    expect(Math.abs(admitted - 10 * after)).toBeLessThanOrEqual(Math.max(1, after));
  });

  it('is measured by who comes, admitted or not, and forgotten ten seconds after the last request', () => {
    const limiter = createRateLimiter();
    limiter.takeDemand(start, true);
    for (const at of arrivals(50).slice(0, 50)) judge(limiter, 10, at);
    limiter.admit('d:2', 0, start);
    judge(limiter, -2, start, 3);
    expect(limiter.takeDemand(start + 1000, true)).toEqual({ rest: 0, demand: { 'd:1': 50_000 } });
    expect(limiter.takeDemand(start + 2000, true).demand).toEqual({ 'd:1': 50_000 });
    expect(limiter.takeDemand(start + 4980, true).demand).toEqual({ 'd:1': 250 });
    expect(limiter.takeDemand(start + 10_980, true).demand).toEqual({ 'd:1': 100 });
    expect(limiter.takeDemand(start + 10_981, true).demand).toEqual({});
  });

  // The bus would refuse a report of unlimited size, and then no process would share at all.
  it('is reported for the thousand busiest keys, and for all others as the most of any of them', () => {
    const limiter = createRateLimiter();
    limiter.takeDemand(start, true);
    for (let key = 0; key < 1005; key++) {
      for (let count = key < 1000 ? 3 : 2; count > 0; count--) judge(limiter, 1, start, key);
    }
    const { rest, demand } = limiter.takeDemand(start + 1000, true);
    expect(rest).toBe(2000);
    expect(Object.values(demand)).toEqual(Array.from({ length: 1000 }, () => 3000));
  });
});

/** How many of the steady requests processes admit that all know one another, one request at each in turn. */
const admittedBy = (processes: number, rate: number, perSecond: number, seconds: number): number => {
  const all = Array.from({ length: processes }, (_, index) => {
    const shares = createRateShares(`p${index}`);
    return { name: `p${index}`, shares, limiter: createRateLimiter(shares) };
  });
  const exchange = (tick: number, nowMs: number): void => {
    const reports = all.map(({ name, limiter }) => ({ name, ...limiter.takeDemand(nowMs, true) }));
    for (const { shares } of all)
      for (const { name, ...report } of reports) shares.apply(name, { tick, ...report });
  };
  let admitted = 0;
  let tick = 0;
  for (let count = 0; count < seconds * perSecond; count++) {
    const atMs = start + (count * 1000) / perSecond;
    while (start + tick * 1000 <= atMs) exchange(tick, start + tick++ * 1000);
    const limiter = all[count % processes]?.limiter;
    if (limiter?.admit('d:1', rate, atMs)?.isAdmitted) admitted++;
  }
  return admitted;
};

describe('max_rate over several receivers', () => {
  // Each receiver that had no request for ten seconds forgot what it had admitted: thirty of them admitted twice the limit.
  it.each([
    [64, 1, 5],
    [30, 1, 2.9],
    [10, 10, 40],
    [3, 1, 0.29],
  ])(
    '%d receivers with a limit of %d, and %d a second: no more, after one request at each',
    (processes, rate, offered) => {
      const seconds = 60;
      const admitted = admittedBy(processes, rate, offered, seconds);
      const wanted = seconds * Math.min(rate, offered);
      expect(admitted).toBeLessThanOrEqual(wanted + Math.max(processes, rate / 2));
      expect(admitted).toBeGreaterThanOrEqual(0.9 * wanted);
    },
  );
});
