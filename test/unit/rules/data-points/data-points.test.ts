import { describe, expect, it } from 'vitest';
import { countedBase } from '../../../../src/model/uid.ts';
import { protobufMetrics } from '../../../../src/rules/data-points/protobuf-metrics.ts';
import { protobufTraces } from '../../../../src/rules/spans/protobuf-traces.ts';
import { mergeBlocks } from '../../../../src/wire/native/block-merger.ts';
import { readBlock } from '../../../../src/wire/native/block-reader.ts';
import {
  exponentialHistogramColumns,
  gaugeColumns,
  histogramColumns,
  sumColumns,
  summaryColumns,
} from '../../../../src/wire/native/metric-columns.ts';
import { isOmittable } from '../../../../src/wire/native/omitted-columns.ts';
import { type ItemsContext, MalformedBody, TooManyItems } from '../../../../src/wire/otlp/types.ts';
import { goodRecord, logsOf } from '../../../support/otlp/log-source.ts';
import { encodeLogsProtobuf } from '../../../support/otlp/logs.ts';
import {
  encodeMetricsOfJson,
  encodeMetricsOfProtobuf,
  goodMetric,
  goodPoint,
  metricsOf,
  onlyDataPoint,
  rowsOfMetrics,
} from '../../../support/otlp/metric-source.ts';
import {
  encodeMetricsProtobuf,
  type OtlpExemplar,
  type OtlpMetric,
  type OtlpMetricsRequest,
} from '../../../support/otlp/metrics.ts';
import { encodeOtlpProtobuf, type OtlpAttribute } from '../../../support/otlp/protobuf.ts';
import { rowsAsStored } from '../../../support/otlp/sent-rows.ts';
import {
  arrivedAt,
  contextWith,
  goodSpan,
  nanosAt,
  requestOf as spansOf,
} from '../../../support/otlp/trace-source.ts';
import { withoutRows } from '../../../support/otlp/without-rows.ts';

const ways = [
  ['JSON', (request: OtlpMetricsRequest, context?: ItemsContext) => encodeMetricsOfJson(request, context)],
  ['protobuf', encodeMetricsOfProtobuf],
] as const;

const attribute = (key: string, stringValue: string): OtlpAttribute => ({ key, value: { stringValue } });

const exemplar: OtlpExemplar = {
  filteredAttributes: [attribute('user', 'ann')],
  timeUnixNano: nanosAt(-1500, 3),
  asInt: '9007199254740993',
  spanId: 'eee19b7ec3c1b174',
  traceId: '5b8efff798038103d269b633813fc60c',
};

const exemplarRow = {
  'Exemplars.FilteredAttributes': [[['user', 'ann']]],
  'Exemplars.TimeUnix': [BigInt(nanosAt(-1500, 3))],
  'Exemplars.Value': [9007199254740992],
  'Exemplars.SpanId': ['eee19b7ec3c1b174'],
  'Exemplars.TraceId': ['5b8efff798038103d269b633813fc60c'],
  'Exemplars.ValueInt': [9007199254740993n],
};

const point = {
  attributes: [attribute('http.route', '/cart'), attribute('secret.data.token', 'hidden')],
  startTimeUnixNano: nanosAt(-60_000, 1),
  timeUnixNano: nanosAt(-1000, 7),
  flags: 2,
  exemplars: [exemplar],
};

const requestOf = (metric: OtlpMetric): OtlpMetricsRequest => ({
  resourceMetrics: [
    {
      resource: { attributes: [attribute('service.name', 'cart'), attribute('host.name', 'n1')] },
      schemaUrl: 'https://example.com/schema/resource',
      scopeMetrics: [
        {
          scope: {
            name: 'my.library',
            version: '1.0.0',
            attributes: [attribute('my.scope.attribute', 'some')],
            droppedAttributesCount: 3,
          },
          schemaUrl: 'https://example.com/schema/scope',
          metrics: [
            {
              name: 'http.server.duration',
              description: 'How long requests take',
              unit: 'ms',
              metadata: [attribute('prometheus.type', 'histogram')],
              ...metric,
            },
          ],
        },
      ],
    },
  ],
});

