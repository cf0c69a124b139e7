// Scales of charts: pure, so that their tests need no browser.

/** Maps numbers from one span to another in a straight line. */
export const linear =
  ([fromLow, fromHigh]: readonly [number, number], [toLow, toHigh]: readonly [number, number]) =>
  (value: number): number => {
    if (fromHigh === fromLow) return toLow;
    // The length of a span may be larger than a number can be: a quarter of it is not.
    const part = Number.isFinite(fromHigh - fromLow) ? 1 : 0.25;
    return toLow + ((value * part - fromLow * part) / (fromHigh * part - fromLow * part)) * (toHigh - toLow);
  };

/** The smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is not below the value; 1 for 0. Finite for every number. */
export const niceCeil = (value: number): number => {
  if (!(value > 0)) return 1;
  const power = Math.max(Number.MIN_VALUE, 10 ** Math.floor(Math.log10(value)));
  const factor = [1, 2, 2.5, 5, 10].find((each) => each * power >= value * (1 - 1e-9)) ?? 10;
  return Math.min(Number.MAX_VALUE, factor * power);
};

/**
 * Marks of an axis from 0, or from the first one that is not above `min`, up to the first one that is not below `max`. `whole`: no
 * fractions between 0 and 1.
 */
export const valueTicks = (max: number, { count = 4, whole = false, min = 0 } = {}): readonly number[] => {
  const step = Math.max(niceCeil(max / count - min / count), whole ? 1 : 0);
  const even = whole && step === 2.5 ? 3 : step;
  const below = Math.ceil(-min / even - 1e-9);
  const steps = Math.max(1, below + Math.ceil(max / even - 1e-9));
  const bounded = (tick: number): number => Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, tick));
  return Array.from({ length: steps + 1 }, (_, index) =>
    bounded(Number(((index - below) * even).toPrecision(12))),
  );
};

/** A part of a column in pixels from the base line up. */
export type Segment = { readonly key: string; readonly from: number; readonly to: number };

const leastPx = 2;

/**
 * The parts of a column of stacked bars. What is not 0 is at least 2 px high, so that a few drops among millions of stored items show;
 * the largest part gives that room.
 */
export const stackOf = (
  parts: readonly { readonly key: string; readonly value: number }[],
  max: number,
  heightPx: number,
): readonly Segment[] => {
  const shown = parts.filter(({ value }) => value > 0);
  const exact = shown.map(({ value }) => (max > 0 ? (value / max) * heightPx : 0));
  const heights = exact.map((height) => Math.max(leastPx, height));
  const excess = heights.reduce((sum, height, index) => sum + height - (exact[index] ?? 0), 0);
  const largest = heights.indexOf(Math.max(...heights));
  if (largest >= 0) heights[largest] = Math.max(leastPx, (heights[largest] ?? 0) - excess);
  let from = 0;
  return shown.map(({ key }, index) => {
    const segment = { key, from, to: from + (heights[index] ?? 0) };
    from = segment.to;
    return segment;
  });
};

/** Where a step of time is: `index` of `times` whose column has this place; inside the bounds. */
export const indexAt = (x: number, widthPx: number, count: number): number =>
  Math.min(count - 1, Math.max(0, Math.floor((x / widthPx) * count)));
