import type { Layout } from '../../model/records.ts';
import { quoteIdentifier, quoteLiteral } from '../../stores/questdb/sql.ts';
import type { Period } from './period.ts';

/** How the values of a bucket become one. */
export const aggregates = ['avg', 'min', 'max', 'sum', 'count', 'last'] as const;
export type Aggregate = (typeof aggregates)[number];

export const operators = ['=', '!=', 'in', 'not in'] as const;

/** Where rows have the values of a dimension: in a column, as a member of the JSON in more_dimensions, or some here and some there. */
export type Place =
  | { readonly column: string; readonly member?: string | undefined }
  | { readonly column?: undefined; readonly member: string };

/** A condition on a dimension; null is a row without it. */
export type Condition = {
  readonly place: Place;
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
  readonly groupBy: readonly Place[];
  readonly period: Period;
  /** The time of the rows, Unix milliseconds; undefined: all of the period. */
  readonly at?: number | undefined;
  /** Each value also of the values times `scale`, in columns behind the others. */
  readonly isScaled?: boolean | undefined;
};

/** A power of two: what is scaled by it and back is the same number, unless it is smaller than 1e-288. */
export const scale = 2 ** -64;

/** Values of the dimensions of `groupBy`. */
export type Group = readonly (string | null)[];

const timeLiteral = (ms: number): string => quoteLiteral(new Date(ms).toISOString());

const memberText = (member: string): string =>
  `json_extract(more_dimensions, ${quoteLiteral(`.${member}`)})::varchar`;

/** The value of a dimension in a row. */
const textOf = ({ column, member }: Place): string => {
  if (column === undefined) return memberText(member);
  const own = quoteIdentifier(column);
  return member === undefined ? own : `coalesce(${own}, ${memberText(member)})`;
};

const equals = (text: string, value: string | null): string =>
  value === null ? `${text} IS NULL` : `${text} = ${quoteLiteral(value)}`;

const oneOf = (text: string, values: Condition['values']): string => {
  const some = values.filter((value) => value !== null);
  const list = some.length === 0 ? [] : [`${text} IN (${some.map(quoteLiteral).join(', ')})`];
  const parts = values.includes(null) ? [...list, equals(text, null)] : list;
  return parts.length === 1 ? parts.join() : `(${parts.join(' OR ')})`;
};

