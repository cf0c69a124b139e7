import { encodePush } from '../../src/ingress/push/encode.ts';
import { jsonMetrics } from '../../src/rules/data-points/json-metrics.ts';
import { protobufMetrics } from '../../src/rules/data-points/protobuf-metrics.ts';
import { jsonLogs } from '../../src/rules/logs/json-logs.ts';
import { protobufLogs } from '../../src/rules/logs/protobuf-logs.ts';
import { jsonTraces } from '../../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../../src/rules/spans/protobuf-traces.ts';
import { decodeEnvelope } from '../../src/wire/metrics-envelope.ts';
import { readBlock } from '../../src/wire/native/block-reader.ts';
import { type ItemsReader, MalformedBody, TooManyElements, TooManyItems } from '../../src/wire/otlp/types.ts';
import { goodRecord, logsOf } from '../support/otlp/log-source.ts';
import { encodeLogsProtobuf, type OtlpLogsRequest } from '../support/otlp/logs.ts';
import { goodMetric, goodPoint, metricsOf } from '../support/otlp/metric-source.ts';
import { encodeMetricsProtobuf, type OtlpMetricsRequest } from '../support/otlp/metrics.ts';
import { encodeOtlpProtobuf, type OtlpRequest, type OtlpSpan } from '../support/otlp/protobuf.ts';
import { contextWith, goodSpan, nanosAt, requestOf } from '../support/otlp/trace-source.ts';
import { withoutRows } from '../support/otlp/without-rows.ts';
import { contextWith as pushContextWith, sourceWith } from '../support/push/source.ts';

/** An input that grows with a number in one direction, and the decoder that reads it. */
export type Dimension = {
  readonly name: string;
  /** The number at the smaller size. */
  readonly from: number;
  readonly input: (size: number) => Buffer;
  readonly decode: (bytes: Buffer) => void;
};

/** At eight times the size, CPU per byte may be this many times as much: caches and noise, and no more. */
export const growthMax = 3;

const range = <T>(size: number, make: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => make(index));

const push = (bytes: Buffer): void => {
  const pair = { dataId: 1, token: 't' };
  for (const layout of ['wide', 'narrow'] as const) {
    const table = sourceWith(layout);
    encodePush(bytes, { ...pushContextWith(table), pair, table, pointsMax: 1e6, elementsMax: 4e6 });
  }
};

const forgiving = (decode: () => void): void => {
  try {
    decode();
  } catch (error) {
    if (
      !(error instanceof MalformedBody || error instanceof TooManyItems || error instanceof TooManyElements)
    )
      throw error;
  }
};

const json = (bytes: Buffer): void => {
  forgiving(() => jsonTraces.collectTokens(bytes));
  forgiving(() => jsonTraces.encode(bytes, contextWith()));
};

const protobuf = (bytes: Buffer): void => {
  forgiving(() => protobufTraces.collectTokens(bytes));
  forgiving(() => protobufTraces.encode(bytes, contextWith()));
};

const pushBody = (data: string): Buffer => Buffer.from(`{"data_id":1,"access_token":"t","data":[${data}]}`);
const pointWith = (metrics: string, more = ''): string => `{"metrics":{${metrics}}${more}}`;

const pushTexts: readonly (readonly [string, number, (n: number) => string])[] = [
  ['points', 500, (n) => range(n, () => '{"metrics":{"a":1},"timestamp":1}').join(',')],
  ['metrics of a point', 500, (n) => pointWith(range(n, (at) => `"m${at}":${at}`).join(','))],
  ['dimensions', 500, (n) => pointWith('"a":1', `,"dimension":{${range(n, (at) => `"d${at}":"x"`)}}`)],
  ['keys that are numbers', 1000, (n) => pointWith(range(n, (at) => `"${at * 65_536}":1`).join(','))],
  ['one key again and again', 1000, (n) => pointWith(range(n, () => '"a":1').join(','))],
  ['nesting', 2000, (n) => `${'['.repeat(n)}${']'.repeat(n)}`],
  ['digits', 5000, (n) => pointWith(`"a":0.${'1'.repeat(n)}`)],
  ['a string', 20_000, (n) => pointWith('"a":1', `,"target":"${'x '.repeat(n)}"`)],
  ['escapes', 5000, (n) => pointWith('"a":1', `,"target":"${'\\u00e9\\n'.repeat(n)}"`)],
  ['bare NaN', 2000, (n) => range(n, () => '{"metrics":{"a":NaN}}').join(',')],
];

const pushDimensions = pushTexts.map(
  ([name, from, data]): Dimension => ({
    ...{ name: `push: ${name}`, from, decode: push },
    input: (size) => pushBody(data(size)),
  }),
);

