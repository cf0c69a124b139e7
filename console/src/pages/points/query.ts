import { nowSeconds, type Period } from '../../api/clock.ts';
import type { OrUndefined } from '../../api/or-undefined.ts';
import type { components } from '../../api/schema.d.ts';
import { marks, type Series } from '../../charts/model.ts';
import { plainText } from '../../parts/plain-text.ts';
import { isWide } from '../traces/search.ts';

export type PointsQuery = OrUndefined<components['schemas']['PointsQuery']>;
export type Points = components['schemas']['Points'];

export const metricsMax = 4;
export const groupsMax = 2;
export const filtersMax = 10;
export const valuesMax = 50;
export const valueLengthMax = 1024;

export const aggregates = ['avg', 'min', 'max', 'sum', 'count', 'last'] as const;
export const noPoint =
  'No point of this time has these metrics and fulfils all filters. Take a longer time, or remove a filter.';

/** A condition on a dimension, in the address as a JSON list; null is a point without the dimension. */
export type Filter = {
  readonly dimension: string;
  readonly isNot: boolean;
  readonly values: readonly (string | null)[];
};

export const filterText = ({ dimension, isNot, values }: Filter): string =>
  JSON.stringify([dimension, isNot ? '!=' : '=', ...values]);

const isValue = (value: unknown): value is string | null => value === null || typeof value === 'string';

/** Undefined for anything that `filterText` does not write. */
export const parseFilter = (text: string): Filter | undefined => {
  try {
    const parts: unknown = JSON.parse(text);
    if (!Array.isArray(parts) || parts.length < 3) return undefined;
    const [dimension, operator, ...values]: unknown[] = parts;
    if (typeof dimension !== 'string' || (operator !== '=' && operator !== '!=')) return undefined;
    return values.every(isValue) ? { dimension, isNot: operator === '!=', values } : undefined;
  } catch {
    return undefined;
  }
};

const valueText = (value: string | null): string => (value === null ? '(none)' : plainText(value, 40));

/** `host = web-1, web-2`. */
export const filterWords = ({ dimension, isNot, values }: Filter): string =>
  `${plainText(dimension, 40)} ${isNot ? '≠' : '='} ${values.map(valueText).join(', ')}`;

const conditionOf = ({ dimension, isNot, values }: Filter): NonNullable<PointsQuery['filter']>[number] => {
  const [one, several] = isNot ? (['!=', 'not in'] as const) : (['=', 'in'] as const);
  return { dimension, operator: values.length === 1 ? one : several, values: [...values] };
};

const bucketsMax = 600;
/** The clock of metadata may be ahead of this one, and a query arrives later. */
const slackSeconds = 30;

/** The step of an address; undefined where it has none, or one with more buckets in this time than are answered. */
export const stepOf = (query: URLSearchParams, { since, until }: Period): number | undefined => {
  const step = Number(query.get('step') ?? '');
  if (!Number.isInteger(step) || step <= 0) return undefined;
  const end = until ?? nowSeconds() + slackSeconds;
  return Math.ceil(end / step) - Math.floor(since / step) <= bucketsMax ? step : undefined;
};

/** The query of an address; a text says what it still needs. */
export const queryOf = (query: URLSearchParams, range: Period): PointsQuery | string => {
  const source = query.get('source') ?? '';
  const metrics = query.getAll('metric').slice(0, metricsMax);
  if (source === '') return 'Choose a source.';
  if (metrics.length === 0) return 'Choose a metric.';
  const filters = query.getAll('where').map(parseFilter);
  if (filters.includes(undefined)) return 'A filter of the address cannot be read: remove it.';
  return {
    ...(/^\d{1,15}$/.test(source) ? { data_id: Number(source) } : { table: source }),
    metrics,
    aggregate: aggregates.find((each) => each === query.get('agg')) ?? 'avg',
    filter: filters.flatMap((filter) => (filter === undefined ? [] : conditionOf(filter))),
    group_by: query.getAll('by').slice(0, groupsMax),
    since: range.since,
    until: range.until,
    wide: isWide(range),
    step: stepOf(query, range),
    raw: query.get('show') === 'rows',
  };
};

/** The series of an answer for the chart: keys are their places, since names and values are a sender's. */
export const seriesOf = ({ series, group_by }: Points): readonly Series[] =>
  series.map(({ metric, group, values }, index) => ({
    key: `s${index}`,
    label: [
      plainText(metric, 40),
      ...group.map((value, place) => `${plainText(group_by[place] ?? '', 24)}=${valueText(value)}`),
    ].join(' '),
    mark: index % marks,
    values,
  }));

/** Buckets whose sum is larger than a number can be: they have points, and no value. */
const largeIn = ({ series }: Points): number => new Set(series.flatMap((each) => each.too_large)).size;

/** Whether no bucket has a point. */
export const isEmpty = (points: Points, isCount: boolean): boolean =>
  largeIn(points) === 0 &&
  points.series.every(({ values }) => values.every((value) => value === null || (isCount && value === 0)));

/** What the chart shows; `asked`: the step of the address, which the answer has unless it is too small. */
export const sentenceOf = (points: Points, asked: string | null): string => {
  const { series, series_total, step, buckets } = points;
  const shown = series.length === 1 ? 'One series' : `${series.length} series`;
  const left = series_total > series.length ? ` of ${series_total}, those with most rows` : '';
  const large = largeIn(points);
  const sum = large === 1 ? 'The sum of a bucket is' : `The sums of ${large} buckets are`;
  const isSmall = Number.isInteger(Number(asked)) && Number(asked) > 0 && Number(asked) !== step;
  return [
    `${shown}${left}; ${buckets.length} buckets of ${step ?? 0} s.`,
    ...(isSmall
      ? [`The step ${asked} s would make more than ${bucketsMax} buckets of this time: it is automatic.`]
      : []),
    ...(large > 0
      ? [`${sum} beyond the largest number, 1.8E308: take a shorter step, or another aggregate.`]
      : []),
  ].join(' ');
};
