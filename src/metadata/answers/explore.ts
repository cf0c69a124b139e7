import { z } from 'zod';
import { count, period } from './parts.ts';

// The answers of the queries of Explore.

const sql = z.array(z.string()).meta({ description: 'The statements that ran, in their order' });
const elapsed = z.number().meta({ description: 'Milliseconds of the call' });

/** What every answer about items says of its queries: `startRun`. */
const about = {
  sql,
  elapsed_ms: elapsed,
  rows_read: count.meta({ description: 'Rows that ClickHouse read' }),
};

const attributes = z.array(z.strictObject({ key: z.string(), value: z.string() }).meta({ id: 'Attribute' }));

const text = z.string().nullable();

const table = { mon_data_id: count, table_id: z.string(), questdb: z.string() };

export const pointsAnswer = z
  .strictObject({
    ...table,
    ...period,
    step: count.nullable().meta({ description: 'Seconds of a bucket; null for raw rows' }),
    buckets: z.array(count).meta({ description: 'The start of each bucket, Unix seconds' }),
    group_by: z.array(z.string()),
    series: z.array(
      z.strictObject({
        metric: z.string(),
        group: z.array(text).meta({ description: 'The values of group_by' }),
        rows: count.nullable().meta({ description: 'Of the group; null without group_by' }),
        values: z.array(z.number().nullable()).meta({ description: 'One of each bucket' }),
        too_large: z.array(count).meta({
          description:
            'Places of buckets whose sum is beyond the largest number, 1.8e308: they have points, and their value is null',
        }),
      }),
    ),
    series_total: count.meta({ description: 'At most 20 are answered, those with most rows' }),
    truncated: z.boolean(),
    raw: z
      .strictObject({
        columns: z.array(z.string()).meta({
          description:
            'The last one is more_dimensions, JSON, where one of the rows has dimensions without a column',
        }),
        rows: z.array(z.array(z.union([z.string(), z.number()]).nullable())),
      })
      .nullable(),
    sql,
    elapsed_ms: elapsed,
    rows_read: count.nullable().meta({ description: 'null: QuestDB does not report it' }),
  })
  .meta({ id: 'Points' });

export const valuesAnswer = z
  .strictObject({
    ...table,
    ...period,
    values: z.array(z.strictObject({ value: text, rows: count })),
    truncated: z.boolean(),
    sql,
  })
  .meta({ id: 'DimensionValues' });

export const tracesAnswer = z
  .strictObject({
    ...period,
    items: z.array(
      z
        .strictObject({
          trace_id: z.string(),
          root_name: z.string().meta({ description: 'Name of the root span, else of the earliest one' }),
          root_service: z.string(),
          has_root: z.boolean(),
          start: z.number().meta({ description: 'Unix seconds to the millisecond' }),
          duration_ms: z.number(),
          spans: count,
          errors: count,
          services: count,
        })
        .meta({ id: 'TraceSummary' }),
    ),
    next_cursor: z.string().nullable(),
    ...about,
  })
  .meta({ id: 'Traces' });

const span = z
  .strictObject({
    span_id: z.string(),
    parent_span_id: z.string().meta({ description: 'Empty for a root' }),
    name: z.string(),
    kind: z.string(),
    service: z.string(),
    app_id: count,
    offset_ns: z.number().meta({ description: 'Nanoseconds from the start of the trace' }),
    duration_ns: z.number(),
    status: z.string(),
    status_message: z.string(),
    trace_state: z.string(),
    scope: z.strictObject({ name: z.string(), version: z.string() }),
    resource: count.meta({ description: 'Its place in resources, from 0' }),
    attributes,
    events: z.array(
      z.strictObject({
        offset_ns: z.number().meta({ description: 'Nanoseconds from the start of the span' }),
        name: z.string(),
        attributes,
      }),
    ),
    links: z.array(
      z.strictObject({ trace_id: z.string(), span_id: z.string(), trace_state: z.string(), attributes }),
    ),
  })
  .meta({ id: 'Span' });

export const traceAnswer = z
  .strictObject({
    trace_id: z.string(),
    start_unix_nano: z.string().meta({ description: 'Start of the first span, nanoseconds since 1970' }),
    duration_ns: z.number(),
    spans: z.array(span).meta({ description: 'By their start, at most 10,000' }),
    resources: z.array(attributes),
    spans_total: count,
    truncated: z.boolean(),
    ...about,
  })
  .meta({ id: 'Trace' });

export const servicesAnswer = z
  .strictObject({
    ...period,
    items: z.array(
      z.strictObject({
        service: z.string(),
        spans: count,
        span_names: z.array(z.strictObject({ name: z.string(), spans: count })),
      }),
    ),
    truncated: z.boolean(),
    ...about,
  })
  .meta({ id: 'Services' });

