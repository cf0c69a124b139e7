import { expect, test, vi } from 'vitest';
import { columnBodies, pushBodies } from '../../../bench/bodies.ts';
import { inTurnOfNow, spanIdPlaces } from '../../../bench/load.ts';
import { numberedPush, numberedSpans } from '../../../bench/peers/numbered.ts';

// What a kill lost is counted by these numbers: a body whose items did not carry theirs would count as lost, or hide a loss.
test('every point of a numbered push carries the number of its request and place', () => {
  const body = numberedPush(3, 1_500_001, 'token');
  const values = (number: number): unknown =>
    JSON.parse(body(number).toString()).data.map(
      ({ metrics }: { metrics: { memory_usage: number } }) => metrics.memory_usage,
    );
  expect(values(0)).toEqual([0, 1, 2]);
  expect(values(7)).toEqual([21, 22, 23]);
});

test.each(['json', 'protobuf'] as const)(
  'every span of a numbered request in %s has its own id',
  (encoding) => {
    const body = numberedSpans(encoding, 4)(5);
    const ids = spanIdPlaces(body, encoding).map(({ at, length }) =>
      length === 16 ? body.toString('latin1', at, at + length) : body.toString('hex', at, at + length),
    );
    expect(ids.map((id) => Number.parseInt(id, 16))).toEqual([21, 22, 23, 24]);
  },
);

test('bodies for a table of many columns bring every column, two of them a point', () => {
  const seen = new Set<string>();
  for (const body of columnBodies(2, 500, 1_500_001, 'token', 0)) {
    for (const { metrics } of JSON.parse(body.toString()).data) {
      expect(Object.keys(metrics)).toHaveLength(2);
      for (const name of Object.keys(metrics)) seen.add(name);
    }
  }
  expect(seen.size).toBe(500);
});

test('times of pushes stay within the five seconds before they are sent', () => {
  vi.useFakeTimers({ now: 1_799_999_999_000 });
  try {
    const next = inTurnOfNow((nowMs) => pushBodies(2, 20, 1_500_001, 'token', nowMs));
    const agesOf = (body: Uint8Array): number[] =>
      JSON.parse(Buffer.from(body).toString()).data.map(
        ({ timestamp }: { timestamp: number }) => Date.now() - timestamp,
      );
    const first = agesOf(next());
    const second = agesOf(next());
    // Carries through all digits.
    vi.advanceTimersByTime(87_654_321);
    expect(agesOf(next())).toEqual(first);
    expect(agesOf(next())).toEqual(second);
    expect(Math.max(...first, ...second)).toBeLessThan(5_000);
    expect(Math.min(...first, ...second)).toBeGreaterThanOrEqual(0);
  } finally {
    vi.useRealTimers();
  }
});
