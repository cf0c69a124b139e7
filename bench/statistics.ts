/** The results of repeats of one measurement. */
export type Spread = { readonly min: number; readonly median: number; readonly max: number };

const ascending = (a: number, b: number): number => a - b;

/** The middle value, of an even number of them the mean of the two in the middle; NaN of none. */
export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted(ascending);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
};

/** Least, middle and greatest; NaN of none. */
export const spreadOf = (values: readonly number[]): Spread => {
  const sorted = values.toSorted(ascending);
  return {
    min: sorted[0] ?? Number.NaN,
    median: median(sorted),
    max: sorted.at(-1) ?? Number.NaN,
  };
};

/** The least value that a share of the values (0.99: of a hundred 99) does not pass; NaN of none. */
export const percentile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted(ascending);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
};

/** The slope of the straight line with the least squares through the points; 0 where there is none. */
export const slopeOf = (points: readonly (readonly [x: number, y: number])[]): number => {
  const count = points.length;
  if (count < 2) return 0;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count;
  const varianceX = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  if (varianceX === 0) return 0;
  return points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / varianceX;
};

/** How much larger `to` is than `from`, in percent. */
export const changePercent = (from: number, to: number): number => ((to - from) / from) * 100;

/** A number with this many significant digits, as a number. */
export const rounded = (value: number, digits = 3): number => Number(value.toPrecision(digits));

/** Student's t for 95 % of both sides, by degrees of freedom from 1 on. */
const t95 = [
  12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093,
];

/** The mean, and half of its 95 % interval; NaN for that of fewer than two values. */
export const intervalOf = (values: readonly number[]): { readonly mean: number; readonly half: number } => {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  if (count < 2) return { mean, half: Number.NaN };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  return { mean, half: (t95[count - 2] ?? 1.96) * Math.sqrt(variance / count) };
};
