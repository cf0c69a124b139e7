import { jsonLogs } from '../../../src/rules/logs/json-logs.ts';
import { protobufLogs } from '../../../src/rules/logs/protobuf-logs.ts';
import type { NativeValue } from '../../../src/wire/native/block-reader.ts';
import { logColumns } from '../../../src/wire/native/log-columns.ts';
import type { EncodedItems } from '../../../src/wire/otlp/types.ts';
import { encodeLogsProtobuf, type OtlpLogRecord, type OtlpLogsRequest } from './logs.ts';
import { rowsAsStored } from './sent-rows.ts';
import { contextWith, nanosAt } from './trace-source.ts';

/** A record with which nothing is wrong. */
export const goodRecord = {
  timeUnixNano: nanosAt(-1000, 5),
  observedTimeUnixNano: nanosAt(-900, 6),
  severityNumber: 9,
  severityText: 'Information',
  body: { stringValue: 'Example log record' },
  traceId: '5b8efff798038103d269b633813fc60c',
  spanId: 'eee19b7ec3c1b174',
} as const satisfies OtlpLogRecord;

/** A request of these records, of one resource and one scope. */
export const logsOf = <LogRecords extends readonly unknown[]>(...logRecords: LogRecords) => ({
  resourceLogs: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'cart' } }] },
      scopeLogs: [{ scope: { name: 'scope', version: '1' }, logRecords }],
    },
  ],
});

/** Encodes a JSON body: text or bytes as they are, anything else by JSON.stringify. */
export const encodeLogsOfJson = (body: unknown, context = contextWith()): EncodedItems => {
  if (body instanceof Uint8Array) return jsonLogs.encode(body, context);
  return jsonLogs.encode(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), context);
};

export const encodeLogsOfProtobuf = (request: OtlpLogsRequest, context = contextWith()): EncodedItems =>
  protobufLogs.encode(encodeLogsProtobuf(request), context);

/** A row by column; maps are lists of pairs, so that their order is compared too. */
export type LogRow = Record<string, unknown>;

const asPairs = (value: NativeValue | undefined): unknown => (value instanceof Map ? [...value] : value);

/** The rows of a block, with what it does not send as ClickHouse fills it. */
export const rowsOfLogBlock = (bytes: Uint8Array): LogRow[] =>
  rowsAsStored(bytes, logColumns).map((row) =>
    Object.fromEntries(logColumns.map(({ name }) => [name, asPairs(row[name])])),
  );

/** All rows of an encoded request, by uid. */
export const rowsOfLogs = (encoded: EncodedItems): LogRow[] =>
  encoded.runs
    .flatMap(({ parts }) => parts.flatMap(({ block }) => rowsOfLogBlock(block)))
    .sort((a, b) => (String(a['uid']).padStart(20) < String(b['uid']).padStart(20) ? -1 : 1));

/** The only row of an encoded request. */
export const onlyLogRow = (encoded: EncodedItems): LogRow => {
  const [row, ...others] = rowsOfLogs(encoded);
  if (row === undefined || others.length > 0)
    throw new Error(`expected one row: ${JSON.stringify(encoded.examples)}`);
  return row;
};
