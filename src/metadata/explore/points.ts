import { Fault } from '../../model/fault.ts';
import type { QuestdbReader } from '../../stores/questdb/reader.ts';
import { fieldFault } from '../problem.ts';
import type { Records } from '../records/store.ts';
import { unknownInstance } from '../tables/placement.ts';
import type { NextBounds } from './gate.ts';
import { valueOfBucket, withScaled } from './large-values.ts';
import { type AskedPeriod, bucketsOf, periodOf } from './period.ts';
import { groupsThatFit } from './point-groups.ts';
import { findPlaces, notStored } from './point-places.ts';
import type { AskedPoints } from './point-shapes.ts';
import {
  type Condition,
  columnsSql,
  type Group,
  groupCountSql,
  groupsSql,
  type Named,
  type PointQuery,
  rawSql,
  seriesSql,
  valuesSql,
} from './point-sql.ts';
import { type AskedTable, dimensionPlace, findTable, metricOf, type PointTable } from './point-table.ts';

export const seriesMax = 20;
const rawRowsMax = 50;

type AskedFilter = AskedPoints['filter'][number];

export type AskedValues = AskedTable & AskedPeriod & { readonly dimension: string; readonly limit: number };

/** Where the queries go. */
export type PointSource = {
  readonly records: Records;
  readonly readers: ReadonlyMap<string, QuestdbReader>;
  readonly now: () => number;
};

type Cell = string | number | null;

const textOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : String(value);

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

const cellOf = (value: unknown): Cell => (typeof value === 'number' ? value : textOf(value));

const secondsOf = (timestamp: unknown): number => Date.parse(String(timestamp)) / 1000;

const requireOnce = (names: readonly string[], field: string): void => {
  const twice = names.findIndex((name, index) => names.indexOf(name) < index);
  if (twice >= 0) throw fieldFault('invalid_value', `${field}.${twice}`, 'is given twice');
};

const conditionOf = (table: PointTable, filter: AskedFilter, index: number): Condition => {
  const { dimension, operator, values } = filter;
  const field = `filter.${index}`;
  if ((operator === '=' || operator === '!=') && values.length !== 1)
    throw fieldFault('invalid_value', `${field}.values`, `must be one value for ${operator}`);
  // No stored text has half a character, and none can be sent to QuestDB.
  const broken = values.findIndex((value) => value !== null && !value.isWellFormed());
  if (broken >= 0)
    throw fieldFault('invalid_value', `${field}.values.${broken}`, 'must be well-formed Unicode');
  return { place: dimensionPlace(table, dimension, `${field}.dimension`), operator, values };
};

const queryOf = (table: PointTable, asked: AskedPoints, nowMs: number): PointQuery => {
  const { metrics, group_by: groupBy, aggregate } = asked;
  requireOnce(metrics, 'metrics');
  const places = groupBy.map((name, index) => dimensionPlace(table, name, `group_by.${index}`));
  requireOnce(
    places.map((place) => JSON.stringify(place)),
    'group_by',
  );
  return {
    table: table.tableId,
    layout: table.layout,
    metrics: metrics.map((name, index) => metricOf(table, name, `metrics.${index}`)),
    aggregate,
    filter: asked.filter.map((filter, index) => conditionOf(table, filter, index)),
    groupBy: places,
    period: periodOf(asked, nowMs),
    at: asked.at,
  };
};

/** The queries of one call, in their order. */
type Run = {
  readonly sql: string[];
  rows(sql: string): Promise<readonly unknown[][]>;
};

const startRun = (reader: QuestdbReader, bounds: NextBounds): Run => {
  const sql: string[] = [];
  return {
    sql,
    rows: async (statement) => {
      sql.push(statement);
      return (await reader.read(statement, bounds())).dataset;
    },
  };
};

const readerOf = ({ readers }: PointSource, { instance, tableId }: PointTable): QuestdbReader => {
  const reader = readers.get(instance);
  if (reader === undefined) throw unknownInstance(instance, `table ${tableId}`);
  return reader;
};

