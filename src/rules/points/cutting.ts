/**
 * The cutting rule (architecture 5.5): a request is cut into messages from the request alone, so that a retry is cut alike
 * even if settings changed in between. Sizes are lengths of decoded values; how they are encoded plays no part.
 */

/** Named in message ids: a change of this rule changes them. */
export const cuttingRuleVersion = 1;

/** What the points of one message may cost together. */
export const runBudget = 2 * 2 ** 20;

/**
 * Messages that one request may be cut into. In a narrow table each metric's row repeats target and dimensions, so that a small
 * body with large dimensions would otherwise come to hundreds of megabytes. 300,000 rows with 80 bytes of both are fewer.
 */
export const runsMax = 64;

const rowOverhead = 256;
/** What numbers, booleans and nulls count as. */
const scalarSize = 8;
const depthMax = 64;

const sizeOf = (value: unknown, depth = 0): number => {
  if (typeof value === 'string') return value.length;
  if (value === undefined) return 0;
  if (typeof value !== 'object' || value === null) return scalarSize;
  // Deeper values are refused by the rules; counting them would only let a sender pick the recursion's depth.
  if (depth > depthMax) return scalarSize;
  let size = 0;
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item, depth + 1);
  else for (const [key, item] of Object.entries(value)) size += key.length + sizeOf(item, depth + 1);
  return size;
};

const field = (point: unknown, name: string): unknown =>
  typeof point === 'object' && point !== null ? Reflect.get(point, name) : undefined;

/**
 * Cost of a point from the lengths of its values: 256 + 2 × size a row; in a narrow table each metric's row repeats target,
 * dimensions and time.
 */
export const costOf = (rows: number, repeatedSize: number, metricsSize: number): number =>
  rows * (rowOverhead + 2 * repeatedSize) + 2 * metricsSize;

/** The same of a point as an object. */
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
