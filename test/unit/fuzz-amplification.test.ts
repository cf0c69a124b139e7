import { describe, expect, it } from 'vitest';
import { pointCost, runsMax as pushRunsMax, runBudget } from '../../src/ingress/push/cutting.ts';
import { runsMax } from '../../src/wire/otlp/trace-encoder.ts';
import { TooManySpans } from '../../src/wire/otlp/types.ts';
import { contextWith, encodeWithNames, sourceWith } from '../support/push-source.ts';
import { encodeJson, goodSpan } from '../support/trace-source.ts';

/** So many spans of one resource, two of which fill a message. */
const heavy = (spans: number) => ({
  resourceSpans: [
    {
      resource: {
        attributes: Array.from({ length: 8 }, (_, index) => ({
          key: `k${index}`,
          value: { stringValue: 'x'.repeat(60_000) },
        })),
      },
      scopeSpans: [{ spans: Array.from({ length: spans }, () => goodSpan) }],
    },
  ],
});

// A message repeats its resource: without a bound a body of 10 MB would be stored as more than 10 GB.
describe('a small body with a large resource', () => {
  it('is read up to so many messages', () => {
    expect(encodeJson(heavy(2 * runsMax)).runs).toHaveLength(runsMax);
  });

  it('is refused beyond', () => {
    expect(() => encodeJson(heavy(2 * runsMax + 1))).toThrow(TooManySpans);
  });
});

/** 300 rows in a split table, three of which fill a message, in 4 KB. */
const widePoint = {
  metrics: Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`m${index}`, index])),
  dimension: { text: 'x'.repeat(1000) },
};
const perRun = Math.floor(runBudget / pointCost(widePoint, true));
const encodePush = (points: number, layout: 'wide' | 'narrow') =>
  encodeWithNames(
    Array.from({ length: points }, () => widePoint),
    contextWith(sourceWith(layout)),
  );

// In a split table the row of each metric repeats the dimensions: 1.2 MB of points came to 134 MB of rows.
describe('points of many metrics with large dimensions', () => {
  it('are taken up to so many messages', () => {
    const encoded = encodePush(perRun * pushRunsMax, 'narrow');
    expect([encoded.isTooMuch, encoded.runs.length]).toEqual([false, pushRunsMax]);
    expect(encoded.accepted).toBe(perRun * pushRunsMax);
  });

  it('are too much beyond, and then no further point is encoded', () => {
    const encoded = encodePush(perRun * pushRunsMax * 10, 'narrow');
    expect([encoded.isTooMuch, encoded.runs.length]).toEqual([true, pushRunsMax]);
    expect(encoded.accepted).toBe(perRun * pushRunsMax);
  });

  it('are no more than they were in a wide table', () => {
    const encoded = encodePush(perRun * pushRunsMax * 10, 'wide');
    expect([encoded.isTooMuch, encoded.accepted]).toEqual([false, perRun * pushRunsMax * 10]);
  });
});
