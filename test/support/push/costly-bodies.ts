import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** A body that costs its receiver more than others of its size, or did once; as it goes over the wire. */
export type CostlyBody = {
  readonly what: string;
  readonly receiver: 'push' | 'otlp';
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** Of what is inflated at most. */
  readonly inflatedBytes: number;
};

const mebi = 2 ** 20;
const gzip = { 'content-encoding': 'gzip' };
const json = { 'content-type': 'application/json' };
const protobuf = { 'content-type': 'application/x-protobuf' };

/** The part repeated, up to this many bytes. */
const filled = (part: string | Buffer, size: number): Buffer => {
  const one = Buffer.from(part);
  return Buffer.alloc(Math.floor(size / one.length) * one.length, one);
};

/** A text that does not compress: with it a body inflates no further than honest ones. */
const ballast = (bytes: number): Buffer => Buffer.from(`"${randomBytes(bytes).toString('base64')}"`);

const joined = (...parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part)));

/** ResourceSpans whose resource has an empty `mon.data.token`. */
const tokenResource = joined(Buffer.from([0x0a, 0x14, 0x0a, 0x12, 0x0a, 0x10, 0x0a, 0x0e]), 'mon.data.token');

/** Field 15 with bytes that do not compress. */
const ballastField = joined(Buffer.from([0x7a, 0x80, 0xe8, 0x07]), randomBytes(128 * 1024 - 3072));

export type PushCredential = { readonly dataId: number; readonly token: string };

const pairOf = ({ dataId, token }: PushCredential): string => `"data_id":${dataId},"access_token":"${token}"`;

/** Parts of a body that are many for their length. */
const dense: readonly (readonly [what: string, part: string])[] = [
  ['numbers', '0,'],
  ['empty objects', '{},'],
  ['empty texts', '"",'],
  ['escaped quotes', '"\\"\\"\\"",'],
  ['names', '{"a":1},'],
  ['blanks', '    '],
];

const pushOf = (what: string, content: Buffer, inflatedBytes: number, level = 1): CostlyBody => ({
  ...{ what, receiver: 'push', headers: gzip, inflatedBytes },
  bytes: gzipSync(content, { level }),
});

/** Pushes without a valid credential: with a wrong one where it comes first, where it comes last, and without one. */
export const pushesOfNobody = (): CostlyBody[] => {
  const wrong = pairOf({ dataId: 1, token: 'x' });
  return dense.flatMap(([what, part]) => {
    const points = joined(ballast(60_000), ',', filled(part, 31 * mebi), '0');
    return [
      pushOf(`${what}, a wrong credential before them`, joined(`{${wrong},"data":[`, points, ']}'), mebi),
      pushOf(
        `${what}, a wrong credential behind them`,
        joined('{"data":[', points, `],${wrong}}`),
        32 * mebi,
      ),
      pushOf(`${what}, no credential`, joined('{"data":[', points, ']}'), 32 * mebi),
    ];
  });
};

/** Tens of KB that come to tens of MiB. */
export const bombsOfNobody = (): CostlyBody[] => [
  pushOf('numbers and a NaN', joined('{"data":[', filled('0,', 31 * mebi), 'NaN]}'), 9 * mebi, 9),
  pushOf('empty objects', joined('{"data":[', filled('{},', 31 * mebi), '0]}'), 9 * mebi, 9),
  pushOf('blanks', joined('{"data":[', filled(' ', 31 * mebi), '0]}'), 9 * mebi, 9),
  {
    ...{ what: 'repeated names', receiver: 'otlp', headers: { ...json, ...gzip }, inflatedBytes: 9 * mebi },
    bytes: gzipSync(joined('{"x":"mon.data.token",', filled('"k":1,', 60 * mebi), '}')),
  },
  {
    ...{
      what: 'empty resources',
      receiver: 'otlp',
      headers: { ...protobuf, ...gzip },
      inflatedBytes: 9 * mebi,
    },
    bytes: gzipSync(joined(tokenResource, filled(Buffer.from([0x0a, 0]), 60 * mebi))),
  },
];

