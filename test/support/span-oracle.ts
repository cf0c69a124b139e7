import { validateSpanTime } from '../../src/model/span-time.ts';
import { type NativeValue, readBlock } from '../../src/wire/native/block-reader.ts';
import { spanColumns } from '../../src/wire/native/span-columns.ts';
import type { EncodedTraces, SpanOwner, TracesContext } from '../../src/wire/otlp/types.ts';
import type {
  OtlpAttribute,
  OtlpRequest,
  OtlpResourceSpans,
  OtlpScopeSpans,
  OtlpSpan,
  OtlpValue,
} from './otlp-protobuf.ts';

/** A row by column; maps are lists of pairs, so that their order is compared too. */
export type SpanRow = Record<string, unknown>;

/** What is to become of one span: its row, or why there is none. */
export type Fate = { readonly ordinal: number } & (
  | { readonly kind: 'row'; readonly appId: number; readonly row: SpanRow }
  | { readonly kind: 'rejected' | 'deferred'; readonly appId: number | undefined; readonly reason: string }
);

const scalarText = (value: OtlpValue): string | undefined => {
  if ('stringValue' in value) return value.stringValue;
  if ('boolValue' in value) return String(value.boolValue);
  if ('intValue' in value) return value.intValue;
  if ('bytesValue' in value) return value.bytesValue;
  if (!('doubleValue' in value)) return undefined;
  if (value.doubleValue === 'Infinity') return '+Inf';
  return value.doubleValue === '-Infinity' ? '-Inf' : String(value.doubleValue);
};