/** The columns of the table, lower case. Permanent Fault `not_stored_yet` where QuestDB has no such table. */
const storedColumns = async (
  reader: QuestdbReader,
  tableId: string,
  bounds: NextBounds,
): Promise<ReadonlySet<string>> => {
  const { dataset } = await reader.read(columnsSql(tableId), bounds()).catch((error: unknown) => {
    const isRefused = error instanceof Fault && error.code === 'questdb_rejected';
    throw isRefused ? notStored(`table ${tableId}`) : error;
  });
  return new Set(dataset.map(([column]) => String(column).toLowerCase()));
};

/** A name is registered before the first row makes its column. */
const requireStored = (
  stored: ReadonlySet<string>,
  { layout, metrics, table }: Pick<PointQuery, 'layout' | 'metrics' | 'table'>,
): void => {
  const missing =
    layout === 'wide' ? metrics.find(({ column }) => !stored.has(column.toLowerCase())) : undefined;
  if (missing !== undefined) throw notStored(`column ${missing.column} in table ${table}`);
};

/** The query with the places where its period has the dimensions. */
const withPlaces = async (
  { rows }: Run,
  table: PointTable,
  query: PointQuery,
  stored: ReadonlySet<string>,
): Promise<PointQuery> => {
  const { filter, groupBy, period } = query;
  const places = [...filter.map(({ place }) => place), ...groupBy];
  const found = await findPlaces({ table, period, stored, rows }, places);
  return {
    ...query,
    filter: filter.map((condition, index) => ({
      ...condition,
      place: found(condition.place, `filter.${index}.dimension`),
    })),
    groupBy: groupBy.map((place, index) => found(place, `group_by.${index}`)),
  };
};

type Groups = {
  readonly groups: readonly { readonly values: Group; readonly rows: number | null }[];
  readonly total: number;
};

/** The groups that are answered, those with most rows first. */
const readGroups = async (run: Run, query: PointQuery): Promise<Groups> => {
  const { groupBy, metrics } = query;
  if (groupBy.length === 0) return { groups: [{ values: [], rows: null }], total: 1 };
  const max = Math.floor(seriesMax / metrics.length);
  const rows = await run.rows(groupsSql(query, max + 1));
  const groups = rows.slice(0, max).map((row) => ({
    values: groupBy.map((_, index) => textOf(row[index])),
    rows: numberOf(row[groupBy.length]),
  }));
  if (rows.length <= max) return { groups, total: rows.length };
  const [counted] = await run.rows(groupCountSql(query));
  return { groups, total: Math.max(numberOf(counted?.[0]) ?? 0, rows.length) };
};

const keyOf = (group: Group, metric: string): string => JSON.stringify([group, metric]);

/** The metric, the value and, where the query is scaled, the scaled value of each column of values. */
const valuesOfRow = (
  { layout, metrics, groupBy }: PointQuery,
  row: readonly unknown[],
): [metric: string, plain: number | null, scaled: number | null][] => {
  const values = row.slice(1 + groupBy.length);
  if (layout === 'narrow') return [[String(values[0]), numberOf(values[1]), numberOf(values[2])]];
  return metrics.map(({ name }, index) => [
    name,
    numberOf(values[index]),
    numberOf(values[metrics.length + index]),
  ]);
};

const readSeries = async (run: Run, asked: PointQuery, step: number, starts: readonly number[]) => {
  const query = await withScaled(asked, run.rows);
  const { groups: found, total } = await readGroups(run, query);
  const groups = groupsThatFit(query, found, step, starts.length);
  // QuestDB fills a bucket in which no group has a row, and in a wide table counts the rows of other metrics as 0.
  const empty: number | null = query.aggregate === 'count' ? 0 : null;
  const series = groups.flatMap(({ values: group, rows }) =>
    query.metrics.map(({ name }) => ({
      metric: name,
      group,
      rows,
      values: starts.map(() => empty),
      too_large: [] as number[],
    })),
  );
  const byKey = new Map(series.map((each) => [keyOf(each.group, each.metric), each]));
  const first = starts[0] ?? 0;
  const rows =
    groups.length === 0
      ? []
      : await run.rows(
          seriesSql(
            query,
            groups.map(({ values }) => values),
            step,
          ),
        );
  for (const row of rows) {
    const at = (secondsOf(row[0]) - first) / step;
    const group = query.groupBy.map((_, index) => textOf(row[index + 1]));
    for (const [metric, plain, scaled] of valuesOfRow(query, row)) {
      const own = byKey.get(keyOf(group, metric));
      if (own === undefined || !(at in own.values)) continue;
      const value = valueOfBucket(query, plain, scaled);
      own.values[at] = value ?? empty;
      if (value === undefined) own.too_large.push(at);
    }
  }
  return { series, total: total * query.metrics.length };
};

