import { isShortEnough } from '../../stores/questdb/reader.ts';
import { queryTooLarge } from '../../stores/read-bounds.ts';
import { type Group, type PointQuery, seriesSql } from './point-sql.ts';

/** Each row of the answer repeats the values of its group: below the bytes that the reader takes of one. */
const answerBytesMax = 24 * 2 ** 20;

/**
 * The groups, in their order, whose values have room in the statement of their series and, in as many buckets, in its answer. Values of a
 * dimension may be so long that not all have. Permanent Fault `query_too_large` where none has.
 */
export const groupsThatFit = <G extends { readonly values: Group }>(
  query: PointQuery,
  groups: readonly G[],
  step: number,
  buckets: number,
): readonly G[] => {
  if (query.groupBy.length === 0) return groups;
  const rows = buckets * (query.layout === 'narrow' ? query.metrics.length : 1);
  const fitting: G[] = [];
  let bytes = 0;
  for (const group of groups) {
    const more = rows * Buffer.byteLength(JSON.stringify(group.values));
    const chosen = [...fitting, group].map(({ values }) => values);
    if (bytes + more > answerBytesMax || !isShortEnough(seriesSql(query, chosen, step))) continue;
    fitting.push(group);
    bytes += more;
  }
  if (groups.length > 0 && fitting.length === 0) throw queryTooLarge('the values of each group are too long');
  return fitting;
};
