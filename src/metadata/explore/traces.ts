import { z } from 'zod';
import { notFound } from '../problem.ts';
import type { NextBounds } from './gate.ts';
import { type AskedPeriod, type Period, periodOf } from './period.ts';
import {
  applicationsOf,
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
} from './run.ts';
import { shownSpans, spanRowSchema } from './spans.ts';
import { nanosOf } from './statement.ts';
import type { AskedTraces } from './trace-shapes.ts';
import {
  countSql,
  findSql,
  matchesSql,
  type SpanConditions,
  servicesSql,
  spansSql,
  summarySql,
  type TracePlace,
} from './trace-sql.ts';

/** The most spans of one answer. */
export const spansMax = 10_000;
/** Of the values of these spans before they are shortened: ClickHouse takes three to four times this memory for one answer. */
const readBytesMax = 160 * 2 ** 20;
const servicesMax = 5_000;

const foundSchema = z.object({ id: z.string(), at: big });
const idSchema = z.object({ id: z.string() });
const summarySchema = z.object({
  id: z.string(),
  start: big,
  duration: big,
  spans: count,
  errors: count,
  services: count,
  has_root: z.coerce.number(),
  root_name: z.string(),
  root_service: z.string(),
});
const spanCountSchema = z.object({
  spans: count,
  span_rows: count,
  span_bytes: count,
  resource_bytes: count,
});
const serviceSchema = z.object({ service: z.string(), name: z.string(), spans: count });

const nanosOfMs = (ms: number | undefined): bigint | undefined =>
  ms === undefined ? undefined : BigInt(Math.round(ms * 1_000_000));

const conditionsOfSpans = (source: ItemSource, asked: AskedTraces): SpanConditions => {
  const conditions = conditionsOf(source, asked);
  requireWellFormedAttributes(asked.attributes);
  return {
    ...conditions,
    durationMin: nanosOfMs(asked.min_duration_ms),
    durationMax: nanosOfMs(asked.max_duration_ms),
  };
};

const placeOf = (cursor: string | undefined): TracePlace | undefined => {
  const [at, id] = partsOfCursor(cursor, /^(\d{1,19})\.([0-9a-f]{32})$/);
  return at === undefined || id === undefined ? undefined : { at: BigInt(at), id };
};

/** The traces of one statement, at least: long traces that are known fill no page. */
const candidatesMin = 200;

/** The newest traces of a period behind `from`, at most `max`. */
const findTraces = (
  run: Run,
  conditions: SpanConditions,
  period: Period,
  from: TracePlace | undefined,
  max: number,
): Promise<TracePlace[]> => {
  const until = nanosOf(period.until);
  const find = (window: readonly [bigint, bigint], before: TracePlace | undefined, limit: number) =>
    run.rows(foundSchema, findSql(conditions, window, before, limit));
  return findNewest<TracePlace, TracePlace>(period, from, max, async ([lower, upper], before, found) => {
    const wanted = max - found.length;
    const limit = Math.max(wanted, candidatesMin);
    const rows = await find([lower, upper], before, limit);
    // A trace with a match after this window belongs there: it was found, or is on an earlier page.
    const later =
      upper >= until || rows.length === 0
        ? []
        : await run.rows(
            idSchema,
            matchesSql(
              conditions,
              [upper, until],
              rows.map(({ id }) => id),
            ),
          );
    const known = new Set(later.map(({ id }) => id));
    const fresh = rows.filter(({ id }) => !known.has(id));
    const isCrowded = fresh.length < wanted && rows.length === limit;
    // They hide others. Over the time until the end of the period each of them is at its own place, before `before`.
    const own = isCrowded ? await find([lower, until], before ?? { at: upper, id: '' }, wanted) : fresh;
    found.push(...own.slice(0, wanted));
    // Nothing of this window is left.
    return [];
  });
};

const milliseconds = (nanos: bigint): number => Number(nanos) / 1e6;

/** A page of traces that have a span with all of these conditions, newest such span first. Throws the Faults of `ClickhouseReader`. */
export const queryTraces = async (source: ItemSource, asked: AskedTraces, bounds: NextBounds) => {
  const period = periodOf(asked, source.now());
  const run = startRun(source.reader, bounds);
  const places = await findTraces(
    run,
    conditionsOfSpans(source, asked),
    period,
    placeOf(asked.cursor),
    asked.limit + 1,
  );
  const page = places.slice(0, asked.limit);
  const ids = page.map(({ id }) => id);
  const summaries = ids.length === 0 ? [] : await run.rows(summarySchema, summarySql(ids));
  const byId = new Map(summaries.map((summary) => [summary.id, summary]));
  const last = page.at(-1);
  return {
    ...period,
    items: page.flatMap(({ id }) => {
      const summary = byId.get(id);
      if (summary === undefined) return [];
      const { root_name, root_service, spans, errors, services } = summary;
      return [
        {
          trace_id: id,
          root_name,
          root_service,
          has_root: summary.has_root > 0,
          start: Math.round(milliseconds(summary.start)) / 1000,
          duration_ms: milliseconds(summary.duration),
          spans,
          errors,
          services,
        },
      ];
    }),
    next_cursor: places.length > page.length && last !== undefined ? cursorText(last.at, last.id) : null,
    ...run.about(),
  };
};

/** The spans of a trace. Throws a permanent Fault `not_found`, and those of `ClickhouseReader`. */
export const readTrace = async ({ reader }: ItemSource, id: string, bounds: NextBounds) => {
  const run = startRun(reader, bounds);
  const [counted] = await run.rows(spanCountSchema, countSql(id));
  if (counted === undefined || counted.spans === 0) throw notFound(`trace ${id}`);
  const { spans: total, span_rows: stored, span_bytes: spanBytes, resource_bytes: resourceBytes } = counted;
  const bytes = spanBytes + resourceBytes;
  const limit = Math.ceil(Math.min(spansMax, (stored * readBytesMax) / Math.max(1, bytes)));
  const rows = await run.rows(spanRowSchema, spansSql(id, { rows: stored, spanBytes, resourceBytes }, limit));
  const shown = shownSpans(rows);
  return {
    trace_id: id,
    ...shown,
    spans_total: total,
    truncated: total > shown.spans.length,
    ...run.about(),
  };
};

/** Services and the names of their spans in a period, those with most spans first. Throws the Faults of `ClickhouseReader`. */
export const readServices = async (
  source: ItemSource,
  asked: AskedPeriod & Pick<AskedTraces, 'app_id'>,
  bounds: NextBounds,
) => {
  const period = periodOf(asked, source.now());
  const run = startRun(source.reader, bounds);
  const rows = await run.rows(
    serviceSchema,
    servicesSql(period, applicationsOf(source, asked.app_id), servicesMax + 1),
  );
  const services = new Map<
    string,
    { service: string; spans: number; span_names: { name: string; spans: number }[] }
  >();
  for (const { service, name, spans } of rows.slice(0, servicesMax)) {
    const known = services.get(service) ?? { service, spans: 0, span_names: [] };
    known.spans += spans;
    known.span_names.push({ name, spans });
    services.set(service, known);
  }
  return {
    ...period,
    items: [...services.values()].toSorted((a, b) => b.spans - a.spans),
    truncated: rows.length > servicesMax,
    ...run.about(),
  };
};
