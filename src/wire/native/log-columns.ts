/** A column of the table of log records: its name and its type in ClickHouse. */
export type LogColumn = { readonly name: string; readonly type: string };

const lowString = 'LowCardinality(String)';
const attributes = 'Map(LowCardinality(String), String)';

/**
 * The columns of `otel.otel_logs` in order: those of the OpenTelemetry ClickHouse exporter, then those of Tidemark
 * (architecture 9). The table follows this list and the blocks carry it; a block may have a column in another type
 * that ClickHouse casts.
 */
export const logColumns = [
  { name: 'Timestamp', type: 'DateTime64(9)' },
  { name: 'TimestampTime', type: 'DateTime' },
  { name: 'TraceId', type: 'String' },
  { name: 'SpanId', type: 'String' },
  { name: 'TraceFlags', type: 'UInt8' },
  { name: 'SeverityText', type: lowString },
  { name: 'SeverityNumber', type: 'UInt8' },
  { name: 'ServiceName', type: lowString },
  { name: 'Body', type: 'String' },
  { name: 'ResourceSchemaUrl', type: lowString },
  { name: 'ResourceAttributes', type: attributes },
  { name: 'ScopeSchemaUrl', type: lowString },
  { name: 'ScopeName', type: 'String' },
  { name: 'ScopeVersion', type: lowString },
  { name: 'ScopeAttributes', type: attributes },
  { name: 'LogAttributes', type: attributes },
  { name: 'EventName', type: 'String' },
  { name: 'ObservedTimestamp', type: 'DateTime64(9)' },
  { name: 'uid', type: 'UInt64' },
  { name: 'AppId', type: 'Int64' },
  { name: 'BizId', type: 'Int64' },
  { name: 'ArrivedAt', type: 'DateTime64(3)' },
] as const satisfies readonly LogColumn[];

export type LogColumnName = (typeof logColumns)[number]['name'];
