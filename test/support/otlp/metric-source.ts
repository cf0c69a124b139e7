import { jsonMetrics } from '../../../src/rules/data-points/json-metrics.ts';
import { protobufMetrics } from '../../../src/rules/data-points/protobuf-metrics.ts';
import { itemTablesOf } from '../../../src/stores/clickhouse/item-tables.ts';
import type { NativeValue } from '../../../src/wire/native/block-reader.ts';
import { isOmittable } from '../../../src/wire/native/omitted-columns.ts';
import type { EncodedItems, ItemsPart } from '../../../src/wire/otlp/types.ts';
import { encodeMetricsProtobuf, type OtlpMetricsRequest } from './metrics.ts';
import { rowsAsStored } from './sent-rows.ts';
import { contextWith, nanosAt } from './trace-source.ts';

/** A data point with which nothing is wrong. */
export const goodPoint = { timeUnixNano: nanosAt(-1000, 5), asDouble: 1.5 } as const;

/** A gauge of one data point. */
export const goodMetric = { name: 'temperature', gauge: { dataPoints: [goodPoint] } } as const;

/** A request of these metrics, of one resource and one scope. */
export const metricsOf = <Metrics extends readonly unknown[]>(...metrics: Metrics) => ({
  resourceMetrics: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'cart' } }] },
      scopeMetrics: [{ scope: { name: 'scope', version: '1' }, metrics }],
    },
  ],
});

/** Encodes a JSON body: text or bytes as they are, anything else by JSON.stringify. */
export const encodeMetricsOfJson = (body: unknown, context = contextWith()): EncodedItems => {
  if (body instanceof Uint8Array) return jsonMetrics.encode(body, context);
  return jsonMetrics.encode(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), context);
};

export const encodeMetricsOfProtobuf = (request: OtlpMetricsRequest, context = contextWith()): EncodedItems =>
  protobufMetrics.encode(encodeMetricsProtobuf(request), context);

/** A row by column, with its table; maps are lists of pairs, so that their order is compared too. */
export type DataPointRow = Record<string, unknown>;

const plain = (value: NativeValue): unknown => {
  if (value instanceof Map) return [...value].map(([key, each]) => [key, plain(each)]);
  return Array.isArray(value) ? value.map(plain) : value;
};

/** The rows of a part. */
export const rowsOfDataPoints = ({ block, itemTable }: ItemsPart): DataPointRow[] => {
  const columns = itemTablesOf('otel_metrics').find(({ name }) => name === itemTable)?.columns ?? [];
  // Where none has an exemplar, none of their columns is asked for.
  const asked = columns.filter(({ name }) => isOmittable(name));
  return rowsAsStored(block, asked).map((row) => ({
    table: itemTable,
    ...Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])),
  }));
};

/** All rows of an encoded request, by uid. */
export const rowsOfMetrics = (encoded: EncodedItems): DataPointRow[] =>
  encoded.runs
    .flatMap(({ parts }) => parts.flatMap(rowsOfDataPoints))
    .sort((a, b) => (String(a['uid']).padStart(20) < String(b['uid']).padStart(20) ? -1 : 1));

/** The only row of an encoded request. */
export const onlyDataPoint = (encoded: EncodedItems): DataPointRow => {
  const [row, ...others] = rowsOfMetrics(encoded);
  if (row === undefined || others.length > 0)
    throw new Error(`expected one row: ${JSON.stringify(encoded.examples)}`);
  return row;
};

const secondsOf = (nanos: unknown): string => {
  const text = String(nanos).padStart(19, '0');
  return `${text.slice(0, -9)}.${text.slice(-9)}`;
};

const mapNames = new Set(['ResourceAttributes', 'ScopeAttributes', 'Attributes', 'MetricMetadata']);

const jsonValue = (value: unknown): unknown => {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value).toLowerCase();
  return Array.isArray(value) ? value.map(jsonValue) : value;
};

/** A row as JSONEachRow takes it. */
export const asJsonEachRow = ({ table: _, ...row }: DataPointRow): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (name === 'StartTimeUnix' || name === 'TimeUnix') return [name, secondsOf(value)];
      if (name === 'ArrivedAt') return [name, secondsOf(BigInt(String(value)) * 1_000_000n)];
      if (!Array.isArray(value)) return [name, jsonValue(value)];
      if (name === 'Exemplars.TimeUnix') return [name, value.map(secondsOf)];
      if (name === 'Exemplars.FilteredAttributes')
        return [name, value.map((pairs) => Object.fromEntries(pairs))];
      return [name, mapNames.has(name) ? Object.fromEntries(value) : jsonValue(value)];
    }),
  );
