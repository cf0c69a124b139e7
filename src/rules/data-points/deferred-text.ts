import { doubleText } from '../../wire/otlp/any-value.ts';
import {
  type CountList,
  type DataPointSlots,
  type DoubleList,
  type ExemplarSlot,
  exemplarIdPlaces,
  kindIs,
  metricKinds,
  type NumberSlot,
} from '../../wire/otlp/data-point-slots.ts';
import type { ReadState } from '../../wire/otlp/read-state.ts';
import type { ResourceRow } from '../../wire/otlp/resource-row.ts';
import { limitedAttributes, limitedText, sentTime } from '../items/deferred-texts.ts';

const word = 2n ** 32n;

const wordText = (low: number, high: number): string => String(BigInt(high >>> 0) * word + BigInt(low >>> 0));

/** A double in OTLP's JSON: text where JSON's numbers do not have it. */
export const jsonDouble = (value: number): number | string =>
  Number.isFinite(value) && !Object.is(value, -0) ? value : doubleText(value);

/** A number in OTLP's form; nothing where none was sent. */
export const numberOf = ({ hasValue, isInteger, double, low, high }: NumberSlot): object => {
  if (!hasValue) return {};
  return isInteger
    ? { asInt: String(BigInt.asIntN(64, BigInt(high >>> 0) * word + BigInt(low >>> 0))) }
    : { asDouble: jsonDouble(double) };
};

const countsOf = ({ words, length }: CountList): string[] =>
  Array.from({ length }, (_, index) => wordText(words[2 * index] ?? 0, words[2 * index + 1] ?? 0));

const doublesOf = ({ numbers, length }: DoubleList): (number | string)[] =>
  Array.from(numbers.subarray(0, length), jsonDouble);

/** The ids of an exemplar in hexadecimal; undefined where it has none. */
const idsOf = ({ ids, hasTrace, hasSpan }: ExemplarSlot): { traceId?: string; spanId?: string } => {
  const hex = (from: number, to: number): string => String.fromCharCode(...ids.bytes.subarray(from, to));
  return {
    ...(hasTrace ? { traceId: hex(exemplarIdPlaces.trace, exemplarIdPlaces.span) } : {}),
    ...(hasSpan ? { spanId: hex(exemplarIdPlaces.span, exemplarIdPlaces.end) } : {}),
  };
};

const exemplarsOf = (state: ReadState): object[] => {
  const { point } = state;
  return point.exemplars.slice(0, point.exemplarCount).map((exemplar) => ({
    filteredAttributes: limitedAttributes(
      state,
      point.exemplarAttributes,
      exemplar.attributesFrom,
      exemplar.attributesTo,
    ),
    timeUnixNano: sentTime(state, exemplar.time),
    ...numberOf(exemplar.value),
    ...idsOf(exemplar),
  }));
};

/** The members of a data point that only its kind has. */
const ownOf = (point: DataPointSlots): object => {
  if (point.table <= kindIs.sum) return numberOf(point.value);
  const distribution = {
    count: wordText(point.countLow, point.countHigh),
    sum: point.hasSum ? jsonDouble(point.sum) : undefined,
    min: point.hasMin ? jsonDouble(point.min) : undefined,
    max: point.hasMax ? jsonDouble(point.max) : undefined,
  };
  if (point.table === kindIs.histogram)
    return {
      ...distribution,
      bucketCounts: countsOf(point.counts),
      explicitBounds: doublesOf(point.bounds),
    };
  if (point.table === kindIs.exponentialHistogram)
    return {
      ...distribution,
      scale: point.scale,
      zeroCount: wordText(point.zeroLow, point.zeroHigh),
      positive: { offset: point.positiveOffset, bucketCounts: countsOf(point.counts) },
      negative: { offset: point.negativeOffset, bucketCounts: countsOf(point.negative) },
      zeroThreshold: jsonDouble(point.zeroThreshold),
    };
  const quantiles = doublesOf(point.bounds);
  const values = doublesOf(point.values);
  return {
    ...distribution,
    quantileValues: quantiles.map((quantile, index) => ({ quantile, value: values[index] })),
  };
};

const dataPointOf = (state: ReadState): object => {
  const { point } = state;
  return {
    attributes: limitedAttributes(state, point.attributes, 0, point.attributes.count),
    startTimeUnixNano: sentTime(state, point.start),
    timeUnixNano: sentTime(state, point.time),
    ...ownOf(point),
    exemplars: point.exemplarCount === 0 ? undefined : exemplarsOf(state),
    flags: point.flags,
  };
};

/**
 * The current data point as a JSON object of OTLP that is complete by itself (see DeferredItems): its metric has everything but data
 * points. The schema URLs are beside the resource and the scope that they belong to.
 */
export const deferredText = (state: ReadState, row: ResourceRow): string => {
  const { owner } = state;
  const { metric, table } = state.point;
  const text = (start: number, end: number): string => limitedText(state, start, end);
  const hasTemporality = table !== kindIs.gauge && table !== kindIs.summary;
  return JSON.stringify({
    resource: { attributes: limitedAttributes(state, row.attributes, 0, row.attributes.count) },
    resourceSchemaUrl: text(owner.resourceSchemaStart, owner.resourceSchemaEnd) || undefined,
    scope: {
      name: text(owner.scopeNameStart, owner.scopeNameEnd),
      version: text(owner.scopeVersionStart, owner.scopeVersionEnd),
      attributes: limitedAttributes(state, owner.scopeAttributes, 0, owner.scopeAttributes.count),
      droppedAttributesCount: owner.scopeDropped,
    },
    scopeSchemaUrl: text(owner.scopeSchemaStart, owner.scopeSchemaEnd) || undefined,
    metric: {
      name: text(metric.nameStart, metric.nameEnd),
      description: text(metric.descriptionStart, metric.descriptionEnd),
      unit: text(metric.unitStart, metric.unitEnd),
      metadata: limitedAttributes(state, metric.metadata, 0, metric.metadata.count),
      [metricKinds[table] ?? '']: {
        aggregationTemporality: hasTemporality ? metric.temporality : undefined,
        isMonotonic: table === kindIs.sum ? metric.isMonotonic : undefined,
      },
    },
    dataPoint: dataPointOf(state),
  });
};
