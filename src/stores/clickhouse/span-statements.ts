import { spanColumns } from '../../wire/native/span-columns.ts';
import { database } from './client.ts';

/** First and last uid of consecutive ordinals of one request, in decimal or as numbers. */
export type UidRange = readonly [first: bigint | string, last: bigint | string];

/** What the rows of a batch have in common with those that an earlier attempt may have stored. */
export type BatchBounds = {
  /** Every uid of the batch lies in one of these. */
  readonly uidRanges: readonly UidRange[];
  /** Least and greatest Timestamp, nanoseconds since the epoch. */
  readonly timeMin: bigint;
  readonly timeMax: bigint;
  /** Every pair of ServiceName and SpanName in the batch, exactly as stored; none = not known, and more is looked at. */
  readonly names: readonly (readonly [service: string, span: string])[];
};

const columnList = spanColumns.map(({ name }) => `\`${name}\``).join(', ');
const structure = spanColumns.map(({ name, type }) => `\`${name}\` ${type}`).join(', ');

/** A text literal. */
export const quoteText = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\u0000', '\\0')}'`;

/** A statement travels in the URL (1 MiB at most, percent-encoded) and each range costs every row that is looked at. */
const rangesMax = 128;
const nameBytesMax = 64 * 1024;

type Range = { first: bigint; last: bigint };

/**
 * The same uids, and perhaps more, in at most `max` ranges: the narrowest gaps are closed. More uids only make the guard look at
 * more rows, never insert fewer: uids are unique.
 */
export const coalesceRanges = (ranges: readonly UidRange[], max: number): Range[] => {
  const sorted = ranges
    .map(([first, last]): Range => ({ first: BigInt(first), last: BigInt(last) }))
    .sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const merged: Range[] = [];
  for (const range of sorted) {
    const previous = merged.at(-1);
    if (previous === undefined || range.first > previous.last + 1n) merged.push({ ...range });
    else if (range.last > previous.last) previous.last = range.last;
  }
  if (merged.length <= max) return merged;
  const gaps = merged
    .slice(1)
    .map((range, index) => ({ index: index + 1, width: range.first - (merged[index]?.last ?? 0n) }))
    .sort((a, b) => (a.width < b.width ? -1 : a.width > b.width ? 1 : a.index - b.index));
  const closed = new Set(gaps.slice(0, merged.length - max).map(({ index }) => index));
  const coalesced: Range[] = [];
  for (const [index, range] of merged.entries()) {
    const previous = coalesced.at(-1);
    if (previous !== undefined && closed.has(index)) previous.last = range.last;
    else coalesced.push(range);
  }
  return coalesced;
};

/** Undefined when there are none, or too many for a statement. */
const namesCondition = (names: BatchBounds['names']): string | undefined => {
  if (names.length === 0) return undefined;
  const distinct = new Set<string>();
  let bytes = 0;
  for (const [service, span] of names) {
    const pair = `(${quoteText(service)},${quoteText(span)})`;
    if (distinct.has(pair)) continue;
    distinct.add(pair);
    bytes += Buffer.byteLength(pair) + 1;
    if (bytes > nameBytesMax) return undefined;
  }
  return `(ServiceName, SpanName) IN (${[...distinct].join(',')})`;
};

/** Where an earlier attempt's rows would be: by uid, and by what the table is sorted and partitioned by. */
const storedCondition = ({ uidRanges, timeMin, timeMax, names }: BatchBounds): string => {
  const uids = coalesceRanges(uidRanges, rangesMax)
    .map(({ first, last }) => `uid BETWEEN ${first} AND ${last}`)
    .join(' OR ');
  const conditions = [
    `(${uids})`,
    `Timestamp BETWEEN fromUnixTimestamp64Nano(${timeMin}) AND fromUnixTimestamp64Nano(${timeMax})`,
  ];
  const byName = namesCondition(names);
  if (byName !== undefined) conditions.push(byName);
  return conditions.join(' AND ');
};

/** Inserts what follows as FORMAT Native. */
export const plainInsert = `INSERT INTO ${database}.otel_traces (${columnList}) FORMAT Native`;

/** Inserts of what follows as FORMAT Native the rows that are not stored yet. */
export const guardedInsert = (bounds: BatchBounds): string =>
  `INSERT INTO ${database}.otel_traces (${columnList}) SELECT ${columnList} FROM input('${structure}') ` +
  `WHERE uid NOT IN (SELECT uid FROM ${database}.otel_traces WHERE ${storedCondition(bounds)}) FORMAT Native`;

/** How many rows of these bounds are stored more than once. */
export const repeatsQuery = (bounds: BatchBounds): string =>
  `SELECT count() - uniqExact(uid) AS repeats FROM ${database}.otel_traces WHERE ${storedCondition(bounds)}`;
