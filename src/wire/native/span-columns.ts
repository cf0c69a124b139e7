/** A column of the span table: its name and its type in ClickHouse. */
export type SpanColumn = { readonly name: string; readonly type: string };

const lowString = 'LowCardinality(String)';
const attributes = 'Map(LowCardinality(String), String)';

/**
 * The columns of `otel.otel_traces` in order: those of the OpenTelemetry ClickHouse exporter, then those of Tidemark
 * (architecture 9). The tables follow this list and the blocks carry it; a block may have a column in another type
 * that ClickHouse casts.
 */
export const spanColumns = [
  { name: 'Timestamp', type: 'DateTime64(9)' },
  { name: 'TraceId', type: 'String' },
  { name: 'SpanId', type: 'String' },
  { name: 'ParentSpanId', type: 'String' },
  { name: 'TraceState', type: 'String' },
  { name: 'SpanName', type: lowString },
  { name: 'SpanKind', type: lowString },
  { name: 'ServiceName', type: lowString },
  { name: 'ResourceAttributes', type: attributes },
  { name: 'ScopeName', type: 'String' },
  { name: 'ScopeVersion', type: 'String' },
  { name: 'SpanAttributes', type: attributes },
  { name: 'Duration', type: 'UInt64' },
  { name: 'StatusCode', type: lowString },
  { name: 'StatusMessage', type: 'String' },
  { name: 'Events.Timestamp', type: 'Array(DateTime64(9))' },
  { name: 'Events.Name', type: `Array(${lowString})` },
  { name: 'Events.Attributes', type: `Array(${attributes})` },
  { name: 'Links.TraceId', type: 'Array(String)' },
  { name: 'Links.SpanId', type: 'Array(String)' },
  { name: 'Links.TraceState', type: 'Array(String)' },
  { name: 'Links.Attributes', type: `Array(${attributes})` },
  { name: 'uid', type: 'UInt64' },
  { name: 'AppId', type: 'Int64' },
  { name: 'BizId', type: 'Int64' },
  { name: 'ArrivedAt', type: 'DateTime64(3)' },
] as const satisfies readonly SpanColumn[];

export type SpanColumnName = (typeof spanColumns)[number]['name'];