/** Exports without a valid credential. */
export const exportsOfNobody = (): CostlyBody[] => {
  const head = joined('{"y":', ballast(160_000), ',"x":"mon.data.token",');
  const resources = '"resourceSpans":[';
  const bodies: readonly (readonly [string, Record<string, string>, Buffer])[] = [
    ['repeated names', json, joined(head, filled('"k":1,', 60 * mebi), '"z":1}')],
    ['repeated names and no JSON', json, joined(head, filled('"k":1,', 60 * mebi), '}')],
    ['empty resources', json, joined(head, resources, filled('{},', 60 * mebi), '{}]}')],
    [
      'empty attributes',
      json,
      joined(head, `${resources}{"resource":{"attributes":[`, filled('{},', 60 * mebi), '{}]}}]}'),
    ],
    [
      'what is no span',
      json,
      joined(head, `${resources}{"scopeSpans":[`, filled('[],"",1,', 60 * mebi), '{}]}]}'),
    ],
    [
      'empty resources',
      protobuf,
      joined(tokenResource, ballastField, filled(Buffer.from([0x0a, 0]), 60 * mebi)),
    ],
    [
      'unknown fields',
      protobuf,
      joined(tokenResource, ballastField, filled(Buffer.from([0x98, 0x06, 0]), 60 * mebi)),
    ],
  ];
  return bodies.map(([what, type, content]) => ({
    ...{ what: `${what}, ${type['content-type']}`, receiver: 'otlp', headers: { ...type, ...gzip } },
    ...{ bytes: gzipSync(content, { level: 1 }), inflatedBytes: content.length },
  }));
};

/** The requested number of elements, or as many as fit. */
const listed = (elementOf: (index: number) => string, bytesMax: number, count: number): Buffer => {
  const parts: string[] = [];
  let length = 0;
  for (let index = 0; index < count; index += 1) {
    const part = elementOf(index);
    length += part.length + 1;
    if (length > bytesMax) break;
    parts.push(part);
  }
  return Buffer.from(parts.join(','));
};

const indexes = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const metricsOf = (count: number, value: string): string =>
  `"metrics":{${indexes(count)
    .map((index) => `"metric_${index}":${value}`)
    .join(',')}}`;

/** The most that a push may hold: points, metrics, names, texts, and what is dropped of them. `now` in ms. */
export const pushesOfOwner = (
  wide: PushCredential,
  split: PushCredential,
  now: number,
): readonly CostlyBody[] => {
  const size = 31 * mebi;
  const points = 50_000;
  const heartbeat = (index: number): string =>
    `{"metrics":{"a":${index},"b":2.5},"target":"10.0.0.${index % 250}","dimension":{"module":"db"},"timestamp":${now - index}}`;
  const broad = (index: number, value: string): string =>
    `{${metricsOf(38, value)},"target":"h${index}","timestamp":${now - index}}`;
  const contents: readonly (readonly [string, PushCredential, () => Buffer])[] = [
    ['50,000 points', wide, () => listed(heartbeat, size, points)],
    ['points of 38 metrics', wide, () => listed((index) => broad(index, `${index}.5`), size, points)],
    ['points whose metrics are all NaN', wide, () => listed((index) => broad(index, 'NaN'), size, points)],
    [
      'points with a malformed time',
      wide,
      () => listed((index) => `{${metricsOf(38, '1')},"target":"h${index}","timestamp":"N"}`, size, points),
    ],
    ['one point of a million metrics', wide, () => Buffer.from(`{${metricsOf(1_000_000, '1')}}`)],
    [
      'one point with a target of 30 MiB',
      wide,
      () => Buffer.from(`{"metrics":{"a":1},"target":"${' '.repeat(30 * mebi)}","timestamp":${now}}`),
    ],
    [
      'one value of 30 MiB, letters and an ellipsis',
      wide,
      () => Buffer.from(`{"metrics":{"a":"${'a'.repeat(30 * mebi)} \u2026"},"timestamp":${now}}`),
    ],
    [
      'thirty points of 500 metrics and a dimension of 8 KB, in a split table',
      split,
      () =>
        listed(
          () => `{${metricsOf(500, '1')},"dimension":{"d":"${'x'.repeat(8_000)}"},"timestamp":${now}}`,
          size,
          30,
        ),
    ],
    [
      'a point of 500 metrics and a dimension of 110 KB, in a split table',
      split,
      () =>
        Buffer.from(`{${metricsOf(500, '1')},"dimension":{"d":"${'x'.repeat(110_000)}"},"timestamp":${now}}`),
    ],
  ];
  return contents.map(([what, credential, make]) => {
    const content = joined(`{${pairOf(credential)},"data":[`, make(), ']}');
    return pushOf(what, content, content.length);
  });
};

