import { endOf, type Row } from './tree.ts';

/** Times of a row in which nothing else explains why the trace was not over yet: nanoseconds from its start. */
export type Segments = ReadonlyMap<number, readonly (readonly [from: number, to: number])[]>;

const childrenOf = (rows: readonly Row[], row: number): number[] => {
  const children: number[] = [];
  const after = row + (rows[row]?.size ?? 1);
  for (let at = row + 1; at < after; at += rows[at]?.size ?? 1) children.push(at);
  return children;
};

const mainRoot = (rows: readonly Row[]): number => {
  let longest = -1;
  for (const [at, { parent, span }] of rows.entries())
    if (parent < 0 && span.duration_ns > (rows[longest]?.span.duration_ns ?? -1)) longest = at;
  return longest;
};

/**
 * The critical path of the longest root: from its end back, the child that ended last before the place is on it, and its parent where
 * no child ran. What a child does after its parent has ended does not count.
 */
export const criticalPath = (rows: readonly Row[]): Segments => {
  const segments = new Map<number, [number, number][]>();
  const root = mainRoot(rows);
  const first = rows[root];
  const waiting = first === undefined ? [] : [{ row: root, until: endOf(first.span) }];
  const add = (row: number, from: number, to: number): void => {
    if (to <= from) return;
    const own = segments.get(row) ?? [];
    own.push([from, to]);
    segments.set(row, own);
  };
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { row, until } = next;
    const start = rows[row]?.span.offset_ns ?? until;
    const ended = childrenOf(rows, row)
      .flatMap((child) => {
        const span = rows[child]?.span;
        return span === undefined ? [] : [{ child, from: span.offset_ns, to: Math.min(endOf(span), until) }];
      })
      .toSorted((left, right) => right.to - left.to);
    let at = until;
    for (const { child, from, to } of ended) {
      if (to > at || to <= Math.max(from, start)) continue;
      add(row, to, at);
      waiting.push({ row: child, until: to });
      at = Math.max(from, start);
    }
    add(row, start, at);
  }
  return segments;
};