const nestedText = (value: OtlpValue): string => {
  if ('arrayValue' in value) return `[${(value.arrayValue.values ?? []).map(nestedText).join(',')}]`;
  if ('kvlistValue' in value) {
    const entries = lastOf(
      (value.kvlistValue.values ?? []).map((entry) => [entry.key ?? '', nestedText(entry.value ?? {})]),
    );
    return `{${entries.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;
  }
  const text = scalarText(value);
  if (text === undefined) return 'null';
  const isNumber = 'doubleValue' in value && typeof value.doubleValue === 'number';
  const isBare = 'boolValue' in value || 'intValue' in value || isNumber;
  return isBare ? text : JSON.stringify(text);
};

/** Of pairs with one key the last, at its place. */
const lastOf = (pairs: [string, string][]): [string, string][] =>
  pairs.filter(([key], index) => !pairs.slice(index + 1).some(([later]) => later === key));

/** The text a row holds for a value. */
export const textOf = (value: OtlpValue | undefined): string => {
  if (value === undefined) return '';
  return 'arrayValue' in value || 'kvlistValue' in value ? nestedText(value) : (scalarText(value) ?? '');
};

const mapOf = (attributes: OtlpAttribute[] | undefined): [string, string][] =>
  lastOf((attributes ?? []).map(({ key, value }) => [key ?? '', textOf(value)]));

const placeholders = ['', '0.0.0.0', '127.0.0.1'];

const resourceMap = (
  attributes: OtlpAttribute[] | undefined,
  owner: SpanOwner,
  clientIp: string,
): [string, string][] => {
  const pairs = mapOf(attributes).filter(([key]) => key !== 'mon.data.token');
  const host = pairs.find(([key]) => key === 'net.host.ip');
  if (!owner.fillDimensions || placeholders.includes(clientIp)) return pairs;
  if (host === undefined) pairs.push(['net.host.ip', clientIp]);
  else if (placeholders.includes(host[1])) host[1] = clientIp;
  return pairs;
};

const kinds = ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer'];
const codes = ['Unset', 'Ok', 'Error'];
const isId = (id: string | undefined, length: number): boolean => id?.length === length && /[^0]/.test(id);

const isEventTime = (time: string | undefined): boolean =>
  validateSpanTime(time, time, 0, { aheadMsMax: undefined, ageMsMax: undefined }) === undefined;

const rowOf = (
  span: OtlpSpan,
  scope: OtlpScopeSpans['scope'],
  resource: OtlpResourceSpans['resource'],
  owner: SpanOwner,
  context: TracesContext,
  ordinal: number,
): SpanRow => {
  const start = BigInt(span.startTimeUnixNano ?? 0);
  const events = (span.events ?? []).filter(({ timeUnixNano }) => isEventTime(timeUnixNano));
  const links = (span.links ?? []).filter(({ traceId, spanId }) => isId(traceId, 32) && isId(spanId, 16));
  const attributes = mapOf(resource?.attributes);
  return {
    Timestamp: start,
    TraceId: span.traceId,
    SpanId: span.spanId,
    ParentSpanId: isId(span.parentSpanId, 16) ? span.parentSpanId : '',
    TraceState: span.traceState ?? '',
    SpanName: span.name ?? '',
    SpanKind: kinds[span.kind ?? 0] ?? 'Unspecified',
    ServiceName: attributes.find(([key]) => key === 'service.name')?.[1] ?? '',
    ResourceAttributes: resourceMap(resource?.attributes, owner, context.clientIp),
    ScopeName: scope?.name ?? '',
    ScopeVersion: scope?.version ?? '',
    SpanAttributes: mapOf(span.attributes),
    Duration: BigInt(span.endTimeUnixNano ?? 0) - start,
    StatusCode: codes[span.status?.code ?? 0] ?? 'Unset',
    StatusMessage: span.status?.message ?? '',
    'Events.Timestamp': events.map(({ timeUnixNano }) => BigInt(timeUnixNano ?? 0)),
    'Events.Name': events.map(({ name }) => name ?? ''),
    'Events.Attributes': events.map(({ attributes }) => mapOf(attributes)),
    'Links.TraceId': links.map(({ traceId }) => traceId),
    'Links.SpanId': links.map(({ spanId }) => spanId),
    'Links.TraceState': links.map(({ traceState }) => traceState ?? ''),
    'Links.Attributes': links.map(({ attributes }) => mapOf(attributes)),
    uid: BigInt(context.base.text) + BigInt(ordinal),
    AppId: BigInt(owner.appId),
    BizId: BigInt(owner.bizId),
    ArrivedAt: BigInt(context.arrivedAt),
  };
};

/** What is to become of each span of a canonical request that is within the limits, by the design alone. */
export const fatesOf = (request: OtlpRequest, context: TracesContext): Fate[] => {
  const fates: Fate[] = [];
  for (const { resource, scopeSpans } of request.resourceSpans ?? []) {
    const token = mapOf(resource?.attributes).find(([key]) => key === 'mon.data.token')?.[1];
    const owner = context.resolve(token);
    for (const { scope, spans } of scopeSpans ?? []) {
      for (const span of spans ?? []) fates.push(fateOf(span, scope, resource, owner, context, fates.length));
    }
  }
  return fates;
};

const fateOf = (
  span: OtlpSpan,
  scope: OtlpScopeSpans['scope'],
  resource: OtlpResourceSpans['resource'],
  owner: SpanOwner | 'invalid' | 'disabled',
  context: TracesContext,
  ordinal: number,
): Fate => {
  const rejected = (reason: string, appId?: number): Fate => ({ ordinal, kind: 'rejected', appId, reason });
  if (owner === 'invalid') return rejected('token_invalid');
  if (owner === 'disabled') return rejected('application_disabled');
  const { appId, policy } = owner;
  if (!isId(span.traceId, 32)) return rejected('trace_id_invalid', appId);
  if (!isId(span.spanId, 16)) return rejected('span_id_invalid', appId);
  if (![0, 16].includes(span.parentSpanId?.length ?? 0)) return rejected('parent_span_id_invalid', appId);
  const reason = validateSpanTime(span.startTimeUnixNano, span.endTimeUnixNano, context.arrivedAt, policy);
  if (reason !== undefined) return { ordinal, kind: 'deferred', appId, reason };
  return { ordinal, kind: 'row', appId, row: rowOf(span, scope, resource, owner, context, ordinal) };
};

const asPairs = (value: NativeValue | undefined): unknown => {
  if (value instanceof Map) return [...value];
  return Array.isArray(value) ? value.map(asPairs) : value;
};

/** A block's rows, with what it does not send as ClickHouse fills it. */
export const rowsOfBlock = (bytes: Uint8Array): SpanRow[] => {
  const block = readBlock(bytes);
  return Array.from({ length: block.rows }, (_, index) => {
    const row = block.row(index);
    return Object.fromEntries(spanColumns.map(({ name }) => [name, asPairs(row[name] ?? [])]));
  });
};

/** All rows of an encoded request, by uid. */
export const rowsOfTraces = (encoded: EncodedTraces): SpanRow[] =>
  encoded.runs
    .flatMap(({ parts }) => parts.flatMap(({ block }) => rowsOfBlock(block)))
    .sort((a, b) => (String(a['uid']).padStart(20) < String(b['uid']).padStart(20) ? -1 : 1));
