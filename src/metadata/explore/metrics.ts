import { z } from 'zod';
import type { NextBounds } from './gate.ts';
import type { AskedLastValues, AskedMetrics } from './metric-shapes.ts';
import { isDistribution, lastDistributionsSql, lastValuesSql, metricsSql } from './metric-sql.ts';
import { periodOf } from './period.ts';
import { conditionsOf, count, type ItemSource, requireWellFormedAttributes, startRun, texts } from './run.ts';
import { attributesOf } from './spans.ts';

const metricSchema = z.object({
  app_id: count,
  service: z.string(),
  name: z.string(),
  kind: z.string(),
  unit: z.string(),
  temporality: count,
  is_monotonic: z.union([z.boolean(), z.number().transform((value) => value !== 0)]),
  series: count,
  attribute_keys: texts,
  attribute_values: z.array(count),
  last_time: z.string(),
});

const lastColumns = {
  app_id: count,
  service: z.string(),
  kind: z.string(),
  unit: z.string(),
  temporality: count,
  at: z.string(),
  attribute_keys: texts,
  attribute_values: texts,
  scope_name: z.string(),
  scope_keys: texts,
  scope_values: texts,
  resource_keys: texts,
  resource_values: texts,
};

const lastValueSchema = z
  .object({ ...lastColumns, value: z.string(), value_int: z.string().nullable() })
  .transform((row) => ({ ...row, value: row.value_int ?? row.value, distribution: null }));

const text = z.string().nullable();

const lastDistributionSchema = z
  .object({
    ...lastColumns,
    ...{ count: z.string(), sum: text, min: text, max: text },
    levels: z.array(z.number()),
    quantiles: z.array(text),
  })
  .transform(({ count: values, sum, min, max, levels, quantiles, ...row }) => ({
    ...row,
    value: null,
    distribution: {
      ...{ count: values, sum, min, max },
      quantiles: levels.map((level, index) => ({ level, value: quantiles[index] ?? null })),
    },
  }));

type LastRow = z.output<typeof lastValueSchema> | z.output<typeof lastDistributionSchema>;

const temporalities = ['unspecified', 'delta', 'cumulative'] as const;
/** Gauges and summaries have none. */
const temporalityOf = (kind: string, value: number) =>
  kind === 'gauge' || kind === 'summary' ? null : (temporalities[value] ?? 'unspecified');

/** Metrics and how many series they have, those with most first. Throws the Faults of `ClickhouseReader`. */
export const queryMetrics = async (source: ItemSource, asked: AskedMetrics, bounds: NextBounds) => {
  const period = periodOf(asked, source.now());
  const run = startRun(source.reader, bounds);
  const rows = await run.rows(metricSchema, metricsSql(conditionsOf(source, asked), period, asked.limit + 1));
  return {
    ...period,
    items: rows
      .slice(0, asked.limit)
      .map(({ attribute_keys: keys, attribute_values: values, last_time: last, temporality, ...row }) => ({
        ...row,
        temporality: temporalityOf(row.kind, temporality),
        attributes: keys.map((key, index) => ({ key, values: values[index] ?? 0 })),
        last_time_unix_nano: last,
      })),
    truncated: rows.length > asked.limit,
    ...run.about(),
  };
};

/** The last value, or distribution, of each series of a metric. Throws the Faults of `ClickhouseReader`. */
export const queryLastValues = async (source: ItemSource, asked: AskedLastValues, bounds: NextBounds) => {
  const period = periodOf(asked, source.now());
  const run = startRun(source.reader, bounds);
  requireWellFormedAttributes(asked.attributes);
  const askedOf = [conditionsOf(source, asked), asked.attributes, period, asked.limit + 1] as const;
  const hasValues = asked.kind === undefined || !isDistribution(asked.kind);
  const hasDistributions = asked.kind === undefined || isDistribution(asked.kind);
  const rows: LastRow[] = [
    ...(hasValues ? await run.rows(lastValueSchema, lastValuesSql(...askedOf)) : []),
    ...(hasDistributions ? await run.rows(lastDistributionSchema, lastDistributionsSql(...askedOf)) : []),
  ].toSorted((one, other) => Number(BigInt(other.at) - BigInt(one.at)));
  return {
    ...period,
    items: rows.slice(0, asked.limit).map((row) => ({
      app_id: row.app_id,
      service: row.service,
      kind: row.kind,
      unit: row.unit,
      temporality: temporalityOf(row.kind, row.temporality),
      time_unix_nano: row.at,
      value: row.value,
      distribution: row.distribution,
      attributes: attributesOf(row.attribute_keys, row.attribute_values),
      scope: { name: row.scope_name, attributes: attributesOf(row.scope_keys, row.scope_values) },
      resource: attributesOf(row.resource_keys, row.resource_values),
    })),
    truncated: rows.length > asked.limit,
    ...run.about(),
  };
};
