import { z } from 'zod';
import { anyText, attributeConditions, bodyPeriod, ofItems, pageCursor } from './shapes.ts';
import { statuses } from './trace-sql.ts';

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
