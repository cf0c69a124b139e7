import { z } from 'zod';
import { nameLengthMax } from '../../wire/column-naming.ts';
import { aggregates, operators } from '../explore/point-sql.ts';
import { redGroups, spanKinds } from '../explore/red-sql.ts';
import { statuses } from '../explore/trace-sql.ts';

const count = z.int();
export const idMax = 999_999_999_999_999;

const name = (description: string, example: string) =>
  z
    .string()
    .min(1)
    // A column may have a number behind its name.
    .max(nameLengthMax + 27)
    .meta({ description, examples: [example] });

const seconds = (description: string, example: number) =>
  z
    .int('must be Unix seconds')
    .min(0)
    .max(4_294_967_295)
    .optional()
    .meta({ description, examples: [example] });

export const bodyPeriod = {
  since: seconds('At or after this time, Unix seconds; default an hour before until', 1_799_996_400),
  until: seconds('Before this time, Unix seconds; default now', 1_800_000_000),
  wide: z.boolean().default(false).meta({ description: 'Allows a period of more than 7 days' }),
};

/** `wide` of a query in a URL. */
export const wideQuery = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true')
  .pipe(z.boolean().meta({ description: 'Allows a period of more than 7 days' }))
  .default(false);

export const tableName = z
  .string()
  .min(1)
  .max(256)
  .optional()
  .meta({
    description: 'The table_id, instead of a data id',
    examples: ['2_mon_time_series_1500001.__default__'],
  });

export const dimensionName = name('A dimension, or target', 'target');

const filter = z.strictObject({
  dimension: dimensionName,
  operator: z.enum(operators, `must be one of ${operators.join(', ')}`).default('='),
  values: z
    .array(z.string().max(1024).nullable())
    .min(1)
    .max(50)
    .meta({
      description: 'One value, or several for in and not in; null = the point has no such dimension',
      examples: [['web-1']],
    }),
});

/** The body of POST /api/v1/query/points. */
export const pointsRequest = z
  .strictObject({
    data_id: z
      .int()
      .min(1)
      .max(idMax)
      .optional()
      .meta({ description: 'The data id', examples: [1_500_001] }),
    table: tableName.meta({ description: 'The table_id, instead of data_id', examples: [] }),
    metrics: z.array(name('A metric', 'cpu')).min(1).max(4),
    aggregate: z
      .enum(aggregates, `must be one of ${aggregates.join(', ')}`)
      .default('avg')
      .meta({ description: 'How the values of a bucket become one' }),
    filter: z.array(filter).max(10).default([]),
    group_by: z.array(dimensionName).max(2).default([]),
    ...bodyPeriod,
    step: z
      .int('must be a number of seconds')
      .min(1)
      .max(31_536_000)
      .optional()
      .meta({
        description: 'Seconds of a bucket; default the smallest one of at most 600 buckets',
        examples: [60],
      }),
    raw: z.boolean().default(false).meta({ description: 'The last 50 rows instead of series' }),
  })
  .meta({ id: 'PointsQuery' });

const value = z.string().nullable();
export const sql = z.array(z.string()).meta({ description: 'The statements that ran, in their order' });
export const elapsed = z.number().meta({ description: 'Milliseconds of the call' });
export const period = { since: count, until: count };
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
        group: z.array(value).meta({ description: 'The values of group_by' }),
        rows: count.nullable().meta({ description: 'Of the group; null without group_by' }),
        values: z.array(z.number().nullable()).meta({ description: 'One of each bucket' }),
      }),
    ),
    series_total: count.meta({ description: 'At most 20 are answered, those with most rows' }),
    truncated: z.boolean(),
    raw: z
      .strictObject({
        columns: z.array(z.string()),
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
    values: z.array(z.strictObject({ value, rows: count })),
    truncated: z.boolean(),
    sql,
  })
  .meta({ id: 'DimensionValues' });

export const anyText = z.string().max(1024);

/** Conditions on the attributes of an item or of its resource: `scope` says which of them. */
export const attributeConditions = <S extends z.ZodType>(scope: S) =>
  z
    .array(z.strictObject({ scope, key: anyText.min(1), value: anyText }))
    .max(5)
    .default([])
    .meta({ description: 'Each equals exactly' });
const milliseconds = (description: string) =>
  z
    .number()
    .min(0)
    .max(1_000_000_000_000)
    .optional()
    .meta({ description, examples: [250] });

export const pageCursor = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,96}$/, 'is not a next_cursor of this list')
  .optional()
  .meta({ description: 'The next_cursor of the page before, of the same query' });

/** The body of POST /api/v1/query/traces. */
export const tracesRequest = z
  .strictObject({
    app_id: z.int().min(1).max(idMax).optional().meta({ description: 'Only of this application' }),
    service: anyText.optional().meta({ description: 'service.name', examples: ['cart'] }),
    span_name: anyText.optional(),
    status: z.enum(statuses, `must be one of ${statuses.join(', ')}`).optional(),
    min_duration_ms: milliseconds('A span of at least this long'),
    max_duration_ms: milliseconds('A span of at most this long'),
    attributes: attributeConditions(z.enum(['span', 'resource'], 'must be span or resource').default('span')),
    ...bodyPeriod,
    limit: z.int().min(1).max(200).default(20),
    cursor: pageCursor,
  })
  .meta({ id: 'TracesQuery' });

export const rowsRead = count.meta({ description: 'Rows that ClickHouse read' });

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
    sql,
    elapsed_ms: elapsed,
    rows_read: rowsRead,
  })
  .meta({ id: 'Traces' });

export const attributes = z.array(
  z.strictObject({ key: z.string(), value: z.string() }).meta({ id: 'Attribute' }),
);

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
    sql,
    elapsed_ms: elapsed,
    rows_read: rowsRead,
  })
  .meta({ id: 'Trace' });

/** The body of POST /api/v1/query/red. */
export const redRequest = z
  .strictObject({
    app_id: z.int().min(1).max(idMax).optional().meta({ description: 'Only of this application' }),
    service: anyText.optional().meta({ description: 'service.name', examples: ['cart'] }),
    operation: anyText.optional().meta({ description: 'Name of the spans', examples: ['GET /cart'] }),
    kinds: z
      .array(z.enum(spanKinds, `must be one of ${spanKinds.join(', ')}`))
      .min(1)
      .max(spanKinds.length)
      .default(['server', 'consumer'])
      .meta({ description: 'Kinds of spans that count as requests' }),
    by: z
      .enum(redGroups, `must be one of ${redGroups.join(', ')}`)
      .default('service')
      .meta({ description: 'An item for each service, or for each operation of each service' }),
    series: z.boolean().default(false).meta({ description: 'Also the buckets of the first 20 items' }),
    ...bodyPeriod,
    step: z
      .int('must be a number of seconds')
      .min(1)
      .max(31_536_000)
      .optional()
      .meta({
        description: 'Seconds of a bucket; default the smallest one of at most 600 buckets',
        examples: [60],
      }),
    limit: z.int().min(1).max(1000).default(100),
  })
  .meta({ id: 'RedQuery' });

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
    sql,
    elapsed_ms: elapsed,
    rows_read: rowsRead,
  })
  .meta({ id: 'Red' });

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
    sql,
    elapsed_ms: elapsed,
    rows_read: rowsRead,
  })
  .meta({ id: 'Services' });
