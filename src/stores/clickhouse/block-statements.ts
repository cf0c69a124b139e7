import { database } from './client.ts';
import type { ItemTable } from './item-tables.ts';
import { coalesceRanges } from './ranges.ts';

/** First and last uid of consecutive ordinals of one request, in decimal or as numbers. */
export type UidRange = readonly [first: bigint | string, last: bigint | string];

/** The bounds that the rows of a batch share with those that an earlier attempt may have stored. */
export type BatchBounds = {
  /** Every uid of the batch lies in one of these. */
  readonly uidRanges: readonly UidRange[];
  /** Least and greatest time of a row, nanoseconds since the epoch. */
  readonly timeMin: bigint;
  readonly timeMax: bigint;
  /**
   * Every combination of the key columns' texts in the batch, exactly as stored, repeats allowed; empty = unknown: the
   * guard reads more rows.
   */
  readonly names: readonly (readonly string[])[];
};

/** The statements that write a table and look for what is stored of a batch. */
export type BlockStatements = {
  /** Inserts the body as FORMAT Native. */
  readonly plainInsert: string;
  /** Inserts each row of the body (FORMAT Native) once that is not stored yet. */
  guardedInsert(bounds: BatchBounds): string;
  /** The number of rows of these bounds that are stored more than once. */
  repeatsQuery(bounds: BatchBounds): string;
};

/** A text literal. */
export const quoteText = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\u0000', '\\0')}'`;

/** A statement travels in the URL (1 MiB at most, percent-encoded) and each range adds cost for every row that is read. */
const rangesMax = 128;
const nameBytesMax = 64 * 1024;

const tupleOf = ([only = '', ...more]: readonly string[], separator: string): string =>
  more.length === 0 ? only : `(${[only, ...more].join(separator)})`;

/** Undefined without names, or with too many for a statement. */
const namesCondition = (columns: readonly string[], names: BatchBounds['names']): string | undefined => {
  if (names.length === 0) return undefined;
  const keys = new Set<string>();
  let bytes = 0;
  for (const texts of names) {
    const key = tupleOf(texts.map(quoteText), ',');
    if (keys.has(key)) continue;
    keys.add(key);
    bytes += Buffer.byteLength(key) + 1;
    if (bytes > nameBytesMax) return undefined;
  }
  return `${tupleOf(columns, ', ')} IN (${[...keys].join(',')})`;
};

const nanosPerSecond = 1_000_000_000n;

/** The possible place of an earlier attempt's rows: by uid, and by the sort and partition keys of the table. */
const storedCondition = (
  { keys, time, seconds }: ItemTable,
  { uidRanges, timeMin, timeMax, names }: BatchBounds,
): string => {
  // More uids only make the guard read more rows, never insert fewer: uids are unique.
  const uids = coalesceRanges(uidRanges, rangesMax)
    .map(({ first, last }) => `uid BETWEEN ${first} AND ${last}`)
    .join(' OR ');
  const conditions = [
    `(${uids})`,
    `${time} BETWEEN fromUnixTimestamp64Nano(${timeMin}) AND fromUnixTimestamp64Nano(${timeMax})`,
  ];
  if (seconds !== undefined)
    conditions.push(
      `${seconds} BETWEEN toDateTime(${timeMin / nanosPerSecond}) AND toDateTime(${timeMax / nanosPerSecond})`,
    );
  const byName = namesCondition(keys.names, names);
  if (byName !== undefined) conditions.push(byName);
  return conditions.join(' AND ');
};

export const blockStatements = (table: ItemTable): BlockStatements => {
  const name = `${database}.${table.name}`;
  const columns = table.columns.map((column) => `\`${column.name}\``).join(', ');
  const structure = table.columns.map((column) => `\`${column.name}\` ${column.type}`).join(', ');
  return {
    plainInsert: `INSERT INTO ${name} (${columns}) FORMAT Native`,
    guardedInsert: (bounds) =>
      `INSERT INTO ${name} (${columns}) SELECT ${columns} FROM input('${structure}') ` +
      `WHERE uid NOT IN (SELECT uid FROM ${name} WHERE ${storedCondition(table, bounds)}) ` +
      'LIMIT 1 BY uid FORMAT Native',
    repeatsQuery: (bounds) =>
      `SELECT count() - uniqExact(uid) AS repeats FROM ${name} WHERE ${storedCondition(table, bounds)}`,
  };
};
