import type { Counter } from 'prom-client';

type LabelValues = Readonly<Record<string, readonly string[]>>;

/** Every combination of one value of each label. */
const combinations = (labels: LabelValues): Record<string, string>[] =>
  Object.entries(labels).reduce<Record<string, string>[]>(
    (all, [label, values]) => all.flatMap((known) => values.map((value) => ({ ...known, [label]: value }))),
    [{}],
  );

/**
 * Starts a counter at 0 for every combination of these values. A series that appears with its first event has no value before it,
 * so that `increase` of Prometheus misses that event, which is often the only one.
 */
export const startAtZero = (counter: Counter<string>, labels: LabelValues): void => {
  for (const each of combinations(labels)) counter.inc(each, 0);
};