const headRow = {
  ResourceAttributes: [
    ['service.name', 'cart'],
    ['host.name', 'n1'],
  ],
  ResourceSchemaUrl: 'https://example.com/schema/resource',
  ScopeName: 'my.library',
  ScopeVersion: '1.0.0',
  ScopeAttributes: [['my.scope.attribute', 'some']],
  ScopeDroppedAttrCount: 3n,
  ScopeSchemaUrl: 'https://example.com/schema/scope',
  ServiceName: 'cart',
  MetricName: 'http.server.duration',
  MetricDescription: 'How long requests take',
  MetricUnit: 'ms',
  Attributes: [['http.route', '/cart']],
  StartTimeUnix: BigInt(nanosAt(-60_000, 1)),
  TimeUnix: BigInt(nanosAt(-1000, 7)),
  Flags: 2n,
  MetricMetadata: [['prometheus.type', 'histogram']],
  uid: BigInt(contextWith().base.text),
  AppId: 12n,
  BizId: 2n,
  ArrivedAt: BigInt(arrivedAt),
};

const distribution = { count: '18446744073709551615', sum: -12.5, min: -20, max: 1e300 };

const distributionRow = {
  ...{ Count: 18446744073709551615n, Sum: -12.5, Min: -20, Max: 1e300 },
  ...{ HasSum: true, HasMin: true, HasMax: true },
};

/** A metric of each kind with everything that it may have, its row, and the columns of its table. */
const kinds = [
  [
    'otel_metrics_gauge',
    { gauge: { dataPoints: [{ ...point, asInt: '-9223372036854775808' }] } },
    { ...exemplarRow, Value: -(2 ** 63), ValueInt: -9223372036854775808n, HasValue: true },
    gaugeColumns,
  ],
  [
    'otel_metrics_sum',
    { sum: { dataPoints: [{ ...point, asDouble: 0.1 }], aggregationTemporality: 2, isMonotonic: true } },
    {
      ...exemplarRow,
      ...{ Value: 0.1, ValueInt: null, HasValue: true, AggregationTemporality: 2n, IsMonotonic: true },
    },
    sumColumns,
  ],
  [
    'otel_metrics_histogram',
    {
      histogram: {
        dataPoints: [
          {
            ...{ ...point, ...distribution },
            bucketCounts: ['0', '9007199254740993', '18446744073709551615'],
            explicitBounds: [-0.5, 10],
          },
        ],
        aggregationTemporality: 1,
      },
    },
    {
      ...{ ...exemplarRow, ...distributionRow, AggregationTemporality: 1n },
      BucketCounts: [0n, 9007199254740993n, 18446744073709551615n],
      ExplicitBounds: [-0.5, 10],
    },
    histogramColumns,
  ],
  [
    'otel_metrics_exponential_histogram',
    {
      exponentialHistogram: {
        dataPoints: [
          {
            ...{ ...point, ...distribution },
            ...{ scale: -10, zeroCount: '9007199254740993', zeroThreshold: 1e-9 },
            positive: { offset: -2147483648, bucketCounts: ['1', '18446744073709551615'] },
            negative: { offset: 2147483647, bucketCounts: ['300'] },
          },
        ],
        aggregationTemporality: 2,
      },
    },
    {
      ...{ ...exemplarRow, ...distributionRow, AggregationTemporality: 2n },
      ...{ Scale: -10n, ZeroCount: 9007199254740993n, ZeroThreshold: 1e-9 },
      ...{ PositiveOffset: -2147483648n, PositiveBucketCounts: [1n, 18446744073709551615n] },
      ...{ NegativeOffset: 2147483647n, NegativeBucketCounts: [300n] },
    },
    exponentialHistogramColumns,
  ],
  [
    'otel_metrics_summary',
    {
      summary: {
        dataPoints: [
          {
            ...{ attributes: point.attributes, startTimeUnixNano: point.startTimeUnixNano },
            ...{ timeUnixNano: point.timeUnixNano, flags: 2, count: '7', sum: 12.5 },
            quantileValues: [
              { quantile: 0.5, value: 1.25 },
              { quantile: 1, value: 9 },
            ],
          },
        ],
      },
    },
    {
      ...{ Count: 7n, Sum: 12.5 },
      ...{ 'ValueAtQuantiles.Quantile': [0.5, 1], 'ValueAtQuantiles.Value': [1.25, 9] },
    },
    summaryColumns,
  ],
] as const;

