import type { ItemLimits } from '../../wire/otlp/types.ts';

/** The widest limits of the applications of one request; each item must meet the limits of its own application. */
export const widestLimits = (limits: readonly ItemLimits[]): ItemLimits => {
  const most = (of: (each: ItemLimits) => number): number => Math.max(...limits.map(of));
  return {
    itemsMax: most((each) => each.itemsMax),
    attributesMax: most((each) => each.attributesMax),
    eventsMax: most((each) => each.eventsMax),
    linksMax: most((each) => each.linksMax),
    valueBytesMax: most((each) => each.valueBytesMax),
    bucketsMax: most((each) => each.bucketsMax ?? 0),
    exemplarsMax: most((each) => each.exemplarsMax ?? 0),
  };
};
