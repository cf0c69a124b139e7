import type { z } from 'zod';
import { inlined } from '../../stores/clickhouse/literals.ts';
import type { ClickhouseReader } from '../../stores/clickhouse/reader.ts';
import { fieldFault } from '../problem.ts';
import type { NextBounds } from './gate.ts';
import type { Statement } from './statement.ts';

/** Where the queries go. */
export type ItemSource = { readonly reader: ClickhouseReader; readonly now: () => number };

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
export const requireWellFormed = (text: string | undefined, field: string): void => {
  if (text !== undefined && !text.isWellFormed())
    throw fieldFault('invalid_value', field, 'must be well-formed Unicode');
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

/** Throws likewise for a `cursor` of another list. */
export const wrongCursor = () => fieldFault('invalid_value', 'cursor', 'is not a next_cursor of this list');

/** The newest part of a period that a list looks at first, in nanoseconds; each next one is eight times as long. */
export const firstWindow = (since: bigint, until: bigint): bigint => {
  const width = (until - since) / 64n;
  return width < windowMin ? windowMin : width;
};

const windowMin = 60_000_000_000n;
