import { isShortEnough } from '../../stores/questdb/reader.ts';
import { queryTooLarge } from '../../stores/read-bounds.ts';
import { type Group, type PointQuery, seriesSql } from './point-sql.ts';

/** Each row of the answer repeats the values of its group: below the bytes that the reader takes of one. */
const answerBytesMax = 24 * 2 ** 20;

/**
 * The first of these groups whose values have room in the statement of their series and, in as many buckets, in its answer. Values of a
 * dimension may be so long that not all have. Permanent Fault `query_too_large` where the first one has none.
 */
export const groupsThatFit = <G extends { readonly values: Group }>(
  query: PointQuery,
  groups: readonly G[],
  step: number,
  buckets: number,
): readonly G[] => {
  if (query.groupBy.length === 0) return groups;
  const rows = buckets * (query.layout === 'narrow' ? query.metrics.length : 1);
  let bytes = 0;
  for (const [index, { values }] of groups.entries()) {
    bytes += rows * Buffer.byteLength(JSON.stringify(values));
    const chosen = groups.slice(0, index + 1).map((group) => group.values);
    if (bytes <= answerBytesMax && isShortEnough(seriesSql(query, chosen, step))) continue;
    if (index === 0) throw queryTooLarge('the values of one group are too long');
    return groups.slice(0, index);
  }
  return groups;
};
