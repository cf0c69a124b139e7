import { spanColumns } from '../../wire/native/span-columns.ts';
import { database } from './client.ts';
import { coalesceRanges } from './ranges.ts';

/** First and last uid of consecutive ordinals of one request, in decimal or as numbers. */
export type UidRange = readonly [first: bigint | string, last: bigint | string];

/** The bounds that the rows of a batch share with those that an earlier attempt may have stored. */
export type BatchBounds = {
  /** Every uid of the batch lies in one of these. */
  readonly uidRanges: readonly UidRange[];
  /** Least and greatest Timestamp, nanoseconds since the epoch. */
  readonly timeMin: bigint;
  readonly timeMax: bigint;
  /**
   * Every pair of ServiceName and SpanName in the batch, exactly as stored, repeats allowed; empty = unknown: the guard reads more
   * rows.
   */
  readonly names: readonly (readonly [service: string, span: string])[];
};

const columnList = spanColumns.map(({ name }) => `\`${name}\``).join(', ');
const structure = spanColumns.map(({ name, type }) => `\`${name}\` ${type}`).join(', ');

/** A text literal. */
export const quoteText = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\u0000', '\\0')}'`;

/** A statement travels in the URL (1 MiB at most, percent-encoded) and each range adds cost for every row that is read. */
const rangesMax = 128;
const nameBytesMax = 64 * 1024;

/** Undefined without names, or with too many for a statement. */
const namesCondition = (names: BatchBounds['names']): string | undefined => {
  if (names.length === 0) return undefined;
  const seen = new Map<string, Set<string>>();
  const pairs: string[] = [];
  let bytes = 0;
  for (const [service, span] of names) {
    const spans = seen.get(service) ?? new Set();
    if (spans.has(span)) continue;
    seen.set(service, spans.add(span));
    const pair = `(${quoteText(service)},${quoteText(span)})`;
    bytes += Buffer.byteLength(pair) + 1;
    if (bytes > nameBytesMax) return undefined;
    pairs.push(pair);
  }
  return `(ServiceName, SpanName) IN (${pairs.join(',')})`;
};

/** The possible place of an earlier attempt's rows: by uid, and by the sort and partition keys of the table. */
const storedCondition = ({ uidRanges, timeMin, timeMax, names }: BatchBounds): string => {
  // More uids only make the guard read more rows, never insert fewer: uids are unique.
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

/** Inserts the body as FORMAT Native. */
export const plainInsert = `INSERT INTO ${database}.otel_traces (${columnList}) FORMAT Native`;

/** Inserts each row of the body (FORMAT Native) once that is not stored yet. */
export const guardedInsert = (bounds: BatchBounds): string =>
  `INSERT INTO ${database}.otel_traces (${columnList}) SELECT ${columnList} FROM input('${structure}') ` +
  `WHERE uid NOT IN (SELECT uid FROM ${database}.otel_traces WHERE ${storedCondition(bounds)}) ` +
  'LIMIT 1 BY uid FORMAT Native';

/** The number of rows of these bounds that are stored more than once. */
export const repeatsQuery = (bounds: BatchBounds): string =>
  `SELECT count() - uniqExact(uid) AS repeats FROM ${database}.otel_traces WHERE ${storedCondition(bounds)}`;
