import { z } from 'zod';
import { nameLengthMax } from '../../wire/column-naming.ts';
import { aggregates, operators } from './point-sql.ts';
import { bodyPeriod, bucketStep, idMax } from './shapes.ts';

const name = (description: string, example: string) =>
  z
    .string()
    .min(1)
    // A column may have a number behind its name.
    .max(nameLengthMax + 27)
    .meta({ description, examples: [example] });

export const tableName = z
  .string()
  .min(1)
  .max(256)
  .optional()
  .meta({ description: 'The table_id, instead of data_id', examples: [] });

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
    table: tableName,
    metrics: z.array(name('A metric', 'cpu')).min(1).max(4),
    aggregate: z
      .enum(aggregates, `must be one of ${aggregates.join(', ')}`)
      .default('avg')
      .meta({ description: 'How the values of a bucket become one' }),
    filter: z.array(filter).max(10).default([]),
    group_by: z.array(dimensionName).max(2).default([]),
    ...bodyPeriod,
    step: bucketStep,
    at: z
      .int('must be Unix milliseconds')
      .min(0)
      .max(4_294_967_295_999)
      .optional()
      .meta({ description: 'Only points of exactly this time, Unix milliseconds', examples: [] }),
    raw: z.boolean().default(false).meta({ description: 'The last 50 rows instead of series' }),
  })
  .meta({ id: 'PointsQuery' });

/** A query of points, in the names of producers. */
export type AskedPoints = z.output<typeof pointsRequest>;
