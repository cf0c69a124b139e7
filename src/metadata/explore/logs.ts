import { z } from 'zod';
import type { NextBounds } from './gate.ts';
import type { AskedLogs } from './log-shapes.ts';
import { type LogConditions, type LogPlace, logsSql } from './log-sql.ts';
import { type Period, periodOf } from './period.ts';
import {
  big,
  conditionsOf,
  count,
  cursorText,
  findNewest,
  type ItemSource,
  partsOfCursor,
  type Run,
  requireWellFormedAttributes,
  startRun,
  text,
  texts,
} from './run.ts';
import { attributesOf } from './spans.ts';

const rowSchema = z.object({
  uid: text,
  at: big,
  observed: big,
  app_id: count,
  service: text,
  severity_number: count,
  severity_text: text,
  body_shown: text,
  body_bytes: count,
  event_name: text,
  trace_id: text,
  span_id: text,
  scope_name: text,
  scope_version: text,
  attribute_keys: texts,
  attribute_values: texts,
  resource_keys: texts,
  resource_values: texts,
});

type Row = z.output<typeof rowSchema>;

const placeOf = (cursor: string | undefined): LogPlace | undefined => {
  const [at, uid] = partsOfCursor(cursor, /^(\d{1,19})\.(\d{1,20})$/);
  return at === undefined || uid === undefined ? undefined : { at: BigInt(at), uid };
};

/** The newest log records of a period behind `from`, at most `max`. */
const findLogs = (
  run: Run,
  conditions: LogConditions,
  period: Period,
  from: LogPlace | undefined,
  max: number,
): Promise<Row[]> =>
  findNewest<LogPlace, Row>(period, from, max, async (window, before, found) => {
    const rows = await run.rows(rowSchema, logsSql(conditions, window, before, max - found.length));
    // Rows of one log record, delivered more than once, follow each other; the place behind them is behind all of them.
    for (const row of rows) if (found.at(-1)?.uid !== row.uid) found.push(row);
    return rows;
  });

const shown = (row: Row) => ({
  time_unix_nano: String(row.at),
  observed_time_unix_nano: row.observed === 0n ? null : String(row.observed),
  app_id: row.app_id,
  service: row.service,
  severity_number: row.severity_number,
  severity_text: row.severity_text,
  body: row.body_shown,
  body_bytes: row.body_bytes,
  event_name: row.event_name,
  trace_id: row.trace_id,
  span_id: row.span_id,
  scope: { name: row.scope_name, version: row.scope_version },
  attributes: attributesOf(row.attribute_keys, row.attribute_values),
  resource: attributesOf(row.resource_keys, row.resource_values),
});

/** A page of log records that fulfil all conditions, the newest first. Throws the Faults of `ClickhouseReader`. */
export const queryLogs = async (source: ItemSource, asked: AskedLogs, bounds: NextBounds) => {
  const period = periodOf(asked, source.now());
  const run = startRun(source.reader, bounds);
  const conditions = conditionsOf(source, asked);
  requireWellFormedAttributes(asked.attributes);
  const rows = await findLogs(run, conditions, period, placeOf(asked.cursor), asked.limit + 1);
  const page = rows.slice(0, asked.limit);
  const last = page.at(-1);
  return {
    ...period,
    items: page.map(shown),
    next_cursor: rows.length > page.length && last !== undefined ? cursorText(last.at, last.uid) : null,
    ...run.about(),
  };
};