const spansOf = (...spans: OtlpSpan[]): OtlpRequest => requestOf(...spans);
const asJson = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const attribute = (at: number) => ({ key: `k${at}`, value: { stringValue: 'v' } });
const valueBody = (value: string): Buffer =>
  Buffer.from(
    JSON.stringify(requestOf({ ...goodSpan, attributes: [{ key: 'k', value: 0 }] })).replace(
      '"value":0',
      `"value":${value}`,
    ),
  );

/** Requests that both encodings can express. */
const requests: readonly (readonly [string, number, (n: number) => OtlpRequest])[] = [
  ['spans', 500, (n) => spansOf(...range(n, () => goodSpan))],
  [
    'spans on as many days',
    500,
    (n) =>
      spansOf(
        ...range(n, (at) => {
          const startTimeUnixNano = nanosAt(-86_400_000 * (at % 20_000) - 1000);
          return { ...goodSpan, startTimeUnixNano, endTimeUnixNano: startTimeUnixNano };
        }),
      ),
  ],
  ['names of spans', 500, (n) => spansOf(...range(n, (at) => ({ ...goodSpan, name: `n${at}` })))],
  ['attributes', 500, (n) => spansOf({ ...goodSpan, attributes: range(n, attribute) })],
  [
    'events',
    500,
    (n) => spansOf({ ...goodSpan, events: range(n, () => ({ timeUnixNano: nanosAt(0), name: 'e' })) }),
  ],
  [
    'array elements',
    2000,
    (n) =>
      spansOf({
        ...goodSpan,
        attributes: [{ key: 'k', value: { arrayValue: { values: range(n, () => ({ intValue: '1' })) } } }],
      }),
  ],
  [
    'entries of one name',
    2000,
    (n) =>
      spansOf({
        ...goodSpan,
        attributes: [{ key: 'k', value: { kvlistValue: { values: range(n, () => attribute(0)) } } }],
      }),
  ],
  [
    'resources',
    300,
    (n) => ({ resourceSpans: range(n, () => requestOf(goodSpan)).flatMap((each) => each.resourceSpans) }),
  ],
];

const otlpDimensions: Dimension[] = requests.flatMap(([name, from, request]): Dimension[] => [
  { name: `otlp json: ${name}`, from, input: (size) => asJson(request(size)), decode: json },
  {
    name: `otlp protobuf: ${name}`,
    from,
    input: (size) => encodeOtlpProtobuf(request(size)),
    decode: protobuf,
  },
]);

/** Reads a body by this reader. */
const reading =
  (reader: ItemsReader) =>
  (bytes: Buffer): void => {
    forgiving(() => reader.collectTokens(bytes));
    forgiving(() => reader.encode(bytes, contextWith()));
  };

/** The same of log records, whose scopes have attributes and schema URLs, which senders write behind the records. */
const logRequests: readonly (readonly [string, number, (n: number) => OtlpLogsRequest])[] = [
  ['records', 500, (n) => logsOf(...range(n, () => goodRecord))],
  [
    'attributes of a scope',
    500,
    (n) => ({
      resourceLogs: [
        { scopeLogs: [{ scope: { attributes: range(n, attribute) }, logRecords: [goodRecord] }] },
      ],
    }),
  ],
  [
    'scopes before their schema URLs',
    300,
    (n) => ({
      resourceLogs: [
        { scopeLogs: range(n, (at) => ({ logRecords: [goodRecord], schemaUrl: `u${at}` })), schemaUrl: 'u' },
      ],
    }),
  ],
  [
    'elements of a body',
    2000,
    (n) => logsOf({ ...goodRecord, body: { arrayValue: { values: range(n, () => ({ intValue: '1' })) } } }),
  ],
  ['bytes of a body', 20_000, (n) => logsOf({ ...goodRecord, body: { stringValue: 'x\n'.repeat(n) } })],
];

const logDimensions: Dimension[] = logRequests.flatMap(([name, from, request]): Dimension[] => [
  { name: `logs json: ${name}`, from, input: (size) => asJson(request(size)), decode: reading(jsonLogs) },
  {
    name: `logs protobuf: ${name}`,
    from,
    input: (size) => encodeLogsProtobuf(request(size)),
    decode: reading(protobufLogs),
  },
]);

/** The same of data points, whose metrics senders write before or behind them. */
const metricRequests: readonly (readonly [string, number, (n: number) => OtlpMetricsRequest])[] = [
  ['metrics', 300, (n) => metricsOf(...range(n, (at) => ({ ...goodMetric, name: `n${at}` })))],
  ['metrics without points', 2000, (n) => metricsOf(...range(n, () => ({})))],
  [
    'points before their name',
    500,
    (n) => metricsOf({ gauge: { dataPoints: range(n, () => goodPoint) }, name: 'n' }),
  ],
  ['empty points', 2000, (n) => metricsOf({ name: 'n', sum: { dataPoints: range(n, () => ({})) } })],
  [
    'buckets',
    2000,
    (n) =>
      metricsOf({
        name: 'n',
        exponentialHistogram: {
          dataPoints: [{ ...goodPoint, positive: { bucketCounts: range(n, () => '1') } }],
        },
      }),
  ],
  [
    'exemplars',
    500,
    (n) =>
      metricsOf({
        name: 'n',
        gauge: { dataPoints: [{ ...goodPoint, exemplars: range(n, () => ({ asInt: '1' })) }] },
      }),
  ],
];

