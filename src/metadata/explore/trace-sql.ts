import type { Period } from './period.ts';
import {
  type Applications,
  type AttributeMatch,
  appParts,
  attributeParts,
  nanosOf,
  type Part,
  periodPart,
  type Statement,
  statement,
} from './statement.ts';

export const statuses = ['unset', 'ok', 'error'] as const;

/** An attribute that a span, or its resource, has with exactly this value. */
export type AttributeCondition = AttributeMatch & { readonly scope: 'span' | 'resource' };

/** Conditions that one span of a trace fulfils together. Durations are nanoseconds. */
export type SpanConditions = {
  readonly applications: Applications;
  readonly service?: string | undefined;
  readonly span_name?: string | undefined;
  readonly status?: (typeof statuses)[number] | undefined;
  readonly durationMin?: bigint | undefined;
  readonly durationMax?: bigint | undefined;
  readonly attributes: readonly AttributeCondition[];
};

/** Where a list of traces ended: the newest matching span of its last trace, nanoseconds since 1970. */
export type TracePlace = { readonly at: bigint; readonly id: string };

const statusTexts = { unset: 'Unset', ok: 'Ok', error: 'Error' } as const;
const columnOfScope = { span: 'SpanAttributes', resource: 'ResourceAttributes' } as const;

const conditionParts = (conditions: SpanConditions): Part[] => {
  const { applications, service, span_name: span, status, durationMin, durationMax, attributes } = conditions;
  const parts = appParts(applications);
  if (service !== undefined) parts.push(['ServiceName = {service:String}', { service }]);
  if (span !== undefined) parts.push(['SpanName = {span:String}', { span }]);
  if (status !== undefined) parts.push(['StatusCode = {status:String}', { status: statusTexts[status] }]);
  if (durationMin !== undefined) parts.push(['Duration >= {least:UInt64}', { least: String(durationMin) }]);
  if (durationMax !== undefined) parts.push(['Duration <= {most:UInt64}', { most: String(durationMax) }]);
  return [...parts, ...attributeParts(attributes, ({ scope }) => columnOfScope[scope])];
};

const newest = 'max(Timestamp)';

/** Traces with a matching span in a window of time, by their newest one: `id`, `at`. */
export const findSql = (
  conditions: SpanConditions,
  [since, until]: readonly [bigint, bigint],
  before: TracePlace | undefined,
  limit: number,
): Statement => {
  const after =
    before === undefined
      ? ''
      : ` HAVING (toUnixTimestamp64Nano(${newest}), TraceId) < ({beforeAt:Int64}, {beforeId:String})`;
  return statement(
    `SELECT TraceId AS id, toUnixTimestamp64Nano(${newest}) AS at FROM otel.otel_traces`,
    [periodPart(since, until), ["TraceId != ''", {}], ...conditionParts(conditions)],
    ` GROUP BY TraceId${after} ORDER BY ${newest} DESC, TraceId DESC LIMIT ${limit}`,
    before === undefined ? {} : { beforeAt: String(before.at), beforeId: before.id },
  );
};

/** Those of these traces that match in a window, too. */
export const matchesSql = (
  conditions: SpanConditions,
  [since, until]: readonly [bigint, bigint],
  ids: readonly string[],
): Statement =>
  statement(
    'SELECT DISTINCT TraceId AS id FROM otel.otel_traces',
    [periodPart(since, until), ['TraceId IN {ids:Array(String)}', { ids }], ...conditionParts(conditions)],
    '',
  );

/** The times of traces by the lookup of their ids, which is far smaller than the spans. */
const ofTraces = (condition: string): string => {
  // In the type of Timestamp: compared with a DateTime, 26.7 skips the part whose first span lies in the last second of the bound.
  const bound = (what: string): string =>
    `(SELECT toDateTime64(${what}, 9) FROM otel.otel_traces_trace_id_ts WHERE TraceId ${condition})`;
  return `TraceId ${condition} AND Timestamp >= ${bound('min(Start)')} AND Timestamp < ${bound('max(End) + 1')}`;
};

const ended = 'toUnixTimestamp64Nano(Timestamp) + toInt64(least(Duration, 4611686018427387904))';

/** One row per trace, over all its spans. A span that is stored twice counts once. */
export const summarySql = (ids: readonly string[]): Statement =>
  statement(
    'SELECT TraceId AS id, toUnixTimestamp64Nano(min(Timestamp)) AS start, ' +
      `max(${ended}) - toUnixTimestamp64Nano(min(Timestamp)) AS duration, ` +
      "uniqExact(uid) AS spans, uniqExactIf(uid, StatusCode = 'Error') AS errors, " +
      "uniqExact(ServiceName) AS services, countIf(ParentSpanId = '') > 0 AS has_root, " +
      "argMin(SpanName, (ParentSpanId != '', Timestamp)) AS root_name, " +
      "argMin(ServiceName, (ParentSpanId != '', Timestamp)) AS root_service FROM otel.otel_traces",
    [[ofTraces('IN {ids:Array(String)}'), { ids }]],
    ' GROUP BY TraceId',
  );

const one = (id: string): readonly Part[] => [[ofTraces('= {id:String}'), { id }]];

const lengthsOf = (map: string): string => `arrayMap(text -> length(text), mapValues(${map}))`;
const nestedLengths = (column: string): string =>
  `arrayFlatten(arrayMap(each -> ${lengthsOf('each')}, ${column}))`;

