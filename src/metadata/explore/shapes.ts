import { z } from 'zod';
import { flagText } from '../number-text.ts';

// Parts of the queries of Explore.

export const idMax = 999_999_999_999_999;

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
export const wideQuery = flagText(
  z.boolean().meta({ description: 'Allows a period of more than 7 days' }),
).default(false);

export const bucketStep = z
  .int('must be a number of seconds')
  .min(1)
  .max(31_536_000)
  .optional()
  .meta({
    description: 'Seconds of a bucket; default the smallest one of at most 600 buckets',
    examples: [60],
  });

export const anyText = z.string().max(1024);

/** Conditions on items of every signal. */
export const ofItems = {
  app_id: z.int().min(1).max(idMax).optional().meta({ description: 'Only of this application' }),
  service: anyText.optional().meta({ description: 'service.name', examples: ['cart'] }),
};

/** Conditions on the attributes of an item or of its resource: `scope` says which of them. */
export const attributeConditions = <S extends z.ZodType>(scope: S) =>
  z
    .array(z.strictObject({ scope, key: anyText.min(1), value: anyText }))
    .max(5)
    .default([])
    .meta({ description: 'Each equals exactly' });

export const pageCursor = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,96}$/, 'is not a next_cursor of this list')
  .optional()
  .meta({ description: 'The next_cursor of the page before, of the same query' });
