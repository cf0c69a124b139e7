import type { Layout } from '../../model/records.ts';
import { quoteIdentifier, quoteLiteral } from '../../stores/questdb/sql.ts';
import type { Period } from './period.ts';

/** How the values of a bucket become one. */
export const aggregates = ['avg', 'min', 'max', 'sum', 'count', 'last'] as const;
export type Aggregate = (typeof aggregates)[number];

export const operators = ['=', '!=', 'in', 'not in'] as const;

/** A condition on a column of a dimension; null is a row without the dimension. */
export type Condition = {
  readonly column: string;
  readonly operator: (typeof operators)[number];
  readonly values: readonly (string | null)[];
};

/** A name that producers use, and the column of its values. */
export type Named = { readonly name: string; readonly column: string };

/** A query of one table, whose names are columns that were looked up. */
export type PointQuery = {
  readonly table: string;
  readonly layout: Layout;
  readonly metrics: readonly Named[];
  readonly aggregate: Aggregate;
  readonly filter: readonly Condition[];
  readonly groupBy: readonly string[];
  readonly period: Period;
  /** The time of the rows, Unix milliseconds; undefined: all of the period. */
  readonly at?: number | undefined;
};

/** Values of the dimensions of `groupBy`. */
export type Group = readonly (string | null)[];

const timeLiteral = (ms: number): string => quoteLiteral(new Date(ms).toISOString());

const equals = (column: string, value: string | null): string =>
  value === null
    ? `${quoteIdentifier(column)} IS NULL`
    : `${quoteIdentifier(column)} = ${quoteLiteral(value)}`;

const oneOf = (column: string, values: Condition['values']): string => {
  const texts = values.filter((value) => value !== null);
  const list =
    texts.length === 0 ? [] : [`${quoteIdentifier(column)} IN (${texts.map(quoteLiteral).join(', ')})`];
  const parts = values.includes(null) ? [...list, equals(column, null)] : list;
  return parts.length === 1 ? parts.join() : `(${parts.join(' OR ')})`;
};

const conditionText = ({ column, operator, values }: Condition): string => {
  const [value = null] = values;
  if (operator === 'in') return oneOf(column, values);
  if (operator === 'not in') return `NOT (${oneOf(column, values)})`;
  if (operator === '=') return equals(column, value);
  return value === null
    ? `${quoteIdentifier(column)} IS NOT NULL`
    : `${quoteIdentifier(column)} != ${quoteLiteral(value)}`;
};

/** Rows that have one of the metrics. */
const hasMetric = ({ layout, metrics }: Pick<PointQuery, 'layout' | 'metrics'>): string => {
  if (layout === 'narrow') return `metric IN (${metrics.map(({ name }) => quoteLiteral(name)).join(', ')})`;
  const parts = metrics.map(({ column }) => `${quoteIdentifier(column)} IS NOT NULL`);
  return parts.length === 1 ? parts.join() : `(${parts.join(' OR ')})`;
};

const withinPeriod = ({ since, until }: Period): string =>
  `timestamp >= ${timeLiteral(since * 1000)} AND timestamp < ${timeLiteral(until * 1000)}`;

const isAt = (at: number | undefined): string[] =>
  at === undefined ? [] : [`timestamp = ${timeLiteral(at)}`];

const rowsOf = (query: PointQuery, more: readonly string[] = []): string => {
  const { table, period, at, filter } = query;
  const conditions = [
    withinPeriod(period),
    ...isAt(at),
    ...filter.map(conditionText),
    hasMetric(query),
    ...more,
  ];
  return `FROM ${quoteIdentifier(table)} WHERE ${conditions.join(' AND ')}`;
};

const columnsOf = (columns: readonly string[]): string => columns.map(quoteIdentifier).join(', ');

/** The groups with most rows: their values in the order of `groupBy`, then the rows. */
export const groupsSql = (query: PointQuery, limit: number): string =>
  `SELECT ${columnsOf(query.groupBy)}, count() AS "rows #" ${rowsOf(query)} ORDER BY "rows #" DESC, ${columnsOf(query.groupBy)} LIMIT ${limit}`;

export const groupCountSql = (query: PointQuery): string =>
  `SELECT count() FROM (SELECT ${columnsOf(query.groupBy)}, count() AS "rows #" ${rowsOf(query)})`;

const isGroup = (groupBy: readonly string[], group: Group): string =>
  `(${groupBy.map((column, index) => equals(column, group[index] ?? null)).join(' AND ')})`;

const unitText = (step: number): string => {
  for (const [seconds, unit] of [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'm'],
  ] as const)
    if (step % seconds === 0) return `${step / seconds}${unit}`;
  return `${step}s`;
};

/** A value of null must not be the last one. */
const functionOf = (aggregate: Aggregate): string => (aggregate === 'last' ? 'last_not_null' : aggregate);

/** The columns of values; an alias has a space, which no name of a dimension has. */
const valuesOf = ({ layout, metrics, aggregate }: PointQuery): string[] => {
  const call = functionOf(aggregate);
  if (layout === 'narrow') return ['metric', `${call}(value) AS ${quoteIdentifier(`${aggregate} value`)}`];
  return metrics.map(
    ({ column }) => `${call}(${quoteIdentifier(column)}) AS ${quoteIdentifier(`${aggregate} ${column}`)}`,
  );
};

/**
 * The buckets of these groups: the time, the values of `groupBy`, then a column per metric (wide), or the metric and its value
 * (narrow).
 */
export const seriesSql = (query: PointQuery, groups: readonly Group[], step: number): string => {
  const { groupBy } = query;
  const chosen =
    groupBy.length === 0 ? [] : [`(${groups.map((group) => isGroup(groupBy, group)).join(' OR ')})`];
  const selected = ['timestamp', ...groupBy.map(quoteIdentifier), ...valuesOf(query)].join(', ');
  return `SELECT ${selected} ${rowsOf(query, chosen)} SAMPLE BY ${unitText(step)} FILL(NULL) ALIGN TO CALENDAR`;
};

/** The last rows: the time and these columns. */
export const rawSql = (query: PointQuery, columns: readonly string[], limit: number): string =>
  `SELECT timestamp, ${columnsOf(columns)} ${rowsOf(query)} ORDER BY timestamp DESC LIMIT ${limit}`;

/** The values of a dimension with most rows, each with its rows. */
export const valuesSql = (
  { table, period }: Pick<PointQuery, 'table' | 'period'>,
  column: string,
  limit: number,
): string =>
  `SELECT ${quoteIdentifier(column)}, count() AS "rows #" FROM ${quoteIdentifier(table)} WHERE ${withinPeriod(period)} ` +
  `ORDER BY "rows #" DESC, ${quoteIdentifier(column)} LIMIT ${limit}`;

/** The columns that the table has by now, lower case: QuestDB folds case. */
export const columnsSql = (table: string): string =>
  `SELECT "column" FROM table_columns(${quoteLiteral(table)})`;
