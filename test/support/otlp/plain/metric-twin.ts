import assert from 'node:assert/strict';
import type { ItemReason } from '../../../../src/model/reasons.ts';
import { validateSpanTime } from '../../../../src/model/span-time.ts';
import { jsonMetrics } from '../../../../src/rules/data-points/json-metrics.ts';
import { protobufMetrics } from '../../../../src/rules/data-points/protobuf-metrics.ts';
import {
  type EncodedItems,
  type ItemLimits,
  type ItemsContext,
  TooManyElements,
  TooManyItems,
} from '../../../../src/wire/otlp/types.ts';
import { type DataPointRow, rowsOfMetrics } from '../metric-source.ts';
import { type Agreement, type Encoding, plain, sorted, verdictOf } from './agreement.ts';
import { metricsOfJson } from './metric-json.ts';
import type {
  PlainMetric,
  PlainMetricResource,
  PlainMetricScope,
  PlainMetrics,
  PlainPoint,
} from './metric-model.ts';
import { metricsOfProtobuf } from './metric-protobuf.ts';
import { deferredObject, type PointItem, rowOf } from './metric-rows.ts';
import type { PlainAttribute, PlainFault } from './model.ts';
import { Texts, tokenOf } from './rows.ts';
import { attributesSize, cutsIn, sum, withoutSecrets } from './values.ts';

/** What is to come of a request, data point by data point. */
type MetricTwin = {
  items: number;
  readonly rows: DataPointRow[];
  readonly rejected: Map<string, number>;
  readonly deferred: Map<string, number>;
  readonly deferredItems: { ordinal: number; item: unknown }[];
  readonly examples: { index: number; reason: string; fields: readonly string[] }[];
  readonly leniencies: ReadonlyMap<string, number>;
  cutValues: number;
};

const order: readonly ItemReason[] = [
  'data_point_not_object',
  'metric_name_missing',
  'data_point_field_invalid',
  'attribute_invalid',
  'too_many_attributes',
  'too_many_buckets',
  'too_many_exemplars',
];

const runBudget = 2 * 1024 * 1024;

const firstOf = (faults: readonly PlainFault[]) => {
  const reason = order.find((each) => faults.some((fault) => fault.reason === each));
  if (reason === undefined) return undefined;
  return { reason, fields: faults.filter((fault) => fault.reason === reason).map(({ field }) => field) };
};

const when = (is: boolean, reason: ItemReason, ...fields: string[]): PlainFault[] =>
  is ? fields.map((field) => ({ reason, field })) : [];

const overLimit = (list: readonly PlainAttribute[], field: string, most: number): PlainFault[] =>
  when(list.length > most, 'too_many_attributes', field);

/** Faults of the buckets; where there are too many they are not compared with the bounds. */
const bucketFaults = (
  { kind }: PlainMetric,
  { counts, negative, bounds, quantiles, faults }: PlainPoint,
  { bucketsMax = Number.POSITIVE_INFINITY }: ItemLimits,
): PlainFault[] => {
  const tooMany = [
    ...when(
      counts.length + negative.length > bucketsMax,
      'too_many_buckets',
      'bucketCounts',
      'positive.bucketCounts',
      'negative.bucketCounts',
    ),
    ...when(bounds.length > bucketsMax, 'too_many_buckets', 'explicitBounds'),
    ...when(quantiles.length > bucketsMax, 'too_many_buckets', 'quantileValues'),
  ];
  const isObject = !faults.some(({ reason }) => reason === 'data_point_not_object');
  if (tooMany.length > 0 || kind !== 'histogram' || !isObject) return tooMany;
  const fit = counts.length === bounds.length + 1 || counts.length + bounds.length === 0;
  const increase = bounds.every((bound, index) =>
    index === 0 ? !Number.isNaN(bound) : bound > (bounds[index - 1] ?? 0),
  );
  return fit
    ? when(!increase, 'data_point_field_invalid', 'explicitBounds')
    : when(true, 'data_point_field_invalid', 'bucketCounts');
};