/** The bytes of the texts of a span that may be long. */
const spanLengths =
  `arrayConcat([length(StatusMessage)], ${lengthsOf('SpanAttributes')}, ` +
  `${nestedLengths('Events.Attributes')}, ${nestedLengths('Links.Attributes')})`;

/** The number of spans of a trace, that of their rows, and the bytes of the values of all rows, those of resources apart. */
export const countSql = (id: string): Statement =>
  statement(
    'SELECT uniqExact(uid) AS spans, count() AS span_rows, ' +
      `sum(arraySum(${spanLengths})) AS span_bytes, sum(arraySum(${lengthsOf('ResourceAttributes')})) AS resource_bytes FROM otel.otel_traces`,
    one(id),
    '',
  );

/**
 * The most bytes of a value with which values of these lengths take `bytes` at most, as `<name>_longest`: an equal share each, and what
 * short ones leave of theirs is for the long ones.
 */
const longest = (name: string, lengths: string, bytes: string): string =>
  [
    `${lengths} AS ${name}_lengths, arraySum(${name}_lengths) AS ${name}_bytes`,
    `arrayFilter(each -> each > intDiv(${bytes}, greatest(length(${name}_lengths), 1)), ${name}_lengths) AS ${name}_long`,
    `if(${name}_bytes <= ${bytes}, ${bytes}, intDiv(${bytes} + arraySum(${name}_long) - ${name}_bytes, ` +
      `greatest(length(${name}_long), 1))) AS ${name}_longest`,
  ].join(', ');

/** A text that says how long it is where it is shortened; no character is cut in two. */
const shortened = (text: string, name: string): string =>
  `if(length(${text}) <= ${name}_longest, ${text}, concat(` +
  `substringUTF8(${text}, 1, lengthUTF8(substring(${text}, 1, ${name}_longest))), '… (', toString(length(${text})), ' bytes)'))`;

const shortenedPairs = (column: string, name: string): string =>
  `mapKeys(${column}) AS ${name}_keys, ` +
  `arrayMap(text -> ${shortened('text', name === 'resource' ? name : 'span')}, mapValues(${column})) AS ${name}_values`;

const nestedPairs = (column: string, name: string): string =>
  `arrayMap(each -> mapKeys(each), ${column}) AS ${name}_keys, ` +
  `arrayMap(each -> arrayMap(text -> ${shortened('text', 'span')}, mapValues(each)), ${column}) AS ${name}_values`;

/** Bytes that the values of all rows may take: with keys and names they have to stay below the bytes of one result. */
const valueBytesMax = { span: 32 * 2 ** 20, resource: 16 * 2 ** 20 } as const;

/** What the values of one row may take: as much as all where all have room, else an equal share. */
const shareOf = (bytesMax: number, bytes: number, shown: number): string =>
  String(bytes <= bytesMax ? bytesMax : Math.floor(bytesMax / shown));

/** The rows of a trace, and the bytes of their values. */
export type TraceSize = {
  readonly rows: number;
  readonly spanBytes: number;
  readonly resourceBytes: number;
};

/**
 * The first spans of a trace of this size, by time. Rows of one span follow each other. Where their values are too many bytes together,
 * the long ones are shortened; those of a resource apart, so that spans of one resource still have the same.
 */
export const spansSql = (
  id: string,
  { rows, spanBytes, resourceBytes }: TraceSize,
  limit: number,
): Statement => {
  const shown = Math.max(1, Math.min(rows, limit));
  return statement(
    `WITH ${longest('span', spanLengths, '{spanBytes:UInt64}')}, ` +
      `${longest('resource', lengthsOf('ResourceAttributes'), '{resourceBytes:UInt64}')} SELECT ${[
        'uid, SpanId AS span_id, ParentSpanId AS parent_span_id, TraceState AS trace_state, SpanName AS name, SpanKind AS kind',
        'ServiceName AS service, ScopeName AS scope_name, ScopeVersion AS scope_version',
        'toUnixTimestamp64Nano(Timestamp) AS start, Duration AS duration, AppId AS app_id',
        `StatusCode AS status, ${shortened('StatusMessage', 'span')} AS status_message`,
        shortenedPairs('SpanAttributes', 'attribute'),
        shortenedPairs('ResourceAttributes', 'resource'),
        'arrayMap(each -> toUnixTimestamp64Nano(each), Events.Timestamp) AS event_times, Events.Name AS event_names',
        nestedPairs('Events.Attributes', 'event'),
        'Links.TraceId AS link_traces, Links.SpanId AS link_spans, Links.TraceState AS link_states',
        nestedPairs('Links.Attributes', 'link'),
      ].join(', ')} FROM otel.otel_traces`,
    one(id),
    ` ORDER BY Timestamp, uid LIMIT ${limit}`,
    {
      spanBytes: shareOf(valueBytesMax.span, spanBytes, shown),
      resourceBytes: shareOf(valueBytesMax.resource, resourceBytes, shown),
    },
  );
};

/** Services and the names of their spans, those with most spans first. */
export const servicesSql = ({ since, until }: Period, applications: Applications, limit: number): Statement =>
  statement(
    'SELECT ServiceName AS service, SpanName AS name, count() AS spans FROM otel.otel_traces',
    [periodPart(nanosOf(since), nanosOf(until)), ...appParts(applications)],
    ` GROUP BY ServiceName, SpanName ORDER BY spans DESC, service, name LIMIT ${limit}`,
  );