const conditionText = ({ place, operator, values }: Condition): string => {
  const [value = null] = values;
  const text = textOf(place);
  if (operator === 'in') return oneOf(text, values);
  if (operator === 'not in') return `NOT (${oneOf(text, values)})`;
  if (operator === '=') return equals(text, value);
  return value === null ? `${text} IS NOT NULL` : `${text} != ${quoteLiteral(value)}`;
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

/** The dimensions of a grouping: as they are selected, and their names; an alias has a space, which no name of a column has. */
const groupedBy = (places: readonly Place[]) =>
  places.map((place, index) =>
    place.member === undefined
      ? { selected: textOf(place), name: textOf(place) }
      : { selected: `${textOf(place)} AS "by ${index + 1}"`, name: `"by ${index + 1}"` },
  );

const selectedOf = (places: readonly Place[]): string =>
  groupedBy(places)
    .map(({ selected }) => selected)
    .join(', ');

const namesOf = (places: readonly Place[]): string =>
  groupedBy(places)
    .map(({ name }) => name)
    .join(', ');

/** The groups with most rows: their values in the order of `groupBy`, then the rows. */
export const groupsSql = (query: PointQuery, limit: number): string =>
  `SELECT ${selectedOf(query.groupBy)}, count() AS "rows #" ${rowsOf(query)} ORDER BY "rows #" DESC, ${namesOf(query.groupBy)} LIMIT ${limit}`;

export const groupCountSql = (query: PointQuery): string =>
  `SELECT count() FROM (SELECT ${selectedOf(query.groupBy)}, count() AS "rows #" ${rowsOf(query)})`;

/** Of several dimensions each is compared with all of its values first: only rows with one of each reach the single groups. */
const ofGroups = (groupBy: readonly Place[], groups: readonly Group[]): string[] => {
  const each = groupBy.map((place, index) =>
    oneOf(textOf(place), [...new Set(groups.map((group) => group[index] ?? null))]),
  );
  return groupBy.length <= 1
    ? each
    : [...each, `(${groups.map((group) => isGroup(groupBy, group)).join(' OR ')})`];
};

const isGroup = (groupBy: readonly Place[], group: Group): string =>
  `(${groupBy.map((place, index) => equals(textOf(place), group[index] ?? null)).join(' AND ')})`;

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
const valuesOf = ({ layout, metrics, aggregate, isScaled = false }: PointQuery): string[] => {
  const call = functionOf(aggregate);
  const columns = layout === 'narrow' ? ['value'] : metrics.map(({ column }) => column);
  const selected = (column: string): string => (layout === 'narrow' ? column : quoteIdentifier(column));
  const plain = columns.map(
    (column) => `${call}(${selected(column)}) AS ${quoteIdentifier(`${aggregate} ${column}`)}`,
  );
  const scaled = columns.map(
    (column) =>
      `${call}(${selected(column)} * ${scale}) AS ${quoteIdentifier(`${aggregate} scaled ${column}`)}`,
  );
  return [...(layout === 'narrow' ? ['metric'] : []), ...plain, ...(isScaled ? scaled : [])];
};

/**
 * The buckets of these groups: the time, the values of `groupBy`, then a column per metric (wide), or the metric and its value
 * (narrow); then, where the query is scaled, as many columns of scaled values.
 */
export const seriesSql = (query: PointQuery, groups: readonly Group[], step: number): string => {
  const { groupBy } = query;
  const chosen = ofGroups(groupBy, groups);
  const selected = ['timestamp', ...groupedBy(groupBy).map((each) => each.selected), ...valuesOf(query)].join(
    ', ',
  );
  return `SELECT ${selected} ${rowsOf(query, chosen)} SAMPLE BY ${unitText(step)} FILL(NULL) ALIGN TO CALENDAR`;
};

const columnsOf = (columns: readonly string[]): string => columns.map(quoteIdentifier).join(', ');

/** The last rows: the time and these columns. */
export const rawSql = (query: PointQuery, columns: readonly string[], limit: number): string =>
  `SELECT timestamp, ${columnsOf(columns)} ${rowsOf(query)} ORDER BY timestamp DESC LIMIT ${limit}`;

type Rows = Pick<PointQuery, 'table' | 'period'>;

/** The largest and the smallest value of each metric in the period (narrow: of all); no filter, so that QuestDB reads columns alone. */
export const extremesSql = ({ table, period, layout, metrics }: PointQuery): string => {
  const columns = layout === 'narrow' ? ['value'] : metrics.map(({ column }) => column);
  const selected = columns.map(quoteIdentifier).map((column) => `max(${column}), min(${column})`);
  return `SELECT ${selected.join(', ')} FROM ${quoteIdentifier(table)} WHERE ${withinPeriod(period)}`;
};

/** The values of a dimension with most rows, each with its rows. */
export const valuesSql = ({ table, period }: Rows, place: Place, limit: number): string =>
  `SELECT ${selectedOf([place])}, count() AS "rows #" FROM ${quoteIdentifier(table)} WHERE ${withinPeriod(period)} ` +
  `ORDER BY "rows #" DESC, ${namesOf([place])} LIMIT ${limit}`;

const anyRowSql = ({ table, period }: Rows, conditions: readonly string[]): string =>
  `SELECT timestamp FROM ${quoteIdentifier(table)} WHERE ${[withinPeriod(period), ...conditions].join(' AND ')} LIMIT 1`;

/** A row that has dimensions in more_dimensions, if there is one. */
export const anyMoreSql = (rows: Rows): string => anyRowSql(rows, ['more_dimensions IS NOT NULL']);

/** A row that has this dimension there; `column`: where other rows have it. */
export const anyMemberSql = (rows: Rows, member: string, column: string | undefined): string =>
  anyRowSql(rows, [
    ...(column === undefined ? [] : [equals(quoteIdentifier(column), null)]),
    `${memberText(member)} IS NOT NULL`,
  ]);

/** The columns that the table has by now, lower case: QuestDB folds case. */
export const columnsSql = (table: string): string =>
  `SELECT "column" FROM table_columns(${quoteLiteral(table)})`;