describe.each(ways)('a data point in %s', (_, encode) => {
  it.each(kinds)('of %s is a row with each of its fields', (table, metric, row, columns) => {
    const encoded = encode(requestOf(metric));
    expect(onlyDataPoint(encoded)).toEqual({ ...headRow, ...row, table });
    expect(Object.keys({ ...headRow, ...row }).sort()).toEqual(columns.map(({ name }) => name).sort());
    expect([...encoded.leniencies]).toEqual([]);
  });

  it('has the name, unit and description of its metric, before or behind the points', () => {
    const { gauge, ...own } = { ...goodMetric, unit: 'K', description: 'd' };
    const row = onlyDataPoint(encode(metricsOf({ gauge, ...own })));
    expect(row).toMatchObject({ MetricName: 'temperature', MetricUnit: 'K', MetricDescription: 'd' });
  });

  it('without a value has none, and one that says so has none either', () => {
    const { timeUnixNano } = goodPoint;
    const dataPoints = [{ timeUnixNano }, { ...goodPoint, flags: 1 }];
    const rows = rowsOfMetrics(encode(metricsOf({ name: 'a', gauge: { dataPoints } })));
    expect(rows).toMatchObject([
      { Value: 0, ValueInt: null, HasValue: false, Flags: 0n },
      { Value: 0, ValueInt: null, HasValue: false, Flags: 1n },
    ]);
  });

  it('keeps what is no number, and infinities', () => {
    const values = ['NaN', 'Infinity', '-Infinity'] as const;
    const dataPoints = values.map((asDouble) => ({ ...goodPoint, asDouble }));
    const rows = rowsOfMetrics(encode(metricsOf({ name: 'a', gauge: { dataPoints } })));
    expect(rows.map(({ Value }) => Value)).toEqual(values.map(Number));
  });

  it('tells what a histogram has not', () => {
    const dataPoints = [{ timeUnixNano: goodPoint.timeUnixNano, count: '0' }];
    expect(onlyDataPoint(encode(metricsOf({ name: 'a', histogram: { dataPoints } })))).toMatchObject({
      ...{ Count: 0n, Sum: 0, Min: 0, Max: 0, HasSum: false, HasMin: false, HasMax: false },
      ...{ BucketCounts: [], ExplicitBounds: [], AggregationTemporality: 0n },
    });
  });

  it('has 0 for a start that is missing, and for times that the database cannot hold', () => {
    const beyond = '9223372036854775808';
    const dataPoints = [
      goodPoint,
      { ...goodPoint, startTimeUnixNano: beyond, exemplars: [{ timeUnixNano: beyond, asDouble: 1 }] },
    ];
    const rows = rowsOfMetrics(encode(metricsOf({ name: 'a', gauge: { dataPoints } })));
    expect(rows.map(({ StartTimeUnix }) => StartTimeUnix)).toEqual([0n, 0n]);
    expect(rows[1]?.['Exemplars.TimeUnix']).toEqual([0n]);
  });

  it('keeps a temporality that OTLP does not have as none, and counts it', () => {
    const sum = { dataPoints: [goodPoint], aggregationTemporality: 3 };
    const encoded = encode(metricsOf({ name: 'a', sum }));
    expect(onlyDataPoint(encoded)).toMatchObject({ AggregationTemporality: 0n });
    expect([...encoded.leniencies]).toEqual([['enum_unknown', 1]]);
  });

  it('keeps an exemplar with a wrong id without it, and counts it', () => {
    const exemplars = [{ asDouble: 1, spanId: 'eee1', traceId: '0'.repeat(32) }];
    const encoded = encode(metricsOf({ name: 'a', gauge: { dataPoints: [{ ...goodPoint, exemplars }] } }));
    expect(onlyDataPoint(encoded)).toMatchObject({ 'Exemplars.SpanId': [''], 'Exemplars.TraceId': [''] });
    expect([...encoded.leniencies]).toEqual([['exemplar_id_invalid', 1]]);
  });

  it('is none in a metric without data', () => {
    const encoded = encode(metricsOf({ name: 'a' }, { name: 'b', gauge: {} }, {}));
    expect([encoded.items, encoded.runs]).toEqual([0, []]);
  });
});

