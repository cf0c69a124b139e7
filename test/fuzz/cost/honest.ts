import { nanosAt } from '../../support/otlp/trace-source.ts';
import { arrivedAt, pushCredential, tokenKey } from './credentials.ts';
import type { StageName } from './measure.ts';
import type { Part } from './parts.ts';
import { field, fixed64Hex, hex } from './protobuf-parts.ts';
import type { Recipe, TargetName } from './recipe.ts';
import { type Lists, listsOf } from './rules-otlp-json.ts';

// Bodies as reporters and exporters write them: what all others are compared with.

const hexDigits = '0-9a-f';
const letters = 'a-z';

const point: Part = {
  all: [
    '{"metrics":{"cpu":',
    { noise: '1-9', bytes: 2 },
    '.5,"mem":',
    { noise: '1-9', bytes: 9 },
    '},"target":"10.0.0.#","dimension":{"module":"db","host":"',
    { noise: letters, bytes: 8 },
    `"},"timestamp":${arrivedAt}}`,
  ],
};

const push: Part = {
  all: [
    `{"data_id":${pushCredential.dataId},"access_token":"${pushCredential.token}","data":[`,
    { repeat: point, between: ',' },
    ']}',
  ],
};
/** Of which all is read before it is known whose it is. */
const pushFromItsEnd: Part = {
  all: [
    '{"data":[',
    { repeat: point, between: ',' },
    `],"data_id":${pushCredential.dataId},"access_token":"${pushCredential.token}"}`,
  ],
};

const attributeNames = [
  'http.request.method',
  'url.path',
  'server.address',
  'http.response.status_code',
  'thread.name',
  'db.statement',
];
const spansEach = 40_000;

const jsonAttribute = (key: string, value: Part): Part => ({
  all: [`{"key":"${key}","value":{"stringValue":"`, value, '"}}'],
});
const jsonAttributes: Part = {
  all: attributeNames.map((key) => jsonAttribute(key, { noise: letters, bytes: 12 })),
  between: ',',
};
const jsonSpan: Part = {
  all: [
    '{"traceId":"',
    { noise: hexDigits, bytes: 32 },
    '","spanId":"',
    { noise: hexDigits, bytes: 16 },
    `","name":"GET /items","kind":2,"startTimeUnixNano":"${nanosAt(-1000)}","endTimeUnixNano":"${nanosAt(-900)}","attributes":[`,
    jsonAttributes,
    '],"status":{"code":1}}',
  ],
};
const jsonRecord: Part = {
  all: [
    `{"timeUnixNano":"${nanosAt(-1000)}","observedTimeUnixNano":"${nanosAt(-900)}","severityNumber":9,"severityText":"INFO","body":{"stringValue":"`,
    { noise: letters, bytes: 80 },
    '"},"attributes":[',
    jsonAttributes,
    ']}',
  ],
};
const jsonMetric: Part = {
  all: [
    '{"name":"http.server.requests","unit":"1","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[',
    {
      repeat: {
        all: [
          `{"startTimeUnixNano":"${nanosAt(-9000)}","timeUnixNano":"${nanosAt(-1000)}","asInt":"`,
          { noise: '1-9', bytes: 6 },
          '","attributes":[',
          jsonAttributes,
          ']}',
        ],
      },
      times: 10,
      between: ',',
    },
    ']}}',
  ],
};

const otlpJson = (lists: Lists, item: Part): Part => ({
  all: [
    `{"${lists.resources}":[`,
    {
      repeat: {
        all: [
          '{"resource":{"attributes":[',
          {
            all: [
              jsonAttribute('service.name', 'cart'),
              jsonAttribute('host.name', 'host-#'),
              jsonAttribute(tokenKey, pushCredential.token),
            ],
            between: ',',
          },
          `]},"${lists.scopes}":[{"scope":{"name":"tracer","version":"1"},"${lists.items}":[`,
          { repeat: item, between: ',' },
          ']}]}',
        ],
      },
      each: spansEach,
      between: ',',
    },
    ']}',
  ],
});

const protobufAttribute = (key: string, value: Part): Part => ({
  all: [field(1, key), field(2, field(1, value))],
});
const time = (tag: string, decimal: string): Part => hex(`${tag}${fixed64Hex(decimal)}`);
const protobufAttributes = (number: number): Part[] =>
  attributeNames.map((key) => field(number, protobufAttribute(key, { noise: letters, bytes: 12 })));
const protobufSpan: Part = field(2, {
  all: [
    { hex: '0a10' },
    { noise: letters, bytes: 16 },
    { hex: '1208' },
    { noise: letters, bytes: 8 },
    field(5, 'GET /items'),
    { hex: '3002' },
    time('39', nanosAt(-1000)),
    time('41', nanosAt(-900)),
    ...protobufAttributes(9),
    field(15, { hex: '1801' }),
  ],
});
const protobufRecord: Part = field(2, {
  all: [
    time('09', nanosAt(-1000)),
    time('59', nanosAt(-900)),
    { hex: '1009' },
    field(3, 'INFO'),
    field(5, field(1, { noise: letters, bytes: 80 })),
    ...protobufAttributes(6),
  ],
});
const protobufMetric: Part = field(2, {
  all: [
    field(1, 'http.server.requests'),
    field(3, '1'),
    field(7, {
      all: [
        {
          repeat: field(1, {
            all: [
              time('11', nanosAt(-9000)),
              time('19', nanosAt(-1000)),
              { hex: '31' },
              { noise: letters, bytes: 8 },
              ...protobufAttributes(7),
            ],
          }),
          times: 10,
        },
        { hex: '10021801' },
      ],
    }),
  ],
});

const otlpProtobuf = (item: Part): Part => ({
  repeat: field(1, {
    all: [
      field(1, {
        all: [
          field(1, protobufAttribute('service.name', 'cart')),
          field(1, protobufAttribute('host.name', 'host-#')),
          field(1, protobufAttribute(tokenKey, pushCredential.token)),
        ],
      }),
      field(2, { all: [field(1, { all: [field(1, 'tracer'), field(2, '1')] }), { repeat: item }] }),
    ],
  }),
  each: spansEach,
});

const bodies: Readonly<Record<TargetName, Part>> = {
  push,
  'otlp-json': otlpJson(listsOf.traces, jsonSpan),
  'otlp-protobuf': otlpProtobuf(protobufSpan),
  'logs-json': otlpJson(listsOf.logs, jsonRecord),
  'logs-protobuf': otlpProtobuf(protobufRecord),
  'otel-metrics-json': otlpJson(listsOf.otel_metrics, jsonMetric),
  'otel-metrics-protobuf': otlpProtobuf(protobufMetric),
  inflate: otlpJson(listsOf.traces, jsonSpan),
};

/** What an honest sender of a target sends. What is unpacked alone is packed with gzip, as exporters do; else nothing is. */
export const honestRecipe = (
  target: TargetName,
  stage: StageName,
  layout: 'wide' | 'narrow' = 'wide',
): Recipe => ({
  target,
  ...(target === 'push' ? { layout } : {}),
  packing: target === 'inflate' ? { as: 'gzip' } : { as: 'identity' },
  body: target === 'push' && stage === 'whose' ? pushFromItsEnd : bodies[target],
});