const faultOf = ({ point, metric, scope, resource }: Omit<PointItem, 'owner'>, limits: ItemLimits) => {
  const { attributesMax: most, exemplarsMax = Number.POSITIVE_INFINITY } = limits;
  return (
    firstOf([
      ...point.faults,
      ...metric.faults,
      ...when(
        metric.name.length === 0 && !metric.faults.some(({ field }) => field === 'metric.name'),
        'metric_name_missing',
        'metric.name',
      ),
      ...overLimit(withoutSecrets(metric.metadata), 'metric.metadata', most),
      ...overLimit(withoutSecrets(point.attributes), 'attributes', most),
      ...point.exemplars.flatMap(({ attributes }) =>
        overLimit(withoutSecrets(attributes), 'exemplars[].filteredAttributes', most),
      ),
      ...bucketFaults(metric, point, limits),
      ...when(
        point.quantiles.some(({ quantile }) => Number.isNaN(quantile) || quantile < 0 || quantile > 1),
        'data_point_field_invalid',
        'quantileValues[].quantile',
      ),
      ...when(point.exemplars.length > exemplarsMax, 'too_many_exemplars', 'exemplars'),
    ]) ??
    firstOf([...resource.faults, ...overLimit(resource.attributes, 'resource.attributes', most)]) ??
    firstOf([...scope.faults, ...overLimit(withoutSecrets(scope.attributes), 'scope.attributes', most)])
  );
};

const sizeOf = (point: PlainPoint, metric: PlainMetric): number =>
  attributesSize(point.attributes) +
  8 * (point.counts.length + point.negative.length + point.bounds.length + 2 * point.quantiles.length) +
  sum(point.exemplars, ({ attributes }) => 96 + attributesSize(attributes)) +
  attributesSize(metric.metadata) +
  metric.name.length +
  metric.description.length +
  metric.unit.length;

const outerSizeOf = (scope: PlainMetricScope, resource: PlainMetricResource): number =>
  attributesSize(resource.attributes) +
  resource.schema.length +
  attributesSize(scope.attributes) +
  scope.name.length +
  scope.version.length +
  scope.schema.length;

const cutsOf = (list: readonly PlainAttribute[]): number => sum(list, ({ value }) => cutsIn(value));

const count = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1);

/** Follows the rules for one data point. */
const judge = (
  twin: MetricTwin,
  item: Omit<PointItem, 'owner'>,
  owner: ReturnType<ItemsContext['resolve']>,
  given: ItemsContext,
): void => {
  const { ordinal, point, metric, scope, resource } = item;
  const reject = (reason: string, fields: readonly string[]): void => {
    count(twin.rejected, reason);
    twin.examples.push({ index: ordinal, reason, fields });
  };
  if (typeof owner === 'string') {
    const field = tokenOf(resource) === undefined ? '' : 'resource.attributes["mon.data.token"]';
    return reject(owner === 'invalid' ? 'token_invalid' : 'application_disabled', [field]);
  }
  const context = { ...given, limits: owner.limits ?? given.limits };
  const fault = faultOf(item, context.limits);
  if (fault !== undefined) return reject(fault.reason, fault.fields);
  if (256 + 2 * (sizeOf(point, metric) + outerSizeOf(scope, resource)) > runBudget)
    return reject('item_too_large', ['']);
  const reason = validateSpanTime(point.time, point.time, context.arrivedAt, owner.policy);
  if (reason !== undefined) {
    count(twin.deferred, reason);
    twin.examples.push({ index: ordinal, reason, fields: ['timeUnixNano'] });
    twin.deferredItems.push({ ordinal, item: deferredObject({ ...item, owner }, context) });
    return;
  }
  const texts = new Texts(context.limits.valueBytesMax);
  twin.rows.push(rowOf({ ...item, owner }, context, texts));
  const lists = [resource, scope, point, ...point.exemplars].map(({ attributes }) => attributes);
  twin.cutValues += texts.cutValues + sum([...lists, metric.metadata], cutsOf);
};

const twinOf = ({ resources, leniencies }: PlainMetrics, context: ItemsContext): MetricTwin => {
  const twin: MetricTwin = {
    ...{ items: 0, rows: [], rejected: new Map(), deferred: new Map(), deferredItems: [], examples: [] },
    ...{ leniencies, cutValues: 0 },
  };
  let empty = 0;
  for (const resource of resources) {
    const owner = context.resolve(tokenOf(resource));
    for (const scope of resource.scopes)
      for (const metric of scope.metrics) {
        if (metric.points.length === 0) empty++;
        for (const point of metric.points) {
          for (const { traceId, spanId } of point.exemplars)
            for (const id of [traceId, spanId])
              if (id === 'wrong')
                leniencies.set('exemplar_id_invalid', (leniencies.get('exemplar_id_invalid') ?? 0) + 1);
          judge(twin, { ordinal: twin.items++, point, metric, scope, resource }, owner, context);
        }
      }
  }
  const { itemsMax } = context.limits;
  if (twin.items > itemsMax || empty > itemsMax) throw new TooManyItems(twin.items, itemsMax);
  return twin;
};

