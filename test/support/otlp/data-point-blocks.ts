import { buildItemsMessage } from '../../../src/ingress/otlp/message.ts';
import type { ItemTableName } from '../../../src/model/signals.ts';
import { uidBase } from '../../../src/model/uid.ts';
import { jsonMetrics } from '../../../src/rules/data-points/json-metrics.ts';
import { type BlockPart, decodeBlocksEnvelope } from '../../../src/wire/blocks-envelope.ts';
import { defaultItemLimits, type ItemsRun } from '../../../src/wire/otlp/types.ts';
import { defaultTimePolicy } from '../time-policy.ts';

/** A data point: its table, its time, ms since 1970, and what identifies it. */
export type DataPointRow = {
  readonly table: ItemTableName;
  readonly at: number;
  readonly service: string;
  readonly metric: string;
};

type Message = {
  /** The uid of the first data point. */
  readonly base: bigint;
  readonly appId: number;
  readonly arrivedAt: number;
  readonly mayOverlap?: boolean;
  /** Texts of deferred data points, beside the others. */
  readonly deferred?: readonly object[];
};

const cumulative = { aggregationTemporality: 2 };

/** The kind of a metric with one data point, as its table has it. */
const kindOf = (table: ItemTableName, timeUnixNano: string): object => {
  const point = { timeUnixNano, attributes: [{ key: 'a', value: { stringValue: 'b' } }] };
  const histogram = { ...point, count: '3', sum: 4.5 };
  if (table === 'otel_metrics_gauge') return { gauge: { dataPoints: [{ ...point, asDouble: 1.5 }] } };
  if (table === 'otel_metrics_sum')
    return { sum: { ...cumulative, isMonotonic: true, dataPoints: [{ ...point, asInt: '7' }] } };
  if (table === 'otel_metrics_histogram') {
    const buckets = { bucketCounts: ['1', '2'], explicitBounds: [2.5] };
    return { histogram: { ...cumulative, dataPoints: [{ ...histogram, ...buckets }] } };
  }
  if (table === 'otel_metrics_exponential_histogram') {
    const buckets = { scale: 1, zeroCount: '1', positive: { offset: 2, bucketCounts: ['2'] } };
    return { exponentialHistogram: { ...cumulative, dataPoints: [{ ...histogram, ...buckets }] } };
  }
  return { summary: { dataPoints: [{ ...histogram, quantileValues: [{ quantile: 0.5, value: 1.5 }] }] } };
};

const requestOf = (rows: readonly DataPointRow[]) => ({
  resourceMetrics: rows.map(({ table, at, service, metric }) => ({
    resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
    scopeMetrics: [{ metrics: [{ name: metric, ...kindOf(table, `${at}000000`) }] }],
  })),
});

const encodedRun = (rows: readonly DataPointRow[], { base, appId, arrivedAt }: Message): ItemsRun => {
  const { runs } = jsonMetrics.encode(Buffer.from(JSON.stringify(requestOf(rows))), {
    resolve: () => ({
      appId,
      bizId: 2,
      fillDimensions: false,
      policy: { ...defaultTimePolicy, aheadMsMax: undefined },
    }),
    clientIp: '203.0.113.9',
    base: uidBase(base),
    arrivedAt,
    limits: defaultItemLimits,
  });
  const [run, ...others] = runs;
  if (run === undefined || others.length > 0) throw new Error(`${runs.length} runs`);
  return run;
};

/** A message of OTEL_METRICS with these data points, as the receiver makes it, and with deferred ones after them. */
export const dataPointsMessage = (rows: readonly DataPointRow[], message: Message): Buffer => {
  const { base, appId, arrivedAt, mayOverlap = false, deferred = [] } = message;
  const run = encodedRun(rows, message);
  const group = {
    ...{ appId, bizId: 2, policy: defaultTimePolicy },
    ordinals: deferred.map((_, index) => rows.length + index),
    texts: deferred.map((item) => JSON.stringify(item)),
  };
  return buildItemsMessage({
    ...{ pipeline: 'otel_metrics', base: uidBase(base), arrivedAt, mayOverlap },
    run: deferred.length === 0 ? run : { ...run, deferred: [group] },
  });
};

/** The parts of these data points, by table and day, with their blocks. */
export const dataPointParts = (
  rows: readonly DataPointRow[],
  message: Message,
): { readonly part: BlockPart; readonly block: Uint8Array }[] => {
  const read = decodeBlocksEnvelope(dataPointsMessage(rows, message), 1);
  if (read.kind !== 'envelope') throw new Error(read.kind);
  const { header, partBytes } = read.envelope;
  return header.parts.map((part, index) => ({ part, block: partBytes[index] ?? new Uint8Array() }));
};
