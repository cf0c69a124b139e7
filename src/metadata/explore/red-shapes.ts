import { z } from 'zod';
import { redGroups, spanKinds } from './red-sql.ts';
import { anyText, bodyPeriod, bucketStep, ofItems } from './shapes.ts';

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