/** The rows of a body in JSON by the plain reader. */
export const plainDataPointRows = (bytes: Uint8Array, context: ItemsContext): DataPointRow[] =>
  twinOf(metricsOfJson(bytes), context).rows;

/** Counted once a block, and so not by the twin. */
const ofBlocks = new Set(['duplicate_key', 'invalid_utf8']);

const counted = (leniencies: ReadonlyMap<string, number>): [string, number][] =>
  sorted([...leniencies].filter(([kind]) => !ofBlocks.has(kind)));

/** A block without any exemplar does not send their columns, which are empty arrays then. */
const withExemplars = (row: DataPointRow): DataPointRow => {
  if (row['table'] === 'otel_metrics_summary') return row;
  const names = ['FilteredAttributes', 'TimeUnix', 'Value', 'SpanId', 'TraceId', 'ValueInt'];
  return { ...Object.fromEntries(names.map((name) => [`Exemplars.${name}`, []])), ...row };
};

const shownReader = (encoded: EncodedItems): unknown => ({
  ...{ items: encoded.items, accepted: encoded.accepted, cutValues: encoded.cutValues },
  rejected: sorted(encoded.rejected),
  deferred: sorted(encoded.deferred),
  leniencies: counted(encoded.leniencies),
  rows: rowsOfMetrics(encoded).map(withExemplars),
  deferredItems: encoded.runs
    .flatMap(({ deferred }) =>
      deferred.flatMap(({ ordinals, texts }) =>
        ordinals.map((ordinal, index) => {
          const item: unknown = JSON.parse(texts[index] ?? '');
          return { ordinal, item };
        }),
      ),
    )
    .sort((a, b) => a.ordinal - b.ordinal),
  examples: encoded.examples.map(({ index, reason }) => ({ index, reason })),
});

const shownTwin = (twin: MetricTwin): unknown => ({
  ...{ items: twin.items, accepted: twin.rows.length, cutValues: twin.cutValues },
  rejected: sorted(twin.rejected),
  deferred: sorted(twin.deferred),
  leniencies: counted(twin.leniencies),
  rows: twin.rows,
  deferredItems: twin.deferredItems,
  examples: twin.examples.slice(0, 20).map(({ index, reason }) => ({ index, reason })),
});

/** Too many metrics without data points are too many of what a request may have, too. */
const encodedBy = (encoding: Encoding, bytes: Uint8Array, context: ItemsContext): EncodedItems => {
  try {
    return (encoding === 'json' ? jsonMetrics : protobufMetrics).encode(bytes, context);
  } catch (error) {
    if (!(error instanceof TooManyElements)) throw error;
    throw new TooManyItems(0, context.limits.itemsMax);
  }
};

/**
 * Compares what the reader yields of a body of data points with what a plain one does that shares no code with it; throws where
 * they differ. Runs are not compared: the twin of spans has them, and their encoder is the same.
 */
export const agreeOnMetrics = (encoding: Encoding, bytes: Uint8Array, context: ItemsContext): Agreement => {
  const encoded = verdictOf(() => encodedBy(encoding, bytes, context));
  const request = verdictOf(() => (encoding === 'json' ? metricsOfJson : metricsOfProtobuf)(bytes));
  const twin = request.kind === 'read' ? verdictOf(() => twinOf(request.result, context)) : request;
  // The reader stops at the point that is too many, and sees neither what is wrong behind it nor the same name once more.
  const isUnseen = request.kind !== 'read' || request.result.hasRepeats;
  if (encoded.kind === 'too many' && isUnseen) return { kind: 'too many', rows: 0 };
  assert.equal(encoded.kind, twin.kind);
  if (encoded.kind !== 'read' || twin.kind !== 'read' || !('rows' in twin.result))
    return { kind: encoded.kind, rows: 0 };
  assert.deepStrictEqual(plain(shownReader(encoded.result)), plain(shownTwin(twin.result)));
  for (const [index, { field }] of encoded.result.examples.entries()) {
    const allowed: readonly string[] = twin.result.examples[index]?.fields ?? [];
    assert.ok(allowed.includes(field), `example ${index} names ${field}, the twin ${allowed.join(' or ')}`);
  }
  return { kind: 'read', rows: encoded.result.accepted };
};
