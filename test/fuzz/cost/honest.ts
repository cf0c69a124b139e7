import { nanosAt } from '../../support/otlp/trace-source.ts';
import { arrivedAt, pushCredential, tokenKey } from './credentials.ts';
import type { StageName } from './measure.ts';
import type { Part } from './parts.ts';
import type { Recipe, TargetName } from './recipe.ts';

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
const jsonSpan: Part = {
  all: [
    '{"traceId":"',
    { noise: hexDigits, bytes: 32 },
    '","spanId":"',
    { noise: hexDigits, bytes: 16 },
    `","name":"GET /items","kind":2,"startTimeUnixNano":"${nanosAt(-1000)}","endTimeUnixNano":"${nanosAt(-900)}","attributes":[`,
    { all: attributeNames.map((key) => jsonAttribute(key, { noise: letters, bytes: 12 })), between: ',' },
    '],"status":{"code":1}}',
  ],
};
const otlpJson: Part = {
  all: [
    '{"resourceSpans":[',
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
          ']},"scopeSpans":[{"scope":{"name":"tracer","version":"1"},"spans":[',
          { repeat: jsonSpan, between: ',' },
          ']}]}',
        ],
      },
      each: spansEach,
      between: ',',
    },
    ']}',
  ],
};

const field = (number: number, of: Part): Part => ({ fields: [number], of });
const protobufAttribute = (key: string, value: Part): Part => ({
  all: [field(1, key), field(2, field(1, value))],
});
const time = (tag: string, decimal: string): Part => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(decimal));
  return { hex: `${tag}${bytes.toString('hex')}` };
};
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
    ...attributeNames.map((key) => field(9, protobufAttribute(key, { noise: letters, bytes: 12 }))),
    field(15, { hex: '1801' }),
  ],
});
const otlpProtobuf: Part = {
  repeat: field(1, {
    all: [
      field(1, {
        all: [
          field(1, protobufAttribute('service.name', 'cart')),
          field(1, protobufAttribute('host.name', 'host-#')),
          field(1, protobufAttribute(tokenKey, pushCredential.token)),
        ],
      }),
      field(2, { all: [field(1, { all: [field(1, 'tracer'), field(2, '1')] }), { repeat: protobufSpan }] }),
    ],
  }),
  each: spansEach,
};

const bodies: Readonly<Record<TargetName, Part>> = {
  push,
  'otlp-json': otlpJson,
  'otlp-protobuf': otlpProtobuf,
  inflate: otlpJson,
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
