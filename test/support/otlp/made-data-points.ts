import type { BatchBounds } from '../../../src/stores/clickhouse/block-statements.ts';
import type { SpanRows } from './span-rows.ts';

const metricsOfService = 100;
const services = 50;

/** The columns of these rows in every table of data points, in the order of `dataPointSelect`. */
export const dataPointColumns =
  'ServiceName, ResourceAttributes, ScopeName, MetricName, MetricUnit, Attributes, StartTimeUnix, TimeUnix, Flags, uid, AppId, ' +
  'BizId, ArrivedAt';

/**
 * A query that answers data points made by arithmetic (as spans are, see `SpanRows`): requests of 100 metrics of one of 50
 * services, each metric with 40 series.
 */
export const dataPointSelect = ({ first, count, startNs, stepNs }: SpanRows): string => `
  SELECT
    concat('service-', toString(intDiv(${first} + number, ${metricsOfService}) % ${services})) AS ServiceName,
    map('service.name', ServiceName, 'host.name', 'h1') AS ResourceAttributes,
    'scope' AS ScopeName,
    concat('metric.', toString((${first} + number) % ${metricsOfService})) AS MetricName,
    'By' AS MetricUnit,
    map('series', toString(intDiv(${first} + number, ${metricsOfService * services}) % 40)) AS Attributes,
    fromUnixTimestamp64Nano(toInt64(${startNs})) AS StartTimeUnix,
    fromUnixTimestamp64Nano(toInt64(${startNs}) + toInt64(number) * ${stepNs}) AS TimeUnix,
    toUInt32(0) AS Flags,
    toUInt64(${first} + number) AS uid,
    toInt64(7) AS AppId,
    toInt64(2) AS BizId,
    fromUnixTimestamp64Milli(toInt64(${startNs / 1_000_000n})) AS ArrivedAt
  FROM numbers(${count})`;

/** The keys of these rows for the guard. */
export const dataPointBounds = ({ first, count, startNs, stepNs }: SpanRows): BatchBounds => {
  const names = new Map<string, readonly [string, string]>();
  for (let number = first; number < first + BigInt(count); number++) {
    const service = `service-${(number / BigInt(metricsOfService)) % BigInt(services)}`;
    const metric = `metric.${number % BigInt(metricsOfService)}`;
    names.set(`${metric} ${service}`, [metric, service]);
  }
  return {
    uidRanges: [[first, first + BigInt(count - 1)]],
    timeMin: startNs,
    timeMax: startNs + BigInt(count - 1) * stepNs,
    names: [...names.values()],
  };
};
