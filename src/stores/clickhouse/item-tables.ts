import { type ApplicationPipeline, applicationPipelines, type ItemTableName } from '../../model/signals.ts';
import type { KeyColumns } from '../../wire/native/block-keys.ts';
import { logColumns } from '../../wire/native/log-columns.ts';
import {
  exponentialHistogramColumns,
  gaugeColumns,
  histogramColumns,
  sumColumns,
  summaryColumns,
} from '../../wire/native/metric-columns.ts';
import { spanColumns } from '../../wire/native/span-columns.ts';

/** A table whose rows are the items of one signal, each with its uid and its application. */
export type ItemTable = {
  readonly pipeline: ApplicationPipeline;
  readonly name: ItemTableName;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** The time that decides the day of a row. */
  readonly time: 'Timestamp' | 'TimeUnix';
  /** What the guard compares beside uids and times. */
  readonly keys: KeyColumns;
  /** The column with the whole seconds of `Timestamp`, where the table is ordered by one. */
  readonly seconds?: string;
  /** A part of one insert is merged within seconds: its bloom filters would have no use, and merges build the lasting ones. */
  readonly bloomFilters: string;
  /** The table with the least and the greatest time of each trace, which a view fills. */
  readonly lookup?: string;
  /** The tables that expire together, and the expression for the time of a row, as the OpenTelemetry exporter writes it. */
  readonly times: Readonly<Record<string, string>>;
};

/** Spans and the lookup of their traces (migrations 001 to 003). */
export const spansTable: ItemTable = {
  pipeline: 'traces',
  name: 'otel_traces',
  columns: spanColumns,
  time: 'Timestamp',
  keys: { names: ['ServiceName', 'SpanName'], hasTraces: true },
  bloomFilters: 'idx_trace_id, idx_res_attr_key, idx_res_attr_value, idx_span_attr_key, idx_span_attr_value',
  lookup: 'otel_traces_trace_id_ts',
  times: { otel_traces: 'toDateTime(Timestamp)', otel_traces_trace_id_ts: 'toDateTime(Start)' },
};

/** Log records (migration 024). */
export const logsTable: ItemTable = {
  pipeline: 'logs',
  name: 'otel_logs',
  columns: logColumns,
  time: 'Timestamp',
  keys: { names: ['ServiceName'], hasTraces: false },
  seconds: 'TimestampTime',
  bloomFilters:
    'idx_trace_id, idx_res_attr_key, idx_res_attr_value, idx_scope_attr_key, idx_scope_attr_value, idx_log_attr_key, ' +
    'idx_log_attr_value, idx_body',
  times: { otel_logs: 'toDateTime(Timestamp)' },
};

const dataPointsTable = (name: ItemTableName, columns: ItemTable['columns']): ItemTable => ({
  pipeline: 'otel_metrics',
  name,
  columns,
  time: 'TimeUnix',
  keys: { names: ['MetricName', 'ServiceName'], hasTraces: false },
  bloomFilters:
    'idx_res_attr_key, idx_res_attr_value, idx_scope_attr_key, idx_scope_attr_value, idx_attr_key, idx_attr_value',
  times: { [name]: 'toDateTime(TimeUnix)' },
});

/** Data points of metrics of OpenTelemetry, a table for each kind (migrations 025 to 029). */
export const dataPointTables = [
  dataPointsTable('otel_metrics_gauge', gaugeColumns),
  dataPointsTable('otel_metrics_sum', sumColumns),
  dataPointsTable('otel_metrics_histogram', histogramColumns),
  dataPointsTable('otel_metrics_exponential_histogram', exponentialHistogramColumns),
  dataPointsTable('otel_metrics_summary', summaryColumns),
] as const;

const tables: Readonly<Record<ApplicationPipeline, readonly ItemTable[]>> = {
  traces: [spansTable],
  logs: [logsTable],
  otel_metrics: dataPointTables,
};

/** The tables of a signal. */
export const itemTablesOf = (pipeline: ApplicationPipeline): readonly ItemTable[] => tables[pipeline];

/** Every such table, in the order of the pipelines. */
export const itemTables: readonly ItemTable[] = applicationPipelines.flatMap(itemTablesOf);