describe.each(ways)('a data point that cannot be kept, in %s', (_, encode) => {
  const histogram = (counts: number, explicitBounds: (number | 'NaN')[]): OtlpMetric => ({
    name: 'a',
    histogram: {
      dataPoints: [{ ...goodPoint, bucketCounts: Array.from({ length: counts }, () => '1'), explicitBounds }],
    },
  });
  const summary = (quantile: number | 'NaN' | 'Infinity'): OtlpMetric => ({
    name: 'a',
    summary: { dataPoints: [{ ...goodPoint, quantileValues: [{ quantile: 0.5 }, { quantile, value: 1 }] }] },
  });
  const side = { bucketCounts: ['1', '1'] };
  const limits = { bucketsMax: 3, exemplarsMax: 1, attributesMax: 2 };
  const attributes = ['a', 'b', 'c'].map((key) => attribute(key, 'v'));

  it.each<[string, OtlpMetric, string]>([
    ['metric_name_missing', { gauge: { dataPoints: [goodPoint] } }, 'metric.name'],
    ['data_point_field_invalid', histogram(2, [1, 2]), 'bucketCounts'],
    ['data_point_field_invalid', histogram(0, [1]), 'bucketCounts'],
    ['data_point_field_invalid', histogram(3, [2, 2]), 'explicitBounds'],
    ['data_point_field_invalid', histogram(2, ['NaN']), 'explicitBounds'],
    ['data_point_field_invalid', summary('NaN'), 'quantileValues[].quantile'],
    ['data_point_field_invalid', summary('Infinity'), 'quantileValues[].quantile'],
    ['data_point_field_invalid', summary(-0.01), 'quantileValues[].quantile'],
    ['data_point_field_invalid', summary(99), 'quantileValues[].quantile'],
    ['too_many_buckets', histogram(4, [1, 2, 3]), 'bucketCounts'],
    [
      'too_many_buckets',
      { name: 'a', exponentialHistogram: { dataPoints: [{ ...goodPoint, positive: side, negative: side }] } },
      'negative.bucketCounts',
    ],
    [
      'too_many_buckets',
      { name: 'a', summary: { dataPoints: [{ ...goodPoint, quantileValues: [{}, {}, {}, {}] }] } },
      'quantileValues',
    ],
    [
      'too_many_exemplars',
      { name: 'a', gauge: { dataPoints: [{ ...goodPoint, exemplars: [{ asInt: '1' }, { asInt: '2' }] }] } },
      'exemplars',
    ],
    [
      'too_many_attributes',
      {
        name: 'a',
        gauge: { dataPoints: [{ ...goodPoint, exemplars: [{ filteredAttributes: attributes }] }] },
      },
      'exemplars[].filteredAttributes',
    ],
    [
      'too_many_attributes',
      { ...goodMetric, gauge: { dataPoints: [goodPoint] }, metadata: attributes },
      'metric.metadata',
    ],
  ])('is rejected as %s', (reason, metric, field) => {
    const encoded = encode(metricsOf(metric), contextWith({ limits }));
    expect(encoded.examples).toMatchObject([{ index: 0, reason, field }]);
    expect([encoded.items, encoded.accepted, encoded.rejected.get('item_too_large')]).toEqual([
      1,
      0,
      undefined,
    ]);
  });

  it('is deferred for its time', () => {
    const times = [undefined, '0', nanosAt(7_200_000)];
    const dataPoints = times.map((timeUnixNano) => ({
      asDouble: 1,
      ...(timeUnixNano === undefined ? {} : { timeUnixNano }),
    }));
    const { deferred } = encode(metricsOf({ name: 'a', gauge: { dataPoints } }));
    expect([...deferred]).toEqual([
      ['timestamp_zero_or_missing', 2],
      ['timestamp_too_far_ahead', 1],
    ]);
  });

  it('is rejected as too_many_series where its series is not admitted, which is asked last', () => {
    const asked: [number, number, number][] = [];
    const admitsSeries: ItemsContext['admitsSeries'] = (...series) => asked.push(series) === 1;
    const dataPoints = [
      goodPoint,
      { ...goodPoint, attributes },
      { asDouble: 1 },
      { ...goodPoint, attributes },
    ];
    const context = contextWith({ admitsSeries });
    const { rejected, accepted } = encode(metricsOf({ name: 'a', gauge: { dataPoints } }), context);
    expect([...rejected]).toEqual([['too_many_series', 2]]);
    expect([accepted, asked.length]).toEqual([1, 3]);
    expect(asked[1]).toEqual(asked[2]);
    expect(asked[1]).not.toEqual(asked[0]);
  });

  it('is of another series where an attribute of its scope differs, in any order', () => {
    const asked: string[] = [];
    const context = contextWith({ admitsSeries: (...series) => asked.push(series.join()) > 0 });
    const scopeMetrics = [[], ['a', 'x'], ['x', 'a'], ['b', 'x']].map((texts) => ({
      scope: {
        name: 'scope',
        version: '1',
        attributes: texts.map((text) => attribute(text === 'x' ? 'x' : 'tenant', text)),
      },
      metrics: [goodMetric],
    }));
    encode({ resourceMetrics: [{ scopeMetrics }] }, context);
    const [none, one, turned, other] = asked;
    expect(asked).toHaveLength(4);
    expect(turned).toBe(one);
    expect(new Set([none, one, other]).size).toBe(3);
  });

  it('makes the request too large beyond the limit, which is too_many_data_points', () => {
    const dataPoints = [goodPoint, goodPoint, goodPoint];
    const context = contextWith({ limits: { itemsMax: 2 } });
    expect(() => encode(metricsOf({ name: 'a', gauge: { dataPoints } }), context)).toThrow(TooManyItems);
  });
});

