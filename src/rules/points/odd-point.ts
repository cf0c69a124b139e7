import { counted } from '../../model/counted.ts';
import { type DropReason, explain, type TimeReason } from '../../model/reasons.ts';
import { type TimePolicy, validatePointTime } from '../../model/time.ts';
import { isValidName } from '../../wire/column-naming.ts';
import { doubleText } from '../../wire/line-protocol.ts';
import { runBudget } from './cutting.ts';
import type { PointColumns } from './point-columns.ts';
import { hasWrittenWholes, isLongId, writtenWhole } from './push-value.ts';

const nul = '\u0000';

type JsonObject = Record<string, unknown>;

/** Whether a value is a JSON object; arrays are not. */
const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value in the form of an answer. Objects are not shown: they may be as deep and as large as a body. */
const shown = (value: unknown): string => {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
};

const namePatternText = 'expected ^[a-zA-Z_][a-zA-Z0-9_]*$, at most 100 characters';

const shownName = (name: string): string => (name.length > 80 ? `${name.slice(0, 80)}…` : name);

/** Why a point has no rows. */
export type Drop = {
  readonly reason: DropReason;
  readonly field: string;
  readonly detail: string;
  /** The value as it was sent, shortened; empty where none is shown. */
  readonly got: string;
};

/** A point that is deferred for its time, as a text. */
export type DeferredOdd = {
  readonly kind: 'deferred';
  readonly reason: TimeReason;
  readonly timestamp: unknown;
  readonly got: string;
  readonly text: string;
};

/** The result of a point that the reader did not accept; `text` of a kept one is JSON that the reader accepts. */
export type OddPoint =
  | ({ readonly kind: 'dropped' } & Drop)
  | DeferredOdd
  | { readonly kind: 'kept'; readonly text: string };

export type OddPointContext = {
  readonly metrics: PointColumns;
  readonly metricsMax: number;
  readonly isKeyed: boolean;
  readonly arrivedAt: number;
  readonly policy: TimePolicy;
};

const drop = (reason: DropReason, field: string, detail: string, got = ''): Drop => ({
  reason,
  field,
  detail,
  got,
});

const columnsRemedy = explain('metric_columns_exceeded')?.remedy ?? '';

/** Why a metric has no column, and what to do about it. */
export const columnsExceeded = (metricsMax: number): string =>
  `the table is at the limit of ${counted(metricsMax, 'metric')}; ${columnsRemedy}`;

/**
 * The number of ordinals of a point: one; in a narrow table one per metric. It depends only on the point as it was sent
 * (architecture 5.1).
 */
export const ordinalsOf = (point: unknown, isNarrow: boolean): number => {
  if (!isNarrow || !isObject(point) || !isObject(point.metrics)) return 1;
  return Math.max(1, Object.keys(point.metrics).length);
};

const metricsFault = (metrics: unknown, context: OddPointContext): Drop | undefined => {
  if (!isObject(metrics)) {
    return metrics === undefined
      ? drop('metrics_missing', 'metrics', 'it is missing')
      : drop('metrics_missing', 'metrics', '', shown(metrics));
  }
  const { metrics: columns, metricsMax } = context;
  let isEmpty = true;
  let hasColumn = false;
  for (const name in metrics) {
    const value = metrics[name];
    isEmpty = false;
    if (!isValidName(name)) return drop('metric_name_invalid', `metrics.${shownName(name)}`, namePatternText);
    if (typeof value !== 'number')
      return drop('metric_value_invalid', `metrics.${name}`, 'expected a number', shown(value));
    if (!Number.isFinite(value)) return drop('metric_not_finite', `metrics.${name}`, '', String(value));
    hasColumn ||= columns.hasFor(name);
  }
  if (isEmpty) return drop('metrics_empty', 'metrics', 'it is empty');
  if (hasColumn) return undefined;
  return drop('metric_columns_exceeded', 'metrics', columnsExceeded(metricsMax));
};

const dimensionsFault = (point: JsonObject): Drop | undefined => {
  const isAlias = point.dimension === undefined || point.dimension === null;
  const [field, dimensions] = isAlias ? ['dimensions', point.dimensions] : ['dimension', point.dimension];
  if (dimensions === undefined || dimensions === null) return undefined;
  if (!isObject(dimensions)) return drop('dimension_invalid', field, 'expected an object', shown(dimensions));
  for (const name in dimensions) {
    const value = dimensions[name];
    if (!isValidName(name))
      return drop('dimension_name_invalid', `${field}.${shownName(name)}`, namePatternText);
    if (typeof value === 'object' && value !== null)
      return drop('dimension_invalid', `${field}.${name}`, 'expected a string', shown(value));
    if (String(value).includes(nul))
      return drop('dimension_invalid', `${field}.${name}`, 'it contains U+0000, which QuestDB refuses');
  }
  return undefined;
};

