import { contentTypes } from '../otlp/client.ts';
import { encodeLogsProtobuf, type OtlpLogsRequest } from '../otlp/logs.ts';
import { encodeMetricsProtobuf, type OtlpMetricsRequest } from '../otlp/metrics.ts';
import { randomOf } from '../otlp/plain/mutations.ts';
import { encodeOtlpProtobuf, type OtlpRequest } from '../otlp/protobuf.ts';
import type { PushRequest } from '../push/client.ts';
import { compressors } from '../push/replies.ts';
import type { Encoding, Receiver, RequestForm } from './examples.ts';
import { fill, jsonText, type Lookup } from './values.ts';

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A span that keeps every rule, with what a case gives it; what is no object goes as it is. */
const spanOf = (change: unknown, index: number, lookup: Lookup): unknown => {
  if (!isPlain(change)) return change;
  const number = (index + 1).toString(16);
  return {
    traceId: number.padStart(32, 'a'),
    spanId: number.padStart(16, 'b'),
    name: `span ${index}`,
    kind: 1,
    startTimeUnixNano: fill('$nanos', lookup),
    endTimeUnixNano: fill('$nanos+5ms', lookup),
    ...change,
  };
};

/** The same of a log record. */
const recordOf = (change: unknown, index: number, lookup: Lookup): unknown =>
  isPlain(change)
    ? {
        timeUnixNano: fill('$nanos', lookup),
        severityNumber: 9,
        body: { stringValue: `record ${index}` },
        ...change,
      }
    : change;

/** The same of a data point of a gauge. */
const dataPointOf = (change: unknown, index: number, lookup: Lookup): unknown =>
  isPlain(change)
    ? {
        timeUnixNano: fill('$nanos', lookup),
        asDouble: index,
        attributes: [{ key: 'index', value: { stringValue: String(index) } }],
        ...change,
      }
    : change;

const listOf = (
  form: unknown,
  itemOf: (change: unknown, index: number, lookup: Lookup) => unknown,
  lookup: Lookup,
): unknown => {
  const filled = fill(form, lookup);
  return Array.isArray(filled) ? filled.map((item, index) => itemOf(item, index, lookup)) : filled;
};

const logicalOf = (form: RequestForm, lookup: Lookup): unknown => {
  const attributes = [{ key: 'service.name', value: { stringValue: 'checkout' } }];
  const [resource, scope] = [{ attributes }, { name: 'example' }];
  if (form.records !== undefined) {
    const logRecords = listOf(form.records, recordOf, lookup);
    return { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] };
  }
  if (form.data_points !== undefined) {
    const dataPoints = listOf(form.data_points, dataPointOf, lookup);
    return {
      resourceMetrics: [
        { resource, scopeMetrics: [{ scope, metrics: [{ name: 'load', gauge: { dataPoints } }] }] },
      ],
    };
  }
  if (form.spans === undefined) return fill(form.otlp, lookup);
  const spans = listOf(form.spans, spanOf, lookup);
  return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] };
};

const protobufOf = (receiver: Receiver, text: string): Buffer => {
  if (receiver === 'logs') {
    const request: OtlpLogsRequest = JSON.parse(text);
    return encodeLogsProtobuf(request);
  }
  if (receiver === 'metrics') {
    const request: OtlpMetricsRequest = JSON.parse(text);
    return encodeMetricsProtobuf(request);
  }
  const request: OtlpRequest = JSON.parse(text);
  return encodeOtlpProtobuf(request);
};

const plainBody = (
  receiver: Receiver,
  form: RequestForm,
  encoding: Encoding,
  lookup: Lookup,
): string | Buffer | undefined => {
  if (form.points !== undefined || form.with !== undefined) {
    const body = { data_id: lookup('data_id', 'own'), access_token: lookup('token', 'own') };
    const data = form.points === undefined ? undefined : fill(form.points, lookup);
    return jsonText({ ...body, data, ...Object(fill(form.with ?? {}, lookup)) });
  }
  if ([form.spans, form.records, form.data_points, form.otlp].some((body) => body !== undefined)) {
    const text = jsonText(logicalOf(form, lookup));
    return encoding === 'json' ? text : protobufOf(receiver, text);
  }
  if (form.json !== undefined) return jsonText(fill(form.json, lookup));
  if (form.text !== undefined) return String(fill(form.text, lookup));
  if (form.base64 !== undefined) return Buffer.from(form.base64, 'base64');
  return undefined;
};

/** Blanks with line feeds here and there: equal ones would become a thousandth by compression, and be refused for that. */
const padded = (bytes: Buffer, length: number): Buffer => {
  const buffer = Buffer.alloc(length, ' ');
  const random = randomOf(1);
  for (let at = bytes.length; at < length; at += 200 + random(400)) buffer[at] = 0x0a;
  bytes.copy(buffer);
  return buffer;
};

const damaged = (bytes: Buffer, how: RequestForm['damage']): Buffer => {
  if (how === 'cut_6_bytes') return bytes.subarray(0, -6);
  if (how === 'again_behind_zeros') return Buffer.concat([bytes, Buffer.alloc(16), bytes]);
  if (how === 'flip_third_last_byte')
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 3) ^ 0xff, bytes.length - 3);
  return bytes;
};

const inChunks = (bytes: Buffer, count: number): Buffer[] => {
  const size = Math.ceil(bytes.length / count);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
};

/** The bytes of a body; undefined where a request has none. */
export const bodyBytes = (
  receiver: Receiver,
  form: RequestForm,
  encoding: Encoding,
  lookup: Lookup,
): Buffer | undefined => {
  const plain = plainBody(receiver, form, encoding, lookup);
  if (plain === undefined) return undefined;
  const parts = [String(fill(form.prefix ?? '', lookup)), plain, String(fill(form.suffix ?? '', lookup))];
  let bytes: Buffer = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)),
  );
  if (form.cut !== undefined) bytes = bytes.subarray(0, -form.cut);
  if (form.pad_to !== undefined) bytes = padded(bytes, form.pad_to);
  const compression = form.content_encoding ?? form.compress;
  if (compression !== undefined) bytes = compressors[compression](bytes);
  return damaged(bytes, form.damage);
};

const paths: Readonly<Record<Receiver, string>> = {
  push: '/v2/push/',
  traces: '/v1/traces',
  logs: '/v1/logs',
  metrics: '/v1/metrics',
};

/** The request as it goes over the wire. */
export const buildRequest = (
  receiver: Receiver,
  form: RequestForm,
  encoding: Encoding,
  lookup: Lookup,
): PushRequest => {
  const bytes = bodyBytes(receiver, form, encoding, lookup);
  const headers: Record<string, string> = {};
  if (receiver !== 'push') {
    headers['content-type'] = contentTypes[encoding];
    if (form.credential !== 'none')
      headers['x-mon-token'] = String(fill(form.credential ?? '$token', lookup));
  }
  if (form.content_encoding !== undefined) headers['content-encoding'] = form.content_encoding;
  for (const [name, value] of Object.entries(form.headers ?? {})) {
    const filled = fill(value, lookup);
    if (filled === undefined) delete headers[name.toLowerCase()];
    else headers[name.toLowerCase()] = String(filled);
  }
  const body = bytes === undefined || form.chunks === undefined ? bytes : inChunks(bytes, form.chunks);
  return {
    ...(form.method === undefined ? {} : { method: form.method }),
    path: form.path ?? paths[receiver],
    headers,
    ...(body === undefined ? {} : { body }),
  };
};
