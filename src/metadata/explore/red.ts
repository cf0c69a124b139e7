import { z } from 'zod';
import type { NextBounds } from './gate.ts';
import { bucketsOf, type Period, periodOf } from './period.ts';
import type { AskedRed } from './red-shapes.ts';
import { type RedConditions, redSeriesSql, redTotalsSql } from './red-sql.ts';
import { conditionsOf, count, type ItemSource, type Run, startRun } from './run.ts';

/** The most series of one answer. */
export const redSeriesMax = 20;

const rowSchema = z.object({
  at: count,
  app_id: count,
  service: z.string(),
  operation: z.string(),
  requests: count,
  errors: count,
  p50_ms: z.number(),
  p95_ms: z.number(),
  p99_ms: z.number(),
});

type Row = z.output<typeof rowSchema>;

const keyOf = ({ app_id, service, operation }: Row): string => JSON.stringify([app_id, service, operation]);

/** The values of an item in all buckets: 0 requests, and no duration, where it had none. */
const seriesOf = (rows: readonly Row[], starts: readonly number[]) => {
  const byStart = new Map(rows.map((row) => [row.at, row]));
  const all = starts.map((start) => byStart.get(start));
  return {
    requests: all.map((row) => row?.requests ?? 0),
    errors: all.map((row) => row?.errors ?? 0),
    p50_ms: all.map((row) => row?.p50_ms ?? null),
    p95_ms: all.map((row) => row?.p95_ms ?? null),
    p99_ms: all.map((row) => row?.p99_ms ?? null),
  };
};

/** Reads the series of the first items: their buckets, and the series of each item by its key. */
const readSeries = async (
  run: Run,
  conditions: RedConditions,
  period: Period,
  asked: AskedRed,
  items: readonly Row[],
) => {
  if (!asked.series) return { step: null, buckets: [], of: () => null };
  const { step, starts } = bucketsOf(period, asked.step);
  const shown = items.slice(0, redSeriesMax);
  const rows =
    shown.length === 0 ? [] : await run.rows(rowSchema, redSeriesSql(conditions, period, step, shown));
  const byKey = Map.groupBy(rows, keyOf);
  const known = new Set(shown.map(keyOf));
  return {
    step,
    buckets: starts,
    of: (item: Row) => (known.has(keyOf(item)) ? seriesOf(byKey.get(keyOf(item)) ?? [], starts) : null),
  };
};

/** Requests, errors and durations of services or operations, those with most requests first. Throws the Faults of `ClickhouseReader`. */
export const queryRed = async (source: ItemSource, asked: AskedRed, bounds: NextBounds) => {
  const period = periodOf(asked, source.now());
  const run = startRun(source.reader, bounds);
  const conditions: RedConditions = {
    ...conditionsOf(source, asked),
    // A condition on the operation needs rows of operations.
    by: asked.operation === undefined ? asked.by : 'operation',
  };
  const rows = await run.rows(rowSchema, redTotalsSql(conditions, period, asked.limit + 1));
  const items = rows.slice(0, asked.limit);
  const { step, buckets, of } = await readSeries(run, conditions, period, asked, items);
  const seconds = period.until - period.since;
  return {
    ...period,
    step,
    buckets,
    items: items.map((row) => ({
      app_id: row.app_id,
      service: row.service,
      operation: conditions.by === 'operation' ? row.operation : null,
      requests: row.requests,
      errors: row.errors,
      per_second: row.requests / seconds,
      error_ratio: row.requests === 0 ? 0 : row.errors / row.requests,
      p50_ms: row.p50_ms,
      p95_ms: row.p95_ms,
      p99_ms: row.p99_ms,
      series: of(row),
    })),
    truncated: rows.length > items.length,
    ...run.about(),
  };
};
