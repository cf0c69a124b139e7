import { z } from 'zod';
import { redGroups, spanKinds } from './red-sql.ts';
import { about, anyText, bodyPeriod, bucketStep, ofItems, period } from './shapes.ts';

const count = z.int();

/** The body of POST /api/v1/query/red. */
export const redRequest = z
  .strictObject({
    ...ofItems,
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
    step: bucketStep,
    limit: z.int().min(1).max(1000).default(100),
  })
  .meta({ id: 'RedQuery' });

export type AskedRed = z.output<typeof redRequest>;

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