describe('data points of several kinds', () => {
  it('are one part for each table, and a part of its own for each day', () => {
    const dataPoints = [goodPoint, { ...goodPoint, timeUnixNano: nanosAt(-86_400_000) }];
    const encoded = encodeMetricsOfJson(
      metricsOf(
        { name: 'a', gauge: { dataPoints } },
        { name: 'b', sum: { dataPoints } },
        { name: 'c', gauge: { dataPoints } },
      ),
    );
    expect(encoded.runs).toHaveLength(1);
    expect(
      encoded.runs[0]?.parts.map(({ itemTable, rows, ordinals }) => [itemTable, rows, ordinals]),
    ).toEqual([
      ['otel_metrics_gauge', 2, 4],
      ['otel_metrics_gauge', 2, 6],
      ['otel_metrics_sum', 1, 2],
      ['otel_metrics_sum', 1, 3],
    ]);
  });
});

// Some serialisers write each message that is not set as {}.
describe('a metric of JSON with a second kind', () => {
  const gauge = {
    dataPoints: [
      { ...goodPoint, asDouble: 1 },
      { ...goodPoint, asDouble: 2 },
    ],
  };
  const sum = { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ ...goodPoint, asDouble: 3 }] };
  const tablesOf = (metric: object) => {
    const encoded = encodeMetricsOfJson(metricsOf(metric));
    return {
      parts: encoded.runs.flatMap(({ parts }) => parts.map(({ itemTable, rows }) => [itemTable, rows])),
      examples: encoded.examples.map(({ reason, field, detail }) => [reason, field, detail]),
    };
  };

  it.each([
    ['an empty one', {}],
    ['one with an empty list', { dataPoints: [], aggregationTemporality: 1 }],
    ['one with null for its list', { dataPoints: null }],
  ])('that has no data points, %s, keeps those of the other one', (_, empty) => {
    const gauges = { parts: [['otel_metrics_gauge', 2]], examples: [] };
    expect(tablesOf({ name: 'a', gauge, sum: empty })).toEqual(gauges);
    expect(tablesOf({ name: 'a', sum: empty, gauge })).toEqual(gauges);
    expect(tablesOf({ name: 'a', sum: empty, gauge, histogram: {}, summary: {} })).toEqual(gauges);
  });

  it('that has no data points leaves temporality and monotonicity as they are', () => {
    const [row] = rowsOfMetrics(encodeMetricsOfJson(metricsOf({ name: 'a', sum, histogram: {} })));
    expect(row).toMatchObject({ AggregationTemporality: 2n, IsMonotonic: true, Value: 3 });
  });

  it('that has data points, too, rejects those of the last one and names both', () => {
    expect(tablesOf({ name: 'a', gauge, sum })).toEqual({
      parts: [],
      examples: [
        ['data_point_field_invalid', 'metric.gauge', 'data points beside those in sum: send two metrics'],
      ],
    });
  });

  it('reads a body as wrong whose data points of the first kind are', () => {
    const text = JSON.stringify(metricsOf({ name: 'a', gauge: { dataPoints: ['X'] }, sum: {} }));
    expect(() => encodeMetricsOfJson(text.replace('"X"', '{,}'))).toThrow(MalformedBody);
  });
});

