import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { protobufTraces } from '../../../../src/rules/spans/protobuf-traces.ts';
import { MalformedBody, TooManyElements } from '../../../../src/wire/otlp/types.ts';
import { encodeOtlpProtobuf, type OtlpSpan } from '../../../support/otlp/protobuf.ts';
import { anyRequest } from '../../../support/otlp/requests.ts';
import { rowsOfTraces } from '../../../support/otlp/span-blocks.ts';
import {
  contextWith,
  encodeProtobuf,
  goodSpan,
  onlyRow,
  requestOf,
} from '../../../support/otlp/trace-source.ts';
import { always } from '../../../support/properties.ts';

const encode = (bytes: Uint8Array) => protobufTraces.encode(bytes, contextWith());

const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 0x80))];

const field = (number: number, bytes: Uint8Array): Buffer =>
  Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length), ...bytes]);

/** The span of a request, as its own bytes, and the request around such bytes. */
const spanBytes = (span: OtlpSpan): Buffer => {
  const request = encodeOtlpProtobuf({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
  // Three messages in one another, each with a tag and a length of one or two bytes.
  let rest = request;
  for (let depth = 0; depth < 3; depth++) rest = rest.subarray((rest[1] ?? 0) < 0x80 ? 2 : 3);
  return rest;
};
/** An AnyValue's array of one integer. */
const arrayOf = (value: number): Buffer => field(5, field(1, Buffer.from([0x18, value])));
const around = (...spans: Uint8Array[]): Buffer =>
  field(1, field(2, Buffer.concat(spans.map((span) => field(2, span)))));

const full: OtlpSpan = {
  ...goodSpan,
  traceState: 'a=b',
  parentSpanId: '00f067aa0ba902b7',
  flags: 257,
  attributes: [
    { key: 'a', value: { stringValue: 'x' } },
    { key: 'b', value: { intValue: '-1' } },
    {
      key: 'c',
      value: {
        kvlistValue: { values: [{ key: 'd', value: { arrayValue: { values: [{ doubleValue: 1.5 }] } } }] },
      },
    },
  ],
  droppedAttributesCount: 3,
  events: [
    {
      timeUnixNano: goodSpan.startTimeUnixNano,
      name: 'e',
      attributes: [{ key: 'f', value: { boolValue: true } }],
    },
  ],
  links: [{ traceId: goodSpan.traceId, spanId: goodSpan.spanId, traceState: 'c=d', flags: 1 }],
  status: { code: 2, message: 'broken' },
};

describe('a protobuf body', () => {
  it('of no bytes holds no span', () => {
    expect(encode(Buffer.alloc(0))).toMatchObject({ items: 0, runs: [], unknownTopLevelKeys: [] });
  });

  it('of unknown fields alone names them', () => {
    const body = Buffer.concat([
      field(2, Buffer.from('x')),
      field(900, Buffer.alloc(0)),
      field(2, Buffer.alloc(3)),
    ]);
    expect(encode(body)).toMatchObject({ items: 0, runs: [], unknownTopLevelKeys: ['2', '900'] });
  });

  it('is the same with unknown fields in it', () => {
    const unknown = Buffer.concat([
      Buffer.from([...varint(500 * 8), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
      Buffer.from([...varint(501 * 8 + 1), 1, 2, 3, 4, 5, 6, 7, 8]),
      field(502, Buffer.from('unknown')),
      Buffer.from([...varint(503 * 8 + 5), 1, 2, 3, 4]),
      // A known number with another wire type: traceId as a varint, name as 32 bits.
      Buffer.from([1 * 8, 5, 5 * 8 + 5, 1, 2, 3, 4]),
      // A group with a field and a group in it: OTLP has none, but a field that is not known may be one.
      Buffer.from([0x0b, 0x10, 0x05, 0x1b, 0x1c, 0x0c]),
    ]);
    const span = spanBytes(full);
    expect(onlyRow(encode(around(Buffer.concat([unknown, span, unknown]))))).toEqual(
      onlyRow(encode(around(span))),
    );
  });

  it('is the same with its fields in any order', () => {
    const request = {
      resourceSpans: [
        { resource: { attributes: [{ key: 'service.name', value: { stringValue: 'late' } }] } },
      ],
    };
    const resource = encodeOtlpProtobuf(request).subarray(2);
    const scope = field(1, field(1, Buffer.from('scope')));
    const span = field(2, spanBytes(full));
    const inOrder = field(1, Buffer.concat([resource, field(2, Buffer.concat([scope, span]))]));
    const reversed = field(1, Buffer.concat([field(2, Buffer.concat([span, scope])), resource]));
    expect(onlyRow(encode(reversed))).toEqual(onlyRow(encode(inOrder)));
    expect(onlyRow(encode(reversed))).toMatchObject({ ServiceName: 'late', ScopeName: 'scope' });
  });

  it('takes the last of a field that comes twice, and both resources', () => {
    const twice = Buffer.concat([
      spanBytes({ ...full, name: 'first' }),
      spanBytes({ name: 'second', kind: 3 }),
    ]);
    expect(onlyRow(encode(around(twice)))).toMatchObject({
      SpanName: 'second',
      SpanKind: 'Client',
      TraceId: goodSpan.traceId,
    });
    const resource = (key: string): Buffer =>
      encodeOtlpProtobuf({
        resourceSpans: [{ resource: { attributes: [{ key, value: { stringValue: key } }] } }],
      }).subarray(2);
    const scopeSpans = field(2, field(2, spanBytes(full)));
    const body = field(1, Buffer.concat([resource('a'), scopeSpans, resource('b')]));
    expect(onlyRow(encode(body))['ResourceAttributes']).toEqual([
      ['a', 'a'],
      ['b', 'b'],
    ]);
  });

  // What stands on the wire twice is the last value, or both messages merged; a fault of the first is none.
  it('takes the last of two parents, kinds and codes', () => {
    const twice = Buffer.concat([
      field(4, Buffer.alloc(7, 1)),
      Buffer.from([0x30, 0x63]),
      field(15, Buffer.from([0x18, 0x63])),
      spanBytes({ ...full, parentSpanId: '00f067aa0ba902b7', kind: 3, status: { code: 1 } }),
    ]);
    const encoded = encode(around(twice));
    expect(onlyRow(encoded)).toMatchObject({
      ...{ ParentSpanId: '00f067aa0ba902b7', SpanKind: 'Client', StatusCode: 'Ok' },
    });
    expect(encoded.leniencies).toEqual(new Map());
  });

  it('takes the lower 32 bits of an enum', () => {
    const span = Buffer.concat([spanBytes(goodSpan), Buffer.from([0x30, 0x83, 0x80, 0x80, 0x80, 0x10])]);
    expect(onlyRow(encode(around(span)))).toMatchObject({ SpanKind: 'Client' });
  });

  it('names a few of its unknown fields, however many there are', () => {
    const many = Buffer.concat(
      Array.from({ length: 5000 }, (_, index) => Buffer.from([...varint((index + 2) * 8), 0])),
    );
    expect(encode(many).unknownTopLevelKeys).toHaveLength(10);
  });

  // Two bytes each, they would cost ten times as much as the spans that a body of their size has room for.
  it.each([
    ['unknown fields', [0x10, 0]],
    ['empty ResourceSpans', [0x0a, 0]],
    ['ResourceSpans with an empty resource', [0x0a, 2, 0x0a, 0]],
    ['ResourceSpans with an empty scope', [0x0a, 2, 0x12, 0]],
  ])('is refused for %s beyond what its length allows for', (_, field) => {
    const many = (count: number) => Buffer.concat(Array.from({ length: count }, () => Buffer.from(field)));
    expect(encode(many(3000)).items).toBe(0);
    expect(() => encode(many(50_000))).toThrow(TooManyElements);
    const named = Buffer.concat([many(50_000), Buffer.from('mon.data.token')]);
    expect(() => protobufTraces.collectTokens(named)).toThrow(TooManyElements);
  });

  it.each([
    [
      'a key before its value',
      [field(1, Buffer.from('k')), field(2, field(1, Buffer.from('v')))],
      [['k', 'v']],
    ],
    [
      'a value before its key',
      [field(2, field(1, Buffer.from('v'))), field(1, Buffer.from('k'))],
      [['k', 'v']],
    ],
    ['a key alone', [field(1, Buffer.from('k'))], [['k', '']]],
    ['a value alone', [field(2, field(1, Buffer.from('v')))], [['', 'v']]],
    ['nothing', [], [['', '']]],
    ['an empty value', [field(1, Buffer.from('k')), field(2, Buffer.alloc(0))], [['k', '']]],
    [
      'two kinds',
      [
        field(1, Buffer.from('k')),
        field(2, Buffer.concat([field(1, Buffer.from('v')), Buffer.from([0x18, 5])])),
      ],
      [['k', '5']],
    ],
    [
      'two values, of which the second is empty',
      [field(2, field(1, Buffer.from('v'))), field(2, Buffer.alloc(0))],
      [['', 'v']],
    ],
    ['two arrays in one value', [field(2, Buffer.concat([arrayOf(1), arrayOf(2)]))], [['', '[1,2]']]],
    ['an array in each of two values', [field(2, arrayOf(1)), field(2, arrayOf(2))], [['', '[1,2]']]],
    [
      'arrays on both sides of a text',
      [field(2, Buffer.concat([arrayOf(1), field(1, Buffer.from('v')), arrayOf(2)]))],
      [['', '[2]']],
    ],
    [
      'two arrays in a value of an array',
      [field(2, field(5, field(1, Buffer.concat([arrayOf(1), arrayOf(2)]))))],
      [['', '[[1,2]]']],
    ],
    [
      'an integer of three bytes',
      [field(1, Buffer.from('k')), field(2, Buffer.from([0x18, 0xff, 0xff, 0x7f]))],
      [['k', '2097151']],
    ],
    [
      'an integer in too many bytes',
      [field(1, Buffer.from('k')), field(2, Buffer.from([0x18, 0x85, 0x80, 0x00]))],
      [['k', '5']],
    ],
    [
      'a text of 200 bytes',
      [field(1, Buffer.from('k')), field(2, field(1, Buffer.alloc(200, 'v')))],
      [['k', 'v'.repeat(200)]],
    ],
    [
      'a key of 200 bytes',
      [field(1, Buffer.alloc(200, 'k')), field(2, field(1, Buffer.from('v')))],
      [['k'.repeat(200), 'v']],
    ],
  ])('reads an attribute of %s', (_, parts, attributes) => {
    const span = Buffer.concat([spanBytes(goodSpan), field(9, Buffer.concat(parts))]);
    expect(onlyRow(encode(around(span)))['SpanAttributes']).toEqual(attributes);
  });

  it('stores U+FFFD for bytes that are not UTF-8, and counts it', () => {
    const bad = Buffer.from([0x61, 0xff, 0xc3, 0x62]);
    const span = Buffer.concat([
      spanBytes(goodSpan),
      field(5, bad),
      field(9, Buffer.concat([field(1, bad), field(2, field(1, bad))])),
      field(9, Buffer.concat([field(1, Buffer.from('n')), field(2, field(5, field(1, field(1, bad))))])),
    ]);
    const encoded = encode(around(span));
    expect(onlyRow(encoded)).toMatchObject({
      SpanName: 'a\ufffd\ufffdb',
      SpanAttributes: [
        ['a\ufffd\ufffdb', 'a\ufffd\ufffdb'],
        ['n', '["a\ufffd\ufffdb"]'],
      ],
    });
    expect(encoded.leniencies.get('invalid_utf8')).toBe(3);
  });

  it.each([-1, 6, 2 ** 31 - 1])('counts a kind that does not exist (%d)', (kind) => {
    const encoded = encodeProtobuf(requestOf({ ...goodSpan, kind, status: { code: kind } }));
    expect(onlyRow(encoded)).toMatchObject({ SpanKind: 'Unspecified', StatusCode: 'Unset' });
    expect(Object.fromEntries(encoded.leniencies)).toEqual({ enum_unknown: 2 });
  });

  it('nested deeper than 32 is cut there and counted', () => {
    const nest = (depth: number): Buffer =>
      depth === 0 ? field(1, Buffer.from('x')) : field(5, field(1, nest(depth - 1)));
    const span = (depth: number): Buffer =>
      Buffer.concat([spanBytes(goodSpan), field(9, field(2, nest(depth)))]);
    expect(onlyRow(encode(around(span(32))))['SpanAttributes']).toEqual([
      ['', `${'['.repeat(32)}"x"${']'.repeat(32)}`],
    ]);
    const encoded = encode(around(span(1000)));
    expect(encoded.cutValues).toBe(1);
    expect(onlyRow(encoded)['SpanAttributes']).toEqual([['', `${'['.repeat(32)}null${']'.repeat(32)}`]]);
  });
});

describe('a protobuf body that cannot be read', () => {
  const cases: [what: string, bytes: Uint8Array][] = [
    ['a group that does not end', Buffer.from([0x0b, 0x10, 0x01])],
    ['a group that another one ends', Buffer.from([0x0b, 0x14])],
    [
      'a group that ends outside its message',
      Buffer.concat([field(1, Buffer.from([0x1b])), Buffer.from([0x1c])]),
    ],
    ['groups nested more than 100 deep', Buffer.concat([Buffer.alloc(101, 0x0b), Buffer.alloc(101, 0x0c)])],
    ['the end of a group', Buffer.from([0x0c])],
    ['wire type 6', Buffer.from([0x0e])],
    ['wire type 7', Buffer.from([0x0f])],
    ['field number 0', Buffer.from([0x02, 0x00])],
    ['field number 0 in two bytes', Buffer.from([0x80, 0x00])],
    ['a field number of more than 32 bits', Buffer.from([0x82, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00])],
    ['a varint of eleven bytes', Buffer.from([0x10, ...Array.from({ length: 10 }, () => 0xff), 0x01])],
    ['a varint of 65 bits', Buffer.from([0x10, ...Array.from({ length: 9 }, () => 0xff), 0x02])],
    ['a length beyond the end', Buffer.from([0x0a, 0x05, 0x00])],
    ['a length of 64 bits', Buffer.from([0x0a, ...Array.from({ length: 9 }, () => 0xff), 0x01])],
    ['a length of 2³²', Buffer.from([0x0a, 0x80, 0x80, 0x80, 0x80, 0x10])],
    ['64 bits cut short', Buffer.from([0x11, 1, 2, 3])],
    ['32 bits cut short', Buffer.from([0x15, 1, 2, 3])],
    ['a field that ends outside its message', field(1, field(2, Buffer.from([0x12, 0x05, 0x0a, 0x10])))],
    [
      'a varint that ends outside its message',
      Buffer.concat([field(1, Buffer.from([0x10, 0x80])), Buffer.from([0x01])]),
    ],
    ['JSON', Buffer.from(JSON.stringify(requestOf(goodSpan)))],
  ];

  it.each(cases)('is malformed: %s', (_, bytes) => {
    expect(() => encode(bytes)).toThrow(MalformedBody);
  });

  it('is malformed wherever it breaks off within a message', () => {
    const body = encodeOtlpProtobuf(requestOf(full));
    expect(encode(body).accepted).toBe(1);
    for (let length = 1; length < body.length; length++)
      expect(() => encode(body.subarray(0, length))).toThrow(MalformedBody);
  });

  // A span that breaks off may be a shorter message by chance; it must not be anything but read or malformed.
  it('is read or malformed where a span breaks off', () => {
    const span = spanBytes(full);
    for (let length = 0; length < span.length; length++) {
      try {
        expect(encode(around(span.subarray(0, length))).items).toBe(1);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedBody);
      }
    }
  });

  it('is read or malformed, for any bytes', () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc
        .tuple(
          anyRequest,
          fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 }),
        )
        .map(([request, changes]) => {
          const bytes = encodeOtlpProtobuf(request);
          for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
          return new Uint8Array(bytes);
        }),
    );
    always(
      fc.property(bodies, (bytes) => {
        try {
          const encoded = encode(bytes);
          // What was read is rows that can be read back.
          expect(rowsOfTraces(encoded)).toHaveLength(encoded.accepted);
        } catch (error) {
          if (!(error instanceof MalformedBody)) throw error;
        }
        protobufTraces.collectTokens(Buffer.concat([bytes, Buffer.from('mon.data.token')]));
      }),
      2000,
    );
  });

  it('leaves nothing behind for the next one', () => {
    const good = encodeOtlpProtobuf(requestOf(full, full));
    const expected = encode(good);
    expect(() => encode(Buffer.concat([good, Buffer.from([0x0b])]))).toThrow(MalformedBody);
    expect(encode(good)).toEqual(expected);
  });
});
