import * as data from './data.ts';

// Data points whose answers are known: a minute apart, with a reset of the cumulative ones after the tenth.

export const metricMinutes = 20;
const resetAt = 10;

const secondsOf = (minute: number): number => data.baseMs / 1_000 + 60 * minute;
const minutesOf = Array.from({ length: metricMinutes }, (_, minute) => minute);

/** Minutes since the start that the producer of this minute has counted. */
const countedOf = (minute: number): number => (minute < resetAt ? minute + 1 : minute - resetAt + 0.5);
const startOf = (minute: number): number => secondsOf(minute < resetAt ? -1 : resetAt - 0.5);

const ofMinute = (minute: number, service: string, metric: string, uid: number) => ({
  ServiceName: service,
  MetricName: metric,
  TimeUnix: String(secondsOf(minute)),
  uid: String(uid + minute),
  AppId: 1,
});

const cumulative = (minute: number) => ({
  AggregationTemporality: 2,
  StartTimeUnix: String(startOf(minute)),
});
const delta = (minute: number) => ({
  AggregationTemporality: 1,
  StartTimeUnix: String(secondsOf(minute - 1)),
});

const threads = ['a', 'b'].map((host, index) => ({
  ...ofMinute(metricMinutes - 1, 'gateway', 'process.threads', 100 * index),
  ...{ Attributes: { host }, Value: 7 + index, ValueInt: 7 + index, HasValue: true },
}));

const requests = minutesOf.flatMap((minute) => [
  {
    ...{ ...ofMinute(minute, 'gateway', 'http.requests', 200), ...cumulative(minute), IsMonotonic: true },
    ...{ Attributes: { 'http.route': '/cart' }, Value: 60 * countedOf(minute), HasValue: true },
  },
  {
    ...{ ...ofMinute(minute, 'cart', 'http.requests', 300), ...delta(minute), IsMonotonic: true },
    ...{ Value: 30, HasValue: true },
  },
]);

const durations = minutesOf.map((minute) => {
  const counted = 2 * countedOf(minute);
  return {
    ...{ ...ofMinute(minute, 'gateway', 'http.duration', 400), ...cumulative(minute) },
    ...{ Attributes: { 'http.route': '/cart' }, Count: 10 * counted, Sum: 100 * counted, HasSum: true },
    ...{ ExplicitBounds: [10, 20, 50], BucketCounts: [5 * counted, 4 * counted, counted, 0] },
  };
});

const sizes = minutesOf.map((minute) => ({
  ...{ ...ofMinute(minute, 'cart', 'http.size', 500), ...delta(minute), Count: 4, Sum: 20, HasSum: true },
  ...{ Scale: 0, PositiveOffset: 1, PositiveBucketCounts: [1, 3] },
}));

/** Rows by the kind of their table. */
export const metricRows: Readonly<Record<string, readonly object[]>> = {
  gauge: threads,
  sum: requests,
  histogram: durations,
  exponential_histogram: sizes,
};

/** What the requests grew by in each minute. */
export const increaseOf = (service: string, minute: number): number =>
  service === 'cart' ? 30 : minute === resetAt ? 30 : 60;
export const isResetAt = (service: string, minute: number): boolean =>
  service === 'gateway' && minute === resetAt;
export const metricMinuteMs = (minute: number): number => 1_000 * secondsOf(minute);