describe('a body of protobuf for another signal', () => {
  const { timeUnixNano } = goodRecord;

  it.each([
    ['spans', /look like spans/, encodeOtlpProtobuf(spansOf(goodSpan))],
    ['log records', /look like log records/, encodeLogsProtobuf(logsOf(goodRecord))],
    [
      'log records of a time alone',
      /no data points; they look like log records/,
      encodeLogsProtobuf(logsOf({ timeUnixNano, severityText: 'a' })),
    ],
  ])('says that these are %s, which are no data points', (__, message, body) => {
    expect(() => protobufMetrics.encode(body, contextWith())).toThrow(message);
  });

  it('says that these are metrics, which are no spans', () => {
    const body = encodeMetricsProtobuf(metricsOf({ name: 'a', sum: { dataPoints: [goodPoint] } }));
    expect(protobufTraces.encode(body, contextWith()).examples).toMatchObject([
      { reason: 'trace_id_invalid', detail: expect.stringMatching(/look like metrics/) },
    ]);
  });
});

describe('blocks of data points', () => {
  const blockOf = (metric: OtlpMetric, first: number): Uint8Array => {
    const request = requestOf(metric);
    const context = contextWith({ base: countedBase(7, first) });
    return encodeMetricsOfProtobuf(request, context).runs[0]?.parts[0]?.block ?? new Uint8Array(0);
  };

  it.each(kinds)('of %s are merged, and taken apart again', (_, metric) => {
    const blocks = [1000, 2000, 3000].map((base) => blockOf(metric, base));
    const [merged = new Uint8Array(0), ...others] = mergeBlocks(blocks, { rowsMax: 10, bytesMax: 2 ** 20 });
    const rowsIn = (block: Uint8Array) =>
      Array.from({ length: readBlock(block).rows }, (__, row) => readBlock(block).row(row));
    expect(others).toEqual([]);
    expect(rowsIn(merged)).toEqual(blocks.flatMap(rowsIn));
    const fewer = withoutRows(merged, new Set([1])) ?? new Uint8Array(0);
    expect(rowsIn(fewer)).toEqual(
      [blocks[0], blocks[2]].flatMap((block) => rowsIn(block ?? new Uint8Array(0))),
    );
  });
});