const more: Named = { name: 'more_dimensions', column: 'more_dimensions' };

/** Every dimension, and the metrics of the query, with the columns of a row; dimensions without one last. */
const rawColumns = (
  { registry }: PointTable,
  { layout, metrics }: PointQuery,
  stored: ReadonlySet<string>,
) => {
  const fixed: Named[] = [{ name: 'target', column: 'target' }];
  const values = layout === 'wide' ? metrics : ['metric', 'value'].map((name) => ({ name, column: name }));
  return [...fixed, ...registry.dimensions, ...values, more].filter(({ column }) =>
    stored.has(column.toLowerCase()),
  );
};

const readRaw = async (run: Run, table: PointTable, query: PointQuery, stored: ReadonlySet<string>) => {
  const columns = rawColumns(table, query, stored);
  const rows = await run.rows(
    rawSql(
      query,
      columns.map(({ column }) => column),
      rawRowsMax,
    ),
  );
  // Most points have no more dimensions.
  const isBare = columns.at(-1) === more && rows.every((row) => row[columns.length] === null);
  const shown = isBare ? columns.slice(0, -1) : columns;
  return {
    columns: ['timestamp', ...shown.map(({ name }) => name)],
    rows: rows.map((row) => row.slice(0, 1 + shown.length).map(cellOf)),
  };
};

/** What every answer about a table says. */
const aboutTable = ({ dataId, tableId, instance }: PointTable) => ({
  mon_data_id: dataId,
  table_id: tableId,
  questdb: instance,
});

/**
 * Series of metrics, or the last rows. Throws permanent Faults `not_found`, `unknown_name`, `invalid_value`, `not_stored_yet`, and
 * those of `QuestdbReader`.
 */
export const queryPoints = async (source: PointSource, asked: AskedPoints, bounds: NextBounds) => {
  const begun = performance.now();
  const table = await findTable(source.records, asked);
  const wanted = queryOf(table, asked, source.now());
  const { since, until } = wanted.period;
  const { step, starts } = asked.raw ? { step: null, starts: [] } : bucketsOf(wanted.period, asked.step);
  const reader = readerOf(source, table);
  const stored = await storedColumns(reader, table.tableId, bounds);
  requireStored(stored, wanted);
  const run = startRun(reader, bounds);
  const query = await withPlaces(run, table, wanted, stored);
  const found = step === null ? { series: [], total: 0 } : await readSeries(run, query, step, starts);
  const raw = step === null ? await readRaw(run, table, query, stored) : null;
  return {
    ...aboutTable(table),
    since,
    until,
    step,
    buckets: starts,
    group_by: asked.group_by,
    series: found.series,
    series_total: found.total,
    truncated: found.total > found.series.length,
    raw,
    sql: run.sql,
    elapsed_ms: Math.round(performance.now() - begun),
    // QuestDB does not say it.
    rows_read: null,
  };
};

/** The values of a dimension with most rows. Throws the same Faults. */
export const queryValues = async (source: PointSource, asked: AskedValues, bounds: NextBounds) => {
  const table = await findTable(source.records, asked);
  const wanted = dimensionPlace(table, asked.dimension, 'dimension');
  const period = periodOf(asked, source.now());
  const reader = readerOf(source, table);
  const stored = await storedColumns(reader, table.tableId, bounds);
  const run = startRun(reader, bounds);
  const found = await findPlaces({ table, period, stored, rows: run.rows }, [wanted]);
  const place = found(wanted, 'dimension');
  const rows = await run.rows(valuesSql({ table: table.tableId, period }, place, asked.limit + 1));
  return {
    ...aboutTable(table),
    ...period,
    values: rows
      .slice(0, asked.limit)
      .map(([value, count]) => ({ value: textOf(value), rows: numberOf(count) ?? 0 })),
    truncated: rows.length > asked.limit,
    sql: run.sql,
  };
};
