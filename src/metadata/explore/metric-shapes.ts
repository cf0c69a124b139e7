import { z } from 'zod';
import { metricKinds } from './metric-sql.ts';
import { anyText, attributeConditions, bodyPeriod, ofItems } from './shapes.ts';

const conditions = {
  ...ofItems,
  kind: z.enum(metricKinds, `must be one of ${metricKinds.join(', ')}`).optional(),
};

const metricName = anyText.min(1).meta({ description: 'The metric', examples: ['http.server.requests'] });

/** The body of POST /api/v1/query/metrics. */
export const metricsRequest = z
  .strictObject({
    ...conditions,
    name: metricName.optional(),
    ...bodyPeriod,
    limit: z.int().min(1).max(1000).default(100),
  })
  .meta({ id: 'MetricsQuery' });

export type AskedMetrics = z.output<typeof metricsRequest>;

/** The body of POST /api/v1/query/metrics/last. */
export const lastValuesRequest = z
  .strictObject({
    ...conditions,
    name: metricName,
    attributes: attributeConditions(
      z.enum(['data_point', 'resource'], 'must be data_point or resource').default('data_point'),
    ),
    ...bodyPeriod,
    limit: z.int().min(1).max(1000).default(100),
  })
  .meta({ id: 'LastValuesQuery' });

export type AskedLastValues = z.output<typeof lastValuesRequest>;
