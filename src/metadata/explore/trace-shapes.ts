import { z } from 'zod';
import {
  about,
  anyText,
  attributeConditions,
  attributes,
  bodyPeriod,
  ofItems,
  pageCursor,
  period,
} from './shapes.ts';
import { statuses } from './trace-sql.ts';

const count = z.int();

const milliseconds = (description: string) =>
  z
    .number()
    .min(0)
    .max(1_000_000_000_000)
    .optional()
    .meta({ description, examples: [250] });

/** The body of POST /api/v1/query/traces. */
export const tracesRequest = z
  .strictObject({
    ...ofItems,
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

export type AskedTraces = z.output<typeof tracesRequest>;

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
