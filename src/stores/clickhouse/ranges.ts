/** Whole numbers from `first` to `last`, both included. */
export type Range = { readonly first: bigint; readonly last: bigint };

const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

/** The same numbers in ranges that neither overlap nor touch, ascending. */
const joinRanges = (ranges: readonly Range[]): Range[] => {
  const joined: Range[] = [];
  for (const range of ranges.toSorted((a, b) => ascending(a.first, b.first))) {
    const previous = joined.at(-1);
    if (previous === undefined || range.first > previous.last + 1n) joined.push(range);
    else if (range.last > previous.last) {
      joined[joined.length - 1] = { first: previous.first, last: range.last };
    }
  }
  return joined;
};

/** The same numbers in at most `max` ranges; when more would be needed, with the numbers of the narrowest gaps. */
export const coalesceRanges = (
  ranges: readonly (readonly [first: bigint | string | number, last: bigint | string | number])[],
  max: number,
): Range[] => {
  const joined = joinRanges(ranges.map(([first, last]) => ({ first: BigInt(first), last: BigInt(last) })));
  if (joined.length <= max) return joined;
  const gaps = joined
    .slice(1)
    .map((range, index) => ({ index: index + 1, width: range.first - (joined[index]?.last ?? 0n) }))
    .sort((a, b) => ascending(a.width, b.width));
  const closed = new Set(gaps.slice(0, joined.length - max).map(({ index }) => index));
  const coalesced: Range[] = [];
  for (const [index, range] of joined.entries()) {
    const previous = coalesced.at(-1);
    if (previous === undefined || !closed.has(index)) coalesced.push(range);
    else coalesced[coalesced.length - 1] = { first: previous.first, last: range.last };
  }
  return coalesced;
};

/** Whether both lists have a number in common. */
export const rangesOverlap = (some: readonly Range[], others: readonly Range[]): boolean =>
  some.some(({ first, last }) => others.some((other) => other.first <= last && other.last >= first));
