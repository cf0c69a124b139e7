import { z } from 'zod';
import type { NextBounds } from './gate.ts';
import {
  type LogAttributeCondition,
  type LogConditions,
  type LogPlace,
  logsSql,
  type Severity,
} from './log-sql.ts';
import { type AskedPeriod, type Period, periodOf } from './period.ts';
import {
  applicationsOf,
  findNewest,
  type ItemSource,
  type Run,
  requireWellFormed,
  requireWellFormedAttributes,
  startRun,
  wrongCursor,
} from './run.ts';
import { attributesOf } from './spans.ts';

/** A search as a caller asks it. */
export type AskedLogs = AskedPeriod & {
  readonly app_id?: number | undefined;
  readonly service?: string | undefined;
  readonly severity?: Severity | undefined;
  readonly text?: string | undefined;
  readonly trace_id?: string | undefined;
  readonly attributes: readonly LogAttributeCondition[];
  readonly limit: number;
  readonly cursor?: string | undefined;
};

const big = z.string().transform(BigInt);
const text = z.string();
const texts = z.array(text);
const count = z.coerce.number();

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

const conditionsOf = (source: ItemSource, asked: AskedLogs): LogConditions => {
  requireWellFormed(asked.service, 'service');
  requireWellFormed(asked.text, 'text');
  requireWellFormedAttributes(asked.attributes);
  return {
    applications: applicationsOf(source, asked.app_id),
    service: asked.service,
    severity: asked.severity,
    text: asked.text,
    traceId: asked.trace_id,
    attributes: asked.attributes,
  };
};

const cursorText = ({ at, uid }: LogPlace): string => Buffer.from(`${at}.${uid}`).toString('base64url');

const placeOf = (cursor: string | undefined): LogPlace | undefined => {
  if (cursor === undefined) return undefined;
  const [, at, uid] =
    /^(\d{1,19})\.(\d{1,20})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (at === undefined || uid === undefined) throw wrongCursor();
  return { at: BigInt(at), uid };
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
  const rows = await findLogs(
    run,
    conditionsOf(source, asked),
    period,
    placeOf(asked.cursor),
    asked.limit + 1,
  );
  const page = rows.slice(0, asked.limit);
  const last = page.at(-1);
  return {
    ...period,
    items: page.map(shown),
    next_cursor: rows.length > page.length && last !== undefined ? cursorText(last) : null,
    ...run.about(),
  };
};