const metricDimensions: Dimension[] = metricRequests.flatMap(([name, from, request]): Dimension[] => [
  {
    name: `metrics json: ${name}`,
    from,
    input: (size) => asJson(request(size)),
    decode: reading(jsonMetrics),
  },
  {
    name: `metrics protobuf: ${name}`,
    from,
    input: (size) => encodeMetricsProtobuf(request(size)),
    decode: reading(protobufMetrics),
  },
]);

const repeats = (depth: number): string => `${'{"a":'.repeat(depth)}1${',"a":1}'.repeat(depth)}`;

const jsonTexts: readonly (readonly [string, number, (n: number) => Buffer])[] = [
  ['nesting', 1000, (n) => valueBody(`${'['.repeat(n)}${']'.repeat(n)}`)],
  ['digits', 5000, (n) => valueBody(`{"intValue":${'1'.repeat(n)}}`)],
  ['a string', 20_000, (n) => valueBody(`{"stringValue":"${'xy'.repeat(n)}"}`)],
  ['escapes', 5000, (n) => valueBody(`{"stringValue":"${'\\u00e9\\n'.repeat(n)}"}`)],
  ['unknown fields', 2000, (n) => valueBody(`{${range(n, (at) => `"u${at}":1`).join(',')}}`)],
  ['repeated names', 2000, (n) => valueBody(`{${range(n, () => '"stringValue":"a"').join(',')}}`)],
  ['repeated names in one another', 1000, (n) => Buffer.from(`{"x":${repeats(n)},"mon.data.token":`)],
];

const group = (n: number): Buffer =>
  Buffer.concat(range(n, () => Buffer.from([0x83, 0x06, 0x08, 0x01, 0x84, 0x06])));

const block = (n: number): Buffer => {
  const { runs } = jsonTraces.encode(
    asJson(spansOf(...range(n, (at) => ({ ...goodSpan, name: `n${at}` })))),
    contextWith(),
  );
  return Buffer.from(runs[0]?.parts[0]?.block ?? []);
};

const header = (n: number): Buffer => {
  const outcomes = range(n, (at) => ({ dataId: at, dropped: { metrics_empty: 1 } }));
  const text = asJson({ version: 1, kind: 'metrics', arrivedAt: 1, parts: [], deferred: [], outcomes });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text]);
};

export const dimensions: readonly Dimension[] = [
  ...pushDimensions,
  ...otlpDimensions,
  ...logDimensions,
  ...metricDimensions,
  ...jsonTexts.map(
    ([name, from, input]): Dimension => ({ name: `otlp json: ${name}`, from, input, decode: json }),
  ),
  { name: 'otlp protobuf: groups', from: 1000, input: group, decode: protobuf },
  {
    name: 'native: rows',
    from: 300,
    input: block,
    decode: (bytes) => {
      readBlock(bytes).texts('SpanName');
      withoutRows(bytes, new Set([0]));
    },
  },
  {
    name: 'envelope: outcomes',
    from: 500,
    input: header,
    decode: (bytes) => void decodeEnvelope(bytes, undefined),
  },
];

export type Growth = {
  readonly name: string;
  /** Nanoseconds of CPU at the size and at eight times the size. */
  readonly perByte: readonly [number, number];
  readonly growth: number;
};

const tries = 4;
/** One try goes on for so long, so that the clock's grain is no part of it. */
const tryMs = 12;

/** The best of some tries: what disturbs makes a try slower, and never faster. */
const nanosPerByte = ({ decode }: Dimension, bytes: Buffer): number => {
  let best = Number.POSITIVE_INFINITY;
  for (let count = 0; count < tries; count++) {
    let runs = 0;
    let micros = 0;
    const from = process.threadCpuUsage();
    do {
      decode(bytes);
      runs++;
      const { user, system } = process.threadCpuUsage(from);
      micros = user + system;
    } while (micros < tryMs * 1000);
    best = Math.min(best, (micros * 1000) / runs / bytes.length);
  }
  return best;
};

/** How the cost of a byte grows when the input becomes eight times as large. */
export const measure = (dimension: Dimension): Growth => {
  const large = nanosPerByte(dimension, dimension.input(8 * dimension.from));
  const small = nanosPerByte(dimension, dimension.input(dimension.from));
  return { name: dimension.name, perByte: [small, large], growth: large / small };
};

export const measureAll = (): Growth[] => dimensions.map(measure);
