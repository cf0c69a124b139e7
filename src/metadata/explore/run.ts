import { z } from 'zod';
import { inlined } from '../../stores/clickhouse/literals.ts';
import type { ClickhouseReader } from '../../stores/clickhouse/reader.ts';
import { fieldFault } from '../problem.ts';
import type { NextBounds } from './gate.ts';
import type { Period } from './period.ts';
import { type Applications, nanosOf, type Statement } from './statement.ts';

// Columns of rows, as ClickHouse answers them.
export const big = z.string().transform(BigInt);
export const count = z.coerce.number();
export const text = z.string();
export const texts = z.array(text);

/** Where the queries go. */
export type ItemSource = {
  readonly reader: ClickhouseReader;
  readonly now: () => number;
  /** Applications that Tidemark made for itself. */
  readonly systemApps: () => ReadonlySet<number>;
};

/** What a query reads: the application it names, or all but those that Tidemark made for itself. */
export const applicationsOf = ({ systemApps }: ItemSource, appId: number | undefined): Applications =>
  appId === undefined ? { without: [...systemApps()] } : { only: appId };

/** The queries of one call, in their order, with their values in them. */
export const startRun = (reader: ClickhouseReader, bounds: NextBounds) => {
  const begun = performance.now();
  const sql: string[] = [];
  let rowsRead = 0;
  return {
    rows: async <T>(schema: z.ZodType<T>, { sql: query, params }: Statement): Promise<T[]> => {
      sql.push(inlined(query, params));
      const answer = await reader.read(schema, query, params, bounds());
      rowsRead += answer.rowsRead;
      return answer.rows;
    },
    /** What every answer says about its queries. */
    about: () => ({ sql, elapsed_ms: Math.round(performance.now() - begun), rows_read: rowsRead }),
  };
};

export type Run = ReturnType<typeof startRun>;

/** Throws a permanent Fault `invalid_value` for a text that no row can have. */
const requireWellFormed = (text: string, field: string): void => {
  if (!text.isWellFormed()) throw fieldFault('invalid_value', field, 'must be well-formed Unicode');
};

/** The same for the attributes of a query. */
export const requireWellFormedAttributes = (
  attributes: readonly { readonly key: string; readonly value: string }[],
): void => {
  for (const [index, { key, value }] of attributes.entries()) {
    requireWellFormed(key, `attributes.${index}.key`);
    requireWellFormed(value, `attributes.${index}.value`);
  }
};

/** What a caller asks of items, with the applications that it is of. Throws likewise for each of its texts. */
export const conditionsOf = <A extends { readonly app_id?: number | undefined }>(
  source: ItemSource,
  asked: A,
): A & { readonly applications: Applications } => {
  for (const [field, value] of Object.entries(asked))
    if (typeof value === 'string') requireWellFormed(value, field);
  return { ...asked, applications: applicationsOf(source, asked.app_id) };
};

/** The place where a list ended, as a caller gives it back. */
export const cursorText = (at: bigint, id: string): string =>
  Buffer.from(`${at}.${id}`).toString('base64url');

/** The parts of such a cursor; none without one. Throws a permanent Fault `invalid_value` for one of another list. */
export const partsOfCursor = (cursor: string | undefined, form: RegExp): string[] => {
  if (cursor === undefined) return [];
  const [, ...parts] = form.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (parts.length === 0) throw fieldFault('invalid_value', 'cursor', 'is not a next_cursor of this list');
  return parts;
};

const windowMin = 60_000_000_000n;

/**
 * The newest rows of a period, at most `max`, those behind the place `from` if there is one. A page seldom needs the whole period: `read`
 * reads the newest sixty-fourth of it, a minute at least, then windows eight times as long each, in nanoseconds: the newest rows of
 * [lower, upper) behind `before`, at most `max` − `found.length`. It returns these rows, or none once the window has no more, and adds to
 * `found` those that the list has.
 */
export const findNewest = async <P extends { readonly at: bigint }, R extends P>(
  { since, until }: Period,
  from: P | undefined,
  max: number,
  read: (
    window: readonly [lower: bigint, upper: bigint],
    before: P | undefined,
    found: R[],
  ) => Promise<readonly R[]>,
): Promise<R[]> => {
  const [first, end] = [nanosOf(since), nanosOf(until)];
  const found: R[] = [];
  let before = from;
  let upper = from === undefined || from.at >= end ? end : from.at + 1n;
  let width = (end - first) / 64n;
  if (width < windowMin) width = windowMin;
  while (found.length < max && upper > first) {
    const lower = upper - first > width ? upper - width : first;
    const wanted = max - found.length;
    const rows = await read([lower, upper], before, found);
    const last = rows.at(-1);
    if (rows.length === wanted && last !== undefined) {
      before = last;
      upper = last.at + 1n;
    } else {
      before = undefined;
      upper = lower;
      width *= 8n;
    }
  }
  return found;
};