const targetFault = (target: unknown): Drop | undefined => {
  if (target === undefined || target === null || typeof target === 'number') return undefined;
  if (typeof target !== 'string') return drop('target_invalid', 'target', 'expected a string', shown(target));
  return target.includes(nul)
    ? drop('target_invalid', 'target', 'it contains U+0000, which QuestDB refuses')
    : undefined;
};

const rawTimeLengthMax = 64;

/** A time that failed, for the validation in transfer: a text that is not a number always fails, so a short piece is enough. */
const rawTime = (raw: unknown): number | string | null => {
  if (typeof raw === 'number') return raw;
  return typeof raw === 'string' ? raw.slice(0, rawTimeLengthMax) : null;
};

/** The text of a deferred point: the fields that the specification names, and no field that a sender added. */
const deferredText = (point: JsonObject): string =>
  JSON.stringify({
    metrics: point.metrics,
    target: point.target,
    dimension: point.dimension ?? point.dimensions,
    timestamp: rawTime(point.timestamp),
  });

/** Defers a point whose time alone failed. */
export const deferPoint = (point: unknown, reason: TimeReason): DeferredOdd => {
  const members = isObject(point) ? point : {};
  const { timestamp } = members;
  return { kind: 'deferred', reason, timestamp, got: shown(timestamp), text: deferredText(members) };
};

/** A value as the text of a row: an id of 64 bits with the digits that were sent. */
const textOf = (around: unknown, name: string, value: unknown): string => {
  const written = writtenWhole(around, name);
  return written !== undefined && isLongId(written) ? written : String(value);
};

const isMinusZero = (value: unknown): boolean => Object.is(value, -0);

/** Valid metrics as JSON. `JSON.stringify` alone would lose digits, and the sign of a zero. */
const cleanMetrics = (metrics: object): string => {
  if (!hasWrittenWholes(metrics) && !Object.values(metrics).some(isMinusZero)) return JSON.stringify(metrics);
  // The digits that were sent, so that the reader counts those that no double holds.
  const values = Object.entries(metrics).map(
    ([name, value]) => `${JSON.stringify(name)}:${writtenWhole(metrics, name) ?? doubleText(Number(value))}`,
  );
  return `{${values}}`;
};

const isTextOrNull = (value: unknown): boolean => typeof value === 'string' || value === null;

/** Valid dimensions as JSON: texts as they are, every other value as the text that it becomes. */
const cleanDimensions = (dimensions: object): string => {
  if (Object.values(dimensions).every(isTextOrNull)) return JSON.stringify(dimensions);
  const tags = Object.entries(dimensions).map(
    ([name, value]) =>
      `${JSON.stringify(name)}:${value === null ? 'null' : JSON.stringify(textOf(dimensions, name, value))}`,
  );
  return `{${tags}}`;
};

/** A valid point in the form that the reader accepts: each name once. */
const cleanText = (point: JsonObject): string => {
  const { target, timestamp } = point;
  const metrics = cleanMetrics(Object(point.metrics));
  const dimensions = cleanDimensions(Object(point.dimension ?? point.dimensions ?? {}));
  const time = timestamp === undefined || timestamp === null ? 'null' : String(timestamp);
  const target_ = JSON.stringify(textOf(point, 'target', target ?? ''));
  return `{"metrics":${metrics},"target":${target_},"dimension":${dimensions},"timestamp":${time}}`;
};

/**
 * Applies the rules of architecture 4.3 to a point as an object, which `PointReader` did not accept. `isTooLarge`: its rows cost
 * more than the limit of a message.
 */
export const readOddPoint = (point: unknown, isTooLarge: boolean, context: OddPointContext): OddPoint => {
  if (!isObject(point)) return { kind: 'dropped', ...drop('point_not_object', '', '', shown(point)) };
  // First of all: the members of a point may be as large as the body.
  const fault = isTooLarge
    ? drop('item_too_large', '', `the rows of the point need more than ${runBudget} bytes`)
    : (metricsFault(point.metrics, context) ?? dimensionsFault(point) ?? targetFault(point.target));
  if (fault !== undefined) return { kind: 'dropped', ...fault };
  const { timestamp } = point;
  if (timestamp === undefined || timestamp === null) {
    if (!context.isKeyed) return { kind: 'kept', text: cleanText(point) };
    const why = 'a request with an Idempotency-Key needs the timestamp, the same one in each retry';
    return { kind: 'dropped', ...drop('timestamp_required_with_key', 'timestamp', why) };
  }
  const reason = validatePointTime(timestamp, context.arrivedAt, context.policy);
  if (reason === undefined) return { kind: 'kept', text: cleanText(point) };
  return deferPoint(point, reason);
};