const spanText = (index: number, now: number, attributes: number, start = `${now}000000`): string => {
  const id = (index + 1).toString(16).padStart(8, '0');
  const list = indexes(attributes).map(
    (each) => `{"key":"attr.${each}","value":{"stringValue":"value ${index * each}"}}`,
  );
  return `{"traceId":"5b8efff798038103d269b633${id}","spanId":"eee19b7e${id}","name":"op ${index % 20}","kind":2,"startTimeUnixNano":"${start}","endTimeUnixNano":"${now + 5}000000","attributes":[${list.join(',')}]}`;
};

const exportOf = (spans: Buffer, resource = ''): Buffer =>
  joined(
    `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}${resource}]},`,
    '"scopeSpans":[{"spans":[',
    spans,
    ']}]}]}',
  );

/** The most that an export may hold. `now` in ms. */
export const exportsOfOwner = (token: string, now: number): readonly CostlyBody[] => {
  const size = 60 * mebi;
  const oneSpan = (attributes: string): Buffer =>
    exportOf(
      Buffer.from(
        `{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"a","attributes":[${attributes}]}`,
      ),
    );
  const contents: readonly (readonly [string, () => Buffer])[] = [
    ['50,000 spans', () => exportOf(listed((index) => spanText(index, now, 15), size, 50_000))],
    [
      'spans with a malformed time',
      () => exportOf(listed((index) => spanText(index, now, 15, 'N'), size, 50_000)),
    ],
    [
      'a span of a million attributes',
      () =>
        oneSpan(
          indexes(1_000_000)
            .map((index) => `{"key":"a${index}","value":{"intValue":${index}}}`)
            .join(','),
        ),
    ],
    [
      'a value of a million values',
      () =>
        oneSpan(
          `{"key":"k","value":{"kvlistValue":{"values":[${indexes(1_000_000)
            .map((index) => `{"key":"a${index}"}`)
            .join(',')}]}}}`,
        ),
    ],
    [
      'a resource of 400 KB and 2,000 spans',
      () =>
        exportOf(
          listed((index) => spanText(index, now, 1), size, 2_000),
          `,{"key":"r","value":{"stringValue":"${'r'.repeat(400_000)}"}}`,
        ),
    ],
    [
      'a resource of 60 KB and 2,000 spans without a time',
      () =>
        exportOf(
          listed((index) => spanText(index, now, 1, 'N'), size, 2_000),
          `,{"key":"r","value":{"stringValue":"${'r'.repeat(60_000)}"}}`,
        ),
    ],
    [
      'repeated names',
      () => joined('{"resourceSpans":[],"x":{', filled('"k":1,', 30 * mebi), '"k":2},"resourceSpans":[]}'),
    ],
  ];
  return contents.map(([what, make]) => {
    const content = make();
    return {
      ...{ what, receiver: 'otlp', headers: { ...json, ...gzip, 'x-mon-token': token } },
      ...{ bytes: gzipSync(content, { level: 1 }), inflatedBytes: content.length },
    };
  });
};
