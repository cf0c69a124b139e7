import type { TraceLimits } from '../../wire/otlp/types.ts';

/** What a request of several applications may hold at most; each span is held to the limits of its own application. */
export const widestLimits = (limits: readonly TraceLimits[]): TraceLimits => {
  const most = (of: (each: TraceLimits) => number): number => Math.max(...limits.map(of));
  return {
    spansMax: most((each) => each.spansMax),
    attributesMax: most((each) => each.attributesMax),
    eventsMax: most((each) => each.eventsMax),
    linksMax: most((each) => each.linksMax),
    valueBytesMax: most((each) => each.valueBytesMax),
  };
};
