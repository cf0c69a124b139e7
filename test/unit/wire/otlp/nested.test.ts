import { describe, expect, it } from 'vitest';
import { jsonLogs } from '../../../../src/rules/logs/json-logs.ts';
import { protobufLogs } from '../../../../src/rules/logs/protobuf-logs.ts';
import { encodeLogsProtobuf } from '../../../support/otlp/logs.ts';
import { agree, contextOfMany, type Encoding } from '../../../support/otlp/plain/agreement.ts';
import { encodeOtlpJson, encodeOtlpProtobuf } from '../../../support/otlp/protobuf.ts';
import { contextWith, goodSpan, nanosAt, requestOf } from '../../../support/otlp/trace-source.ts';

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const list = (...values: readonly object[]) => ({ arrayValue: { values } });
const entries = (...values: readonly object[]) => ({ kvlistValue: { values } });
const many = (count: number, make: (index: number) => object): object[] =>
  Array.from({ length: count }, (_, index) => make(index));
const nest = (depth: number): object => (depth === 0 ? { stringValue: 'x' } : list(nest(depth - 1)));

const texts = ['', 'a', 'ab"', '\\\n\t\b\f\r/', '\u0000\u001f\u007f', '\u2028é广东', '😀', 'x'.repeat(300)];

const values: readonly [what: string, value: object][] = [
  [
    'keys of one hash and length',
    entries(...['kkk&###REOe', 'kkkQ$##U&}K', 'kkk(%##|E`g', 'kkkA%##erl,'].map((key) => text(key, key))),
  ],
  ['texts of all kinds', list(...texts.map((each) => ({ stringValue: each })))],
  ['keys of all kinds', entries(...texts.map((each) => text(each, each)))],
  ['a key twice', entries(text('a', '1'), text('b', '2'), text('a', '3'))],
  ['an empty key twice', entries(text('', '1'), text('b', '2'), text('', '3'))],
  [
    'keys twice in a long list',
    entries(...many(200, (index) => text(`key-${(index * 7) % 90}`, `${index}`))),
  ],
  [
    'keys twice in a list within a list',
    entries(
      { key: 'outer', value: entries(text('a', '1'), text('a', '2'), text('outer', '3')) },
      text('a', '4'),
      { key: 'outer', value: list(entries(text('b', '5'), text('b', '6')), { intValue: '-7' }) },
    ),
  ],
  ['an entry without a value', entries({ key: 'a' }, text('b', '1'))],
  ['a credential', entries(text('a', '1'), text('a.data.token', 'secret'), text('a', '2'))],
  [
    'a replaced value that was nested too deep',
    entries(
      { key: 'a', value: nest(33) },
      { key: 'b', value: list(nest(33), nest(33)) },
      { key: 'a', value: nest(33) },
      text('a', '1'),
    ),
  ],
  [
    'numbers',
    list(
      ...['0', '1', '-1', '2147483647', '2147483648', '9223372036854775807', '-9223372036854775808'].map(
        (intValue) => ({ intValue }),
      ),
      ...[0, -0, 1.5, 1e21, 1e-7].map((doubleValue) => ({ doubleValue })),
      { boolValue: true },
      { boolValue: false },
      { bytesValue: Buffer.from([1, 2, 253]).toString('base64') },
    ),
  ],
];

/** A field of protobuf whose content has a length. */
const field = (number: number, ...parts: readonly (Buffer | string)[]): Buffer => {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  const { length } = content;
  const size = length < 128 ? [length] : [(length & 127) | 128, length >> 7];
  return Buffer.concat([Buffer.from([number * 8 + 2, ...size]), content]);
};
const entry = (key: string, ...value: readonly Buffer[]): Buffer =>
  field(1, field(1, key), field(2, ...value));
const item = (value: string): Buffer => field(1, field(1, value));

