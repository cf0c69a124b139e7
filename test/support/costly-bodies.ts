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

/** The part again and again, up to so many bytes. */
const filled = (part: string | Buffer, size: number): Buffer => {
  const one = Buffer.from(part);
  return Buffer.alloc(Math.floor(size / one.length) * one.length, one);
};

/** A text that does not compress: with it a body inflates no further than honest ones. */
const ballast = (bytes: number): Buffer => Buffer.from(`"${randomBytes(bytes).toString('base64')}"`);

const joined = (...parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part)));

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

const pushOf = (what: string, content: Buffer, inflatedBytes: number): CostlyBody => ({
  ...{ what, receiver: 'push', headers: gzip, inflatedBytes },
  bytes: gzipSync(content, { level: 1 }),
});

/** Pushes of nobody: with a wrong credential where it comes first, where it comes last, and without one. */
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

/** What is refused for its ratio: tens of KB that come to tens of MiB. */
export const bombsOfNobody = (): CostlyBody[] => [
  pushOf('numbers and a NaN', joined('{"data":[', filled('0,', 31 * mebi), 'NaN]}'), 9 * mebi),
  pushOf('empty objects', joined('{"data":[', filled('{},', 31 * mebi), '0]}'), 9 * mebi),
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

/** ResourceSpans whose resource has an empty `mon.data.token`. */
const tokenResource = joined(Buffer.from([0x0a, 0x14, 0x0a, 0x12, 0x0a, 0x10, 0x0a, 0x0e]), 'mon.data.token');

/** Exports of nobody. */
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

/** Field 15 with bytes that do not compress. */
const ballastField = joined(Buffer.from([0x7a, 0x80, 0xe8, 0x07]), randomBytes(128 * 1024 - 3072));
