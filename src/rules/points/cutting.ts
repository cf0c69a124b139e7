/**
 * The cutting rule (architecture 5.3): the cut of a request into messages depends on the request alone, so that a retry is cut the
 * same way even if settings changed in between. Sizes are lengths of decoded values, regardless of their encoding.
 */

/** Named in message ids: a change of this rule changes them. */
export const cuttingRuleVersion = 1;

/** The largest cost of the points of one message together. */
export const runBudget = 2 * 2 ** 20;

/**
 * Messages that one request may be cut into. In a narrow table each metric's row repeats target and dimensions, so that a small
 * body with large dimensions would otherwise become hundreds of megabytes. 300,000 rows with 80 bytes of both are fewer.
 */
export const runsMax = 64;

const rowOverhead = 256;
/** The size of a number, a boolean or a null. */
const scalarSize = 8;
const depthMax = 64;

const field = (point: unknown, name: string): unknown =>
  typeof point === 'object' && point !== null ? Reflect.get(point, name) : undefined;

const sizeOf = (value: unknown, depth = 0): number => {
  if (typeof value === 'string') return value.length;
  if (value === undefined) return 0;
  if (typeof value !== 'object' || value === null) return scalarSize;
  // The rules refuse deeper values; counting them would only let a sender choose the depth of the recursion.
  if (depth > depthMax) return scalarSize;
  let size = 0;
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item, depth + 1);
  // Without a list of its members: points that are not plain are counted so.
  else for (const key in value) size += key.length + sizeOf(field(value, key), depth + 1);
  return size;
};

/**
 * Cost of a point from the lengths of its values: 256 + 2 × size per row; in a narrow table each metric's row repeats target,
 * dimensions and time.
 */
export const costOf = (rows: number, repeatedSize: number, metricsSize: number): number =>
  rows * (rowOverhead + 2 * repeatedSize) + 2 * metricsSize;

/** The same for a point as an object. */
export const pointCost = (point: unknown, isNarrow: boolean): number => {
  if (typeof point !== 'object' || point === null) return rowOverhead + 2 * sizeOf(point);
  const metrics = field(point, 'metrics');
  const repeated =
    sizeOf(field(point, 'target')) +
    sizeOf(field(point, 'dimension') ?? field(point, 'dimensions')) +
    sizeOf(field(point, 'timestamp'));
  const rows =
    isNarrow && typeof metrics === 'object' && metrics !== null
      ? Math.max(1, Object.keys(metrics).length)
      : 1;
  return costOf(rows, repeated, sizeOf(metrics));
};
