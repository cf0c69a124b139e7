import { z } from 'zod';
import { metricKinds } from './metric-sql.ts';
import { about, anyText, attributeConditions, attributes, bodyPeriod, ofItems, period } from './shapes.ts';

const count = z.int();

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

const temporality = z
  .enum(['unspecified', 'delta', 'cumulative'])
  .nullable()
  .meta({ description: 'As the sender chose it; null for gauges and summaries' });

const described = {
  app_id: count,
  service: z.string(),
  kind: z.string().meta({ examples: ['sum'] }),
  unit: z.string(),
  temporality,
};

export const metricsAnswer = z
  .strictObject({
    ...period,
    items: z.array(
      z
        .strictObject({
          ...described,
          name: z.string(),
          is_monotonic: z.boolean(),
          series: count.meta({
            description:
              'Distinct resources, scopes and attributes of data points; the order of attributes does not matter',
          }),
          attributes: z
            .array(z.strictObject({ key: z.string(), values: count }))
            .meta({ description: 'The ten attributes with most distinct values' }),
          last_time_unix_nano: z.string().meta({ description: 'Of its last data point' }),
        })
        .meta({ id: 'Metric' }),
    ),
    truncated: z.boolean(),
    ...about,
  })
  .meta({ id: 'Metrics' });

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

const numberText = z.string().nullable();

const distribution = z
  .strictObject({
    count: z.string(),
    sum: numberText.meta({ description: 'null where the data point has none' }),
    min: numberText,
    max: numberText,
    quantiles: z.array(z.strictObject({ level: z.number(), value: numberText })).meta({
      description:
        '0.5, 0.95 and 0.99, estimated from the buckets (null without buckets); of a summary those that its sender computed',
    }),
  })
  .meta({ id: 'LastDistribution', description: 'Numbers as text' });

export const lastValuesAnswer = z
  .strictObject({
    ...period,
    items: z.array(
      z
        .strictObject({
          ...described,
          time_unix_nano: z.string().meta({ description: 'Nanoseconds since 1970' }),
          value: z.string().nullable().meta({
            description:
              'Of a gauge or a sum, a number as text: integers in full, also nan, inf, -inf. Else null',
          }),
          distribution: distribution.nullable().meta({
            description:
              'Of a histogram, an exponential histogram or a summary, as its last data point has it: a cumulative one counts since the ' +
              'start of its series. Else null',
          }),
          attributes,
          scope: z
            .strictObject({ name: z.string(), attributes })
            .meta({ description: 'The instrumentation scope, by which series differ, too' }),
          resource: attributes,
        })
        .meta({ id: 'LastValue' }),
    ),
    truncated: z.boolean(),
    ...about,
  })
  .meta({ id: 'LastValues' });