/** Characters of the body of a log record that are shown. */
export const bodyMax = 4_096;

export const logsAnswer = z
  .strictObject({
    ...period,
    items: z.array(
      z
        .strictObject({
          time_unix_nano: z.string().meta({ description: 'Nanoseconds since 1970' }),
          observed_time_unix_nano: z.string().nullable().meta({ description: 'null: the sender gave none' }),
          app_id: count,
          service: z.string(),
          severity_number: count.meta({ description: '0: the sender gave none' }),
          severity_text: z.string(),
          body: z.string().meta({ description: `Its first ${bodyMax} characters` }),
          body_bytes: count.meta({ description: 'Of the whole body' }),
          event_name: z.string(),
          trace_id: z.string().meta({ description: 'Empty: of no trace' }),
          span_id: z.string(),
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          attributes,
          resource: attributes,
        })
        .meta({ id: 'LogRecord' }),
    ),
    next_cursor: z.string().nullable(),
    ...about,
  })
  .meta({ id: 'Logs' });

const temporality = z
  .enum(['unspecified', 'delta', 'cumulative'])
  .nullable()
  .meta({ description: 'As the sender chose it; null for gauges and summaries' });

const described = {
  app_id: count,
  service: z.string(),
  kind: z.string().meta({ examples: ['sum'] }),
  unit: z.string(),
  temporality,
};

export const metricsAnswer = z
  .strictObject({
    ...period,
    items: z.array(
      z
        .strictObject({
          ...described,
          name: z.string(),
          is_monotonic: z.boolean(),
          series: count.meta({
            description:
              'Distinct resources, scopes and attributes of data points; the order of attributes does not matter',
          }),
          attributes: z
            .array(z.strictObject({ key: z.string(), values: count }))
            .meta({ description: 'The ten attributes with most distinct values' }),
          last_time_unix_nano: z.string().meta({ description: 'Of its last data point' }),
        })
        .meta({ id: 'Metric' }),
    ),
    truncated: z.boolean(),
    ...about,
  })
  .meta({ id: 'Metrics' });

const distribution = z
  .strictObject({
    count: z.string(),
    sum: text.meta({ description: 'null where the data point has none' }),
    min: text,
    max: text,
    quantiles: z.array(z.strictObject({ level: z.number(), value: text })).meta({
      description:
        '0.5, 0.95 and 0.99, estimated from the buckets (null without buckets); of a summary those that its sender computed',
    }),
  })
  .meta({ id: 'LastDistribution', description: 'Numbers as text' });

export const lastValuesAnswer = z
  .strictObject({
    ...period,
    items: z.array(
      z
        .strictObject({
          ...described,
          time_unix_nano: z.string().meta({ description: 'Nanoseconds since 1970' }),
          value: z.string().nullable().meta({
            description:
              'Of a gauge or a sum, a number as text: integers in full, also nan, inf, -inf. Else null',
          }),
          distribution: distribution.nullable().meta({
            description:
              'Of a histogram, an exponential histogram or a summary, as its last data point has it: a cumulative one counts since the ' +
              'start of its series. Else null',
          }),
          attributes,
          scope: z
            .strictObject({ name: z.string(), attributes })
            .meta({ description: 'The instrumentation scope, by which series differ, too' }),
          resource: attributes,
        })
        .meta({ id: 'LastValue' }),
    ),
    truncated: z.boolean(),
    ...about,
  })
  .meta({ id: 'LastValues' });

const durationMs = z.number().meta({ description: 'Milliseconds, at most 1 % off' });
const durationsMs = z.array(z.number().nullable()).meta({ description: 'null: no request in the bucket' });

export const redAnswer = z
  .strictObject({
    ...period,
    step: count.nullable().meta({ description: 'Seconds of a bucket; null without series' }),
    buckets: z.array(count).meta({ description: 'The start of each bucket, Unix seconds' }),
    items: z.array(
      z
        .strictObject({
          app_id: count,
          service: z.string(),
          operation: z.string().nullable().meta({ description: 'null: all of the service' }),
          requests: count,
          errors: count.meta({ description: 'Requests with the status Error' }),
          per_second: z.number().meta({ description: 'Requests a second, over the whole period' }),
          error_ratio: z.number().meta({ description: 'From 0 to 1' }),
          p50_ms: durationMs,
          p95_ms: durationMs,
          p99_ms: durationMs,
          series: z
            .strictObject({
              requests: z.array(count),
              errors: z.array(count),
              p50_ms: durationsMs,
              p95_ms: durationsMs,
              p99_ms: durationsMs,
            })
            .nullable()
            .meta({ description: 'One value of each bucket; null beyond the first 20 items' }),
        })
        .meta({ id: 'RedItem' }),
    ),
    truncated: z.boolean(),
    ...about,
  })
  .meta({ id: 'Red' });
