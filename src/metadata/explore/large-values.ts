import { extremesSql, type PointQuery, scale } from './point-sql.ts';

// QuestDB adds up in doubles. A sum beyond the largest one is null there, and one that is a part of a larger sum, of a partition or of
// a thread, is left out of it: the answer would be a number, and wrong.

/** As many values of this size as a table can have rows add up to less than the largest double. */
const sizeMin = 1e290;

const isLarge = (value: unknown): boolean => typeof value === 'number' && Math.abs(value) >= sizeMin;

/** The query, which also asks scaled values where a sum of its values may be too large. */
export const withScaled = async (
  query: PointQuery,
  rows: (sql: string) => Promise<readonly unknown[][]>,
): Promise<PointQuery> => {
  if (query.aggregate !== 'avg' && query.aggregate !== 'sum') return query;
  const [extremes = []] = await rows(extremesSql(query));
  return { ...query, isScaled: extremes.some(isLarge) };
};

/** The value of a bucket: undefined where it is larger than a number can be, null where there is none. */
export const valueOfBucket = (
  { aggregate }: Pick<PointQuery, 'aggregate'>,
  plain: number | null,
  scaled: number | null,
): number | null | undefined => {
  if (scaled === null) return plain;
  const value = scaled / scale;
  if (plain !== null && !isLarge(plain) && !isLarge(value)) return plain;
  if (Number.isFinite(value)) return value;
  // A mean is never larger than its values: only its rounding can be.
  return aggregate === 'avg' ? Math.sign(value) * Number.MAX_VALUE : undefined;
};