/** What no exporter writes, but a reader of protobuf has to merge. */
const merged: readonly [what: string, value: Buffer][] = [
  ['an array in two parts', Buffer.concat([field(5, item('a')), field(5, item('b'))])],
  [
    'a list in two parts with a key twice',
    Buffer.concat([
      field(6, entry('a', field(1, '1')), entry('b', field(1, '2'))),
      field(6, entry('a', field(1, '3'))),
    ]),
  ],
  ['an array, a text and an array', Buffer.concat([field(5, item('a')), field(1, 't'), field(5, item('b'))])],
  [
    'a value of an entry in parts, with its key between and behind them',
    field(
      6,
      field(
        1,
        field(2, field(5, item('a'))),
        field(1, 'early'),
        field(2, field(5, item('b'))),
        field(1, 'k'),
      ),
      entry('k2', field(1, 'x')),
    ),
  ],
  ['a value before its key', field(6, field(1, field(2, field(1, 'value')), field(1, 'key')))],
  ['bytes that are not UTF-8', field(6, entry('k', field(1, Buffer.from([0x61, 0xff, 0xc3, 0x28, 0x62]))))],
];

const around = (value: Buffer): Buffer =>
  field(
    1,
    field(
      2,
      field(
        2,
        field(1, Buffer.alloc(16, 1)),
        field(2, Buffer.alloc(8, 2)),
        field(9, field(1, 'k'), field(2, value)),
      ),
    ),
  );

const encodings: readonly [Encoding, typeof encodeOtlpJson][] = [
  ['json', encodeOtlpJson],
  ['protobuf', encodeOtlpProtobuf],
];

// The readers write the JSON of a row from the bytes of a body; the plain twin makes it of objects.
describe.each(encodings)('nested values in %s', (encoding, encode) => {
  it.each(values)('are read as by the plain twin: %s', (_, value) => {
    const request = requestOf<object>({ ...goodSpan, attributes: [{ key: 'k', value }, text('a', 'b')] });
    expect(agree(encoding, encode(request), contextOfMany())).toMatchObject({ kind: 'read', rows: 1 });
  });
});

describe('nested values in protobuf', () => {
  it.each(merged)('are merged as by the plain twin: %s', (_, value) => {
    expect(agree('protobuf', around(value), contextOfMany())).toMatchObject({ kind: 'read' });
  });
});

describe('the cost of a map', () => {
  const records = 100;
  const fields = (index: number) => many(20, (each) => text(`field_${each}`, `value ${each} ${index}`));
  const requestWith = (make: (index: number) => object) => ({
    resourceLogs: [
      {
        scopeLogs: [
          { logRecords: many(records, (index) => ({ timeUnixNano: nanosAt(-1), ...make(index) })) },
        ],
      },
    ],
  });
  const timeOf = (run: () => unknown): number => {
    const from = performance.now();
    run();
    return performance.now() - from;
  };
  /** By the smallest of many runs, in turn: the processor has other work, too. */
  const ratioOf = (run: () => unknown, other: () => unknown): number => {
    const smallest = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let runs = 0; runs < 60; runs++)
      for (const [index, each] of [run, other].entries())
        smallest[index] = Math.min(smallest[index] ?? 0, timeOf(each));
    return (smallest[0] ?? 0) / (smallest[1] ?? 0);
  };

  // The body of a record of the Windows event log or of journald is a map.
  it('of fields is at most a few times that of the same fields as attributes', () => {
    const asMap = requestWith((index) => ({ body: entries(...fields(index)) }));
    const asAttributes = requestWith((index) => ({ attributes: fields(index) }));
    const context = contextWith();
    const json = (request: object) => {
      const bytes = Buffer.from(JSON.stringify(request));
      return () => jsonLogs.encode(bytes, context);
    };
    const protobuf = (request: Parameters<typeof encodeLogsProtobuf>[0]) => {
      const bytes = encodeLogsProtobuf(request);
      return () => protobufLogs.encode(bytes, context);
    };
    expect(ratioOf(json(asMap), json(asAttributes)), 'JSON').toBeLessThan(4);
    expect(ratioOf(protobuf(asMap), protobuf(asAttributes)), 'protobuf').toBeLessThan(5);
  });
});