describe('columns that no row of a block has set', () => {
  const seldom = { flags: 1, startTimeUnixNano: goodPoint.timeUnixNano } as const;
  const time = { timeUnixNano: goodPoint.timeUnixNano };
  const sums: readonly [string, OtlpMetric & { readonly name: string }][] = [
    ['none', { name: 'a', sum: { dataPoints: [goodPoint, goodPoint] } }],
    ['flags and starts', { name: 'b', sum: { dataPoints: [goodPoint, { ...goodPoint, ...seldom }] } }],
    ['integers', { name: 'c', sum: { dataPoints: [{ ...time, asInt: '7' }, goodPoint] } }],
    [
      'a unit and a description',
      { name: 'd', unit: 's', description: 'd', sum: { dataPoints: [goodPoint] } },
    ],
    ['metadata', { name: 'e', metadata: [attribute('k', 'v')], sum: { dataPoints: [goodPoint] } }],
    ['a start', { name: 'f', sum: { dataPoints: [{ ...goodPoint, ...seldom, flags: 0 }] } }],
    ['an exemplar', { name: 'h', sum: { dataPoints: [{ ...goodPoint, exemplars: [exemplar] }, goodPoint] } }],
    ['flags', { name: 'g', sum: { dataPoints: [{ ...goodPoint, flags: 3 }] } }],
  ];
  const partOf = (metric: OtlpMetric) => {
    const part = encodeMetricsOfProtobuf(metricsOf(metric)).runs[0]?.parts[0];
    if (part === undefined) throw new Error('no part');
    return part;
  };
  const stored = (block: Uint8Array) => rowsAsStored(block, sumColumns);

  it('are not sent', () => {
    const names = readBlock(partOf({ name: 'a', sum: { dataPoints: [goodPoint] } }).block).names;
    expect(names.filter((name) => isOmittable(name))).toEqual(['ScopeName', 'ScopeVersion']);
    expect(sumColumns.filter(({ name }) => !names.includes(name) && !isOmittable(name))).toMatchObject(
      sumColumns.filter(({ name }) => name.startsWith('Exemplars.')),
    );
  });

  it.each(sums.flatMap((one) => sums.map((other) => [one[0], other[0], one[1], other[1]] as const)))(
    'are defaults where a block with %s is merged with one with %s',
    (_, __, one, other) => {
      const blocks = [partOf(one).block, partOf(other).block, partOf(one).block];
      const merged = mergeBlocks(blocks, { rowsMax: 100, bytesMax: 2 ** 20 });
      const ofLike = (metric: string) =>
        merged.flatMap(stored).filter(({ MetricName }) => MetricName === metric);
      for (const { name } of [one, other])
        expect(ofLike(name)).toEqual(blocks.flatMap(stored).filter(({ MetricName }) => MetricName === name));
      expect(merged).toHaveLength(1);
    },
  );
});

