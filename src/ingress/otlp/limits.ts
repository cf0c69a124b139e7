import type { TraceLimits } from '../../wire/otlp/types.ts';

/** The widest limits of the applications of one request; each span must meet the limits of its own application. */
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
