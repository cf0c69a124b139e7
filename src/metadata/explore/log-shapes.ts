import { z } from 'zod';
import { bodyMax, severityNames } from './log-sql.ts';
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

const count = z.int();

const severityText = `must be one of ${severityNames.join(', ')}`;

/** The body of POST /api/v1/query/logs. */
export const logsRequest = z
  .strictObject({
    ...ofItems,
    severity: z
      .enum(severityNames, severityText)
      .optional()
      .meta({ description: 'At least this severe; log records without a severity are left out' }),
    text: anyText
      .min(1)
      .optional()
      .meta({
        description:
          'Text in the body, case-sensitive, as whole words: no further ASCII letter or digit may follow at its ends',
        examples: ['payment failed'],
      }),
    trace_id: z
      .string()
      .regex(/^[0-9a-fA-F]{32}$/, 'must be a trace id: 32 hex digits')
      .transform((id) => id.toLowerCase())
      .pipe(z.string().meta({ description: 'Only of this trace' }))
      .optional(),
    attributes: attributeConditions(z.enum(['log', 'resource'], 'must be log or resource').default('log')),
    ...bodyPeriod,
    limit: z.int().min(1).max(200).default(50),
    cursor: pageCursor,
  })
  .meta({ id: 'LogsQuery' });

export type AskedLogs = z.output<typeof logsRequest>;

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