describe('JSON of data points', () => {
  // The JSON mapping of proto3 takes them, with quotes as without.
  it('has integers in any notation, in quotes too', () => {
    const time = { timeUnixNano: nanosAt(-1) };
    const body = metricsOf(
      { name: 'a', gauge: { dataPoints: [{ ...time, asInt: '-1e2', flags: '0.0' }] } },
      {
        name: 'b',
        histogram: {
          dataPoints: [{ ...time, count: '3.0', bucketCounts: ['1E0', '2'], explicitBounds: [5] }],
        },
      },
    );
    expect(rowsOfMetrics(encodeMetricsOfJson(body))).toMatchObject([
      { Value: -100, ValueInt: -100n },
      { Count: 3n, BucketCounts: [1n, 2n] },
    ]);
    const times = [{ timeUnixNano: '1e18', asInt: '1' }];
    expect(encodeMetricsOfJson(metricsOf({ name: 'a', gauge: { dataPoints: times } })).accepted).toBe(0);
  });

  it.each([
    ['data_point_not_object', 17, ''],
    ['data_point_field_invalid', { ...goodPoint, asDouble: true }, 'asDouble'],
    ['data_point_field_invalid', { ...goodPoint, asInt: '9223372036854775808' }, 'asInt'],
    ['data_point_field_invalid', { ...goodPoint, asInt: 1.5 }, 'asInt'],
    ['data_point_field_invalid', { ...goodPoint, flags: -1 }, 'flags'],
    ['data_point_field_invalid', { ...goodPoint, exemplars: {} }, 'exemplars'],
    ['attribute_invalid', { ...goodPoint, attributes: [1] }, 'attributes[0]'],
  ])('that cannot be read are rejected as %s', (reason, dataPoint, field) => {
    const encoded = encodeMetricsOfJson(metricsOf({ name: 'a', gauge: { dataPoints: [dataPoint] } }));
    expect(encoded.examples).toMatchObject([{ reason, field }]);
  });

  it.each([
    ['5', 'data_point_field_invalid', 'expected a string', '5'],
    ['{}', 'data_point_field_invalid', 'expected a string', '{}'],
    ['null', 'metric_name_missing', '', ''],
    ['""', 'metric_name_missing', '', ''],
  ])('of a metric with the name %s are rejected as %s', (name, reason, detail, got) => {
    const body = JSON.stringify(metricsOf({ name: 'a', gauge: { dataPoints: [goodPoint] } }));
    const encoded = encodeMetricsOfJson(body.replace('"name":"a"', `"name":${name}`));
    expect(encoded.examples).toMatchObject([{ reason, field: 'metric.name', detail, got }]);
  });

  it.each(['1e400', '-1e400', `1${'0'.repeat(400)}`])('has no double beyond the range, as %s', (beyond) => {
    const points: OtlpMetric[] = [
      { name: 'a', gauge: { dataPoints: [{ ...goodPoint, asDouble: 7.125 }] } },
      {
        name: 'a',
        histogram: { dataPoints: [{ timeUnixNano: goodPoint.timeUnixNano, count: '1', sum: 7.125 }] },
      },
      {
        name: 'a',
        histogram: { dataPoints: [{ timeUnixNano: goodPoint.timeUnixNano, count: '1', min: 7.125 }] },
      },
    ];
    const body = JSON.stringify(metricsOf(...points, goodMetric));
    for (const written of [beyond, `"${beyond}"`]) {
      const encoded = encodeMetricsOfJson(body.replaceAll('7.125', written));
      expect(encoded.examples.map(({ reason, field }) => [reason, field])).toEqual([
        ['data_point_field_invalid', 'asDouble'],
        ['data_point_field_invalid', 'sum'],
        ['data_point_field_invalid', 'min'],
      ]);
      expect(encoded.accepted).toBe(encoded.items - 3);
    }
  });

  it('may have numbers as text, 64 bits as numbers, names of enums and names with underscores', () => {
    const body = {
      resource_metrics: [
        {
          scope_metrics: [
            {
              metrics: [
                {
                  name: 'a',
                  sum: {
                    data_points: [{ time_unix_nano: nanosAt(-1), as_double: '1.5' }],
                    aggregation_temporality: 'AGGREGATION_TEMPORALITY_CUMULATIVE',
                    is_monotonic: true,
                  },
                },
                {
                  name: 'b',
                  histogram: {
                    dataPoints: [
                      { timeUnixNano: nanosAt(-1), count: 3, bucketCounts: [1, '2'], explicitBounds: ['5'] },
                    ],
                    aggregationTemporality: 'DELTA',
                  },
                },
              ],
            },
          ],
        },
      ],
    };
    expect(rowsOfMetrics(encodeMetricsOfJson(body))).toMatchObject([
      { Value: 1.5, AggregationTemporality: 2n, IsMonotonic: true },
      { Count: 3n, BucketCounts: [1n, 2n], ExplicitBounds: [5], AggregationTemporality: 1n },
    ]);
  });
});
