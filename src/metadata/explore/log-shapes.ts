import { z } from 'zod';
import { severityNames } from './log-sql.ts';
import { anyText, attributeConditions, bodyPeriod, ofItems, pageCursor } from './shapes.ts';

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
