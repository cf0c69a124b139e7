import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reasons } from '../../src/model/reasons.ts';
import { validateSpanTime } from '../../src/model/span-time.ts';
import { countedBase } from '../../src/model/uid.ts';
import { jsonTraces } from '../../src/wire/otlp/json-traces.ts';
import { protobufTraces } from '../../src/wire/otlp/protobuf-traces.ts';
import { type EncodedTraces, type SpanOwner, TooManySpans } from '../../src/wire/otlp/types.ts';
import {
  encodeOtlpProtobuf,
  type OtlpAttribute,
  type OtlpRequest,
  type OtlpSpan,
} from '../support/otlp-protobuf.ts';
import { anyRequest } from '../support/otlp-requests.ts';
import { always } from '../support/properties.ts';
import { rowsOfTraces } from '../support/span-blocks.ts';
import {
  arrivedAt,
  contextWith,
  encodeJson,
  encodeProtobuf,
  goodSpan,
  nanosAt,
  onlyRow,
  owner,
  requestOf,
} from '../support/trace-source.ts';

const text = (key: string, value: string): OtlpAttribute => ({ key, value: { stringValue: value } });
const many = (count: number): OtlpAttribute[] =>
  Array.from({ length: count }, (_, index) => text(`k${index}`, 'v'));
const dayMs = 86_400_000;

const encodings = [
  ['JSON', encodeJson],
  ['protobuf', encodeProtobuf],
] as const;

const sum = (counts: Iterable<number>): number => [...counts].reduce((a, b) => a + b, 0);

type Rejected = [reason: string, what: string, span: unknown, field: string, detail: RegExp];

const base64Id = Buffer.from(goodSpan.traceId, 'hex').toString('base64');

// Design section 5: such a span is rejected alone, and its sender is told where and why.
const rejectedInJson: Rejected[] = [
  ['span_not_object', 'a string', 'span', '', /got "span"/],
  ['span_not_object', 'null', null, '', /got null/],
  ['trace_id_invalid', 'no trace id', { ...goodSpan, traceId: undefined }, 'traceId', /absent/],
  ['trace_id_invalid', 'an empty trace id', { ...goodSpan, traceId: '' }, 'traceId', /absent/],
  ['trace_id_invalid', 'a trace id of zeros', { ...goodSpan, traceId: '0'.repeat(32) }, 'traceId', /zeros/],
  [
    'trace_id_invalid',
    'a trace id of 16 characters',
    { ...goodSpan, traceId: goodSpan.spanId },
    'traceId',
    /expected 32 .* got 16/,
  ],
  ['trace_id_invalid', 'a trace id in base64', { ...goodSpan, traceId: base64Id }, 'traceId', /base64/],
  [
    'trace_id_invalid',
    'a trace id that is a number',
    { ...goodSpan, traceId: 5 },
    'traceId',
    /in a string, got 5/,
  ],
  [
    'trace_id_invalid',
    'another character',
    { ...goodSpan, traceId: `g${goodSpan.traceId.slice(1)}` },
    'traceId',
    /got 32/,
  ],
  ['span_id_invalid', 'no span id', { ...goodSpan, spanId: null }, 'spanId', /absent/],
  ['span_id_invalid', 'a span id in base64', { ...goodSpan, spanId: 'AAAAAAAAAAE=' }, 'spanId', /base64/],
  [
    'parent_span_id_invalid',
    'a parent of 32 characters',
    { ...goodSpan, parentSpanId: goodSpan.traceId },
    'parentSpanId',
    /expected 16/,
  ],
  [
    'span_field_invalid',
    'a name that is a number',
    { ...goodSpan, name: 5 },
    'name',
    /expected a string, got 5/,
  ],
  ['span_field_invalid', 'a kind that is an object', { ...goodSpan, kind: {} }, 'kind', /got \{\}/],
  ['span_field_invalid', 'a kind with a fraction', { ...goodSpan, kind: 1.5 }, 'kind', /got 1.5/],
  [
    'span_field_invalid',
    'a status that is a number',
    { ...goodSpan, status: 1 },
    'status',
    /an object, got 1/,
  ],
  [
    'span_field_invalid',
    'a message that is a number',
    { ...goodSpan, status: { message: 1 } },
    'status.message',
    /got 1/,
  ],
  ['span_field_invalid', 'events that are an object', { ...goodSpan, events: {} }, 'events', /an array, got/],
  [
    'span_field_invalid',
    'an event that is a string',
    { ...goodSpan, events: ['x'] },
    'events[]',
    /an object, got/,
  ],
  [
    'span_field_invalid',
    "an event's name that is a number",
    { ...goodSpan, events: [{ name: 1 }] },
    'events[].name',
    /got 1/,
  ],
  ['span_field_invalid', 'a link that is null', { ...goodSpan, links: [null] }, 'links[]', /got null/],
  [
    'span_field_invalid',
    'a tracestate that is a list',
    { ...goodSpan, traceState: [] },
    'traceState',
    /got \[\]/,
  ],
  [
    'attribute_invalid',
    'attributes that are an object',
    { ...goodSpan, attributes: { a: 'b' } },
    'attributes',
    /an array, got/,
  ],
  [
    'attribute_invalid',
    'an attribute that is a string',
    { ...goodSpan, attributes: ['a'] },
    'attributes[0]',
    /an object, got/,
  ],
  [
    'attribute_invalid',
    'a key that is a number',
    { ...goodSpan, attributes: [{ key: 1 }] },
    'attributes[0].key',
    /got 1/,
  ],
  [
    'attribute_invalid',
    'a bare value',
    { ...goodSpan, attributes: [{ key: 'a', value: 'b' }] },
    'attributes[0].value',
    /stringValue.*got "b"/,
  ],
  [
    'attribute_invalid',
    "an event's bare value",
    { ...goodSpan, events: [{ attributes: [{ key: 'a', value: 1 }] }] },
    'events[].attributes[0].value',
    /got 1/,
  ],
];

const rejectedInBoth: Rejected[] = [
  [
    'trace_id_invalid',
    'a trace id of 15 bytes',
    { ...goodSpan, traceId: goodSpan.traceId.slice(2) },
    'traceId',
    /expected/,
  ],
  ['span_id_invalid', 'a span id of zeros', { ...goodSpan, spanId: '0'.repeat(16) }, 'spanId', /zero/],
  [
    'parent_span_id_invalid',
    'a parent of 7 bytes',
    { ...goodSpan, parentSpanId: goodSpan.spanId.slice(2) },
    'parentSpanId',
    /expected/,
  ],
  [
    'too_many_attributes',
    '129 attributes',
    { ...goodSpan, attributes: many(129) },
    'attributes',
    /more than 128/,
  ],
  [
    'too_many_attributes',
    '129 attributes of an event',
    { ...goodSpan, events: [{ attributes: many(129) }] },
    'events[].attributes',
    /more than 128/,
  ],
  [
    'too_many_attributes',
    '129 attributes of a link',
    { ...goodSpan, links: [{ attributes: many(129) }] },
    'links[].attributes',
    /more than 128/,
  ],
  [
    'too_many_events',
    '129 events',
    { ...goodSpan, events: Array.from({ length: 129 }, () => ({ name: 'e' })) },
    'events',
    /more than 128/,
  ],
  [
    'too_many_links',
    '129 links',
    { ...goodSpan, links: Array.from({ length: 129 }, () => ({})) },
    'links',
    /more than 128/,
  ],
  [
    'item_too_large',
    'more than a message holds',
    { ...goodSpan, name: 'n'.repeat(2 ** 20) },
    '',
    /more than 2097152/,
  ],
];

const asRequest = (span: unknown): unknown => requestOf<unknown>(goodSpan, span, goodSpan);

describe('a span that can never be stored', () => {
  const check = (encoded: EncodedTraces, [reason, , , field, detail]: Rejected): void => {
    expect(encoded).toMatchObject({ spans: 3, accepted: 2, deferred: new Map() });
    expect(Object.fromEntries(encoded.rejected)).toEqual({ [reason]: 1 });
    expect(encoded.examples).toEqual([{ index: 1, reason, field, detail: expect.stringMatching(detail) }]);
    const dropped = encoded.runs.flatMap((run) => run.dropped);
    expect(dropped).toEqual([{ appId: 12, bizId: 2, reasons: new Map([[reason, 1]]) }]);
    expect(rowsOfTraces(encoded).map(({ uid }) => uid)).toEqual(
      [0n, 2n].map((n) => BigInt(contextWith().base.text) + n),
    );
  };

  it.each([...rejectedInJson, ...rejectedInBoth])('is rejected alone as %s: %s (JSON)', (...each) => {
    check(encodeJson(asRequest(each[2])), each);
  });

  it.each(rejectedInBoth)('is rejected alone as %s: %s (protobuf)', (...each) => {
    const span: OtlpSpan = Object.assign({}, each[2]);
    check(encodeProtobuf(requestOf<OtlpSpan>(goodSpan, span, goodSpan)), each);
  });

  it('has a case here for every reason of a receiver of spans', () => {
    const named = [...rejectedInJson, ...rejectedInBoth].map(([reason]) => reason);
    const elsewhere = ['token_invalid', 'application_disabled'];
    const table = reasons
      .filter(({ of, stage }) => of === 'item' && stage === 'receiver')
      .map(({ code }) => code);
    expect(table.slice(table.indexOf('span_not_object')).filter((code) => !named.includes(code))).toEqual(
      elsewhere,
    );
    expect(named.filter((code) => !table.includes(code))).toEqual([]);
  });

  it('is rejected for the first of its faults in a fixed order, whatever it is sent in', () => {
    const bad = { attributes: many(129), traceId: '', spanId: '', startTimeUnixNano: '5', name: 'x' };
    for (const [, encode] of encodings)
      expect(Object.fromEntries(encode(requestOf(bad)).rejected)).toEqual({ trace_id_invalid: 1 });
  });

  it.each(encodings)('is rejected for its resource (%s)', (_, encode) => {
    const request: OtlpRequest = {
      resourceSpans: [{ resource: { attributes: many(129) }, scopeSpans: [{ spans: [goodSpan, goodSpan] }] }],
    };
    expect(Object.fromEntries(encode(request).rejected)).toEqual({ too_many_attributes: 2 });
  });

  it('is shown among the first twenty, and counted beyond', () => {
    const encoded = encodeJson(requestOf(...Array.from({ length: 30 }, () => 'x')));
    expect(encoded.examples).toHaveLength(20);
    expect(encoded.rejected).toEqual(new Map([['span_not_object', 30]]));
  });

  it('never reaches the limits by what fills them exactly', () => {
    const span = {
      ...goodSpan,
      attributes: many(128),
      events: Array.from({ length: 128 }, () => ({ timeUnixNano: nanosAt(0), attributes: many(128) })),
      links: Array.from({ length: 128 }, () => ({ traceId: goodSpan.traceId, spanId: goodSpan.spanId })),
    };
    for (const [, encode] of encodings) {
      const row = onlyRow(encode(requestOf(span)));
      expect(row['SpanAttributes']).toHaveLength(128);
      expect(row['Events.Attributes']).toHaveLength(128);
      expect(row['Links.TraceId']).toHaveLength(128);
    }
  });
});

describe('too many spans', () => {
  it.each(encodings)('refuse the whole request (%s)', (_, encode) => {
    const context = contextWith({ limits: { spansMax: 3 } });
    expect(encode(requestOf(goodSpan, goodSpan, goodSpan), context).accepted).toBe(3);
    const four = requestOf(goodSpan, goodSpan, goodSpan, goodSpan);
    expect(() => encode(four, context)).toThrow(TooManySpans);
  });
});

describe('the parts of a kept span that cannot be stored', () => {
  it.each(encodings)('are left out and counted (%s)', (_, encode) => {
    const span: OtlpSpan = {
      ...goodSpan,
      events: [
        { name: 'none' },
        { timeUnixNano: nanosAt(0), name: 'kept', attributes: [text('a', 'b')] },
        { timeUnixNano: String(arrivedAt), name: 'milliseconds', attributes: [text('c', 'd')] },
        { timeUnixNano: nanosAt(-400 * dayMs), name: 'old' },
      ],
      links: [
        { traceId: goodSpan.traceId.slice(2), spanId: goodSpan.spanId, attributes: [text('a', 'b')] },
        { traceId: goodSpan.traceId, spanId: goodSpan.spanId, traceState: 'x=y' },
        { traceId: '0'.repeat(32), spanId: goodSpan.spanId },
      ],
    };
    const encoded = encode(requestOf(span));
    expect(encoded).toMatchObject({ accepted: 1, eventsDropped: 2, linksDropped: 2 });
    expect(onlyRow(encoded)).toMatchObject({
      'Events.Name': ['kept', 'old'],
      'Events.Attributes': [[['a', 'b']], []],
      'Links.TraceState': ['x=y'],
    });
  });

  it.each(encodings)('are cut where a value is too long, never within a character (%s)', (_, encode) => {
    const context = contextWith({ limits: { valueBytesMax: 5 } });
    const span = {
      ...goodSpan,
      name: 'abcdef',
      attributes: [
        text('k', 'ééé'),
        text('l', '12345'),
        text('m', '😀😀'),
        text('n', 'ab😀'),
        text('long key', ''),
      ],
    };
    const encoded = encode({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }, context);
    expect(onlyRow(encoded)).toMatchObject({
      SpanName: 'abcde',
      SpanAttributes: [
        ['k', 'éé'],
        ['l', '12345'],
        ['m', '😀'],
        ['n', 'ab'],
        ['long ', ''],
      ],
    });
    expect(encoded.cutValues).toBe(5);
  });

  it.each(encodings)('are counted for each row that repeats them (%s)', (_, encode) => {
    const context = contextWith({ limits: { valueBytesMax: 3 } });
    const request: OtlpRequest = {
      resourceSpans: [
        {
          resource: { attributes: [text('k', 'long'), text('k', 'abc')] },
          scopeSpans: [
            {
              scope: { name: 'long', version: 'long' },
              spans: [goodSpan, goodSpan, goodSpan].map((span) => ({ ...span, name: '' })),
            },
          ],
        },
      ],
    };
    // Of two values of one key only the one that is kept counts.
    expect(encode(request, context)).toMatchObject({ accepted: 3, cutValues: 6 });
  });
});

describe('the application of a span', () => {
  const owners: Record<string, SpanOwner | 'invalid' | 'disabled'> = {
    a: { ...owner, appId: 1, bizId: 10 },
    b: { ...owner, appId: 2, bizId: -20 },
    off: 'disabled',
  };
  const context = contextWith({
    resolve: (token) => (token === undefined ? owner : (owners[token] ?? 'invalid')),
  });
  const resourceSpans = (token: string | undefined, ...spans: OtlpSpan[]) => ({
    resource: {
      attributes: [
        text('service.name', 'cart'),
        ...(token === undefined ? [] : [text('mon.data.token', token)]),
      ],
    },
    scopeSpans: [{ spans }],
  });
  const bad = { ...goodSpan, spanId: '' };
  const late = { ...goodSpan, startTimeUnixNano: 'N'.length.toString() };
  const request: OtlpRequest = {
    resourceSpans: [
      resourceSpans('a', goodSpan, bad),
      resourceSpans(undefined, goodSpan, late),
      resourceSpans('wrong', goodSpan, bad, late),
      resourceSpans('b', bad, goodSpan, late),
      resourceSpans('off', goodSpan),
      resourceSpans('a', goodSpan),
    ],
  };

  it.each(encodings)('is that of its resource’s token, else that of the request (%s)', (_, encode) => {
    const encoded = encode(request, context);
    expect(encoded).toMatchObject({
      spans: 12,
      accepted: 4,
      deferred: new Map([['timestamp_unit_seconds', 2]]),
    });
    expect(Object.fromEntries(encoded.rejected)).toEqual({
      span_id_invalid: 2,
      token_invalid: 3,
      application_disabled: 1,
    });
    const [run] = encoded.runs;
    expect(run?.parts.map(({ appId, bizId, rows }) => [appId, bizId, rows])).toEqual([
      [1, 10, 2],
      [12, 2, 1],
      [2, -20, 1],
    ]);
    // Spans that belong to nobody are in no application's balance.
    expect(run?.dropped.map(({ appId, reasons: counts }) => [appId, Object.fromEntries(counts)])).toEqual([
      [1, { span_id_invalid: 1 }],
      [2, { span_id_invalid: 1 }],
    ]);
    expect(run?.deferred.map(({ appId, ordinals }) => [appId, ordinals])).toEqual([
      [12, [3]],
      [2, [9]],
    ]);
    const uids = rowsOfTraces(encoded).map(({ uid, AppId, BizId }) => [
      Number(uid) - Number(context.base.text),
      AppId,
      BizId,
    ]);
    expect(uids).toEqual([
      [0, 1n, 10n],
      [2, 12n, 2n],
      [8, 2n, -20n],
      [11, 1n, 10n],
    ]);
  });

  // Whose loss it is has to be told to the right ones, however much else the resource holds.
  it.each(encodings)('is known from a token among too many attributes (%s)', (_, encode) => {
    const tooMany = (...attributes: OtlpAttribute[]): OtlpRequest => ({
      resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: [goodSpan] }] }],
    });
    for (const attributes of [
      [text('mon.data.token', 'b'), ...many(200)],
      [...many(200), text('mon.data.token', 'b')],
      [text('mon.data.token', 'a'), ...many(300), text('mon.data.token', 'b'), ...many(300)],
    ]) {
      const encoded = encode(tooMany(...attributes), context);
      expect(encoded.runs[0]?.dropped).toEqual([
        { appId: 2, bizId: -20, reasons: new Map([['too_many_attributes', 1]]) },
      ]);
    }
  });

  // A write token in a table or in a sample would be readable by everybody who may query.
  it.each(encodings)('is known from a token that is never written anywhere (%s)', (_, encode) => {
    const secret = 'secret-0123456789abcdef';
    const all = { a: owner, [secret]: owner };
    const encoded = encode(
      { resourceSpans: [resourceSpans(secret, goodSpan, bad, late), resourceSpans('x', goodSpan)] },
      contextWith({ resolve: (token) => (token === secret ? all.a : 'invalid') }),
    );
    const bytes = JSON.stringify(encoded, (_key, value) => (value instanceof Map ? [...value] : value));
    expect(bytes).not.toContain('secret');
    for (const { parts } of encoded.runs)
      for (const { block } of parts) expect(Buffer.from(block).includes('secret')).toBe(false);
    expect(onlyRow(encoded)['ResourceAttributes']).toEqual([['service.name', 'cart']]);
  });

  it.each([
    ['a plain object', { 'mon.data.token': 'secret' }],
    ['a pair', [['mon.data.token', 'secret']]],
    ['a bare value', [{ key: 'mon.data.token', value: 'secret' }]],
    ['a value of another kind', [{ key: 'mon.data.token', value: { boolValue: 'secret' } }]],
    ['a key that is an object', [{ key: { 'mon.data.token': 'secret' } }]],
  ])('is not told by an example from a token written as %s', (_, attributes) => {
    const encoded = encodeJson({
      resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: [goodSpan] }] }],
    });
    expect(encoded.rejected).toEqual(new Map([['attribute_invalid', 1]]));
    expect(JSON.stringify(encoded.examples)).not.toContain('secret');
  });

  it('has its tokens collected without reading the spans', () => {
    const expected = ['a', 'wrong', 'b', 'off'];
    expect(protobufTraces.collectTokens(encodeOtlpProtobuf(request))).toEqual(expected);
    const json = JSON.stringify(request);
    expect(jsonTraces.collectTokens(Buffer.from(json))).toEqual(expected);
    expect(jsonTraces.collectTokens(Buffer.from(json.replaceAll('mon.data', 'mon\\u002edata')))).toEqual(
      expected,
    );
    expect(jsonTraces.collectTokens(Buffer.from(JSON.stringify(requestOf(goodSpan))))).toEqual([]);
    expect(protobufTraces.collectTokens(encodeOtlpProtobuf(requestOf(goodSpan)))).toEqual([]);
  });

  it('collects every token that encoding asks for', () => {
    always(
      fc.property(anyRequest, (any) => {
        for (const [reader, bytes] of [
          [jsonTraces, Buffer.from(JSON.stringify(any))],
          [protobufTraces, encodeOtlpProtobuf(any)],
        ] as const) {
          const asked = new Set<string>();
          reader.encodeTraces(
            bytes,
            contextWith({
              resolve: (token) => {
                if (token !== undefined) asked.add(token);
                return owner;
              },
            }),
          );
          const collected = reader.collectTokens(bytes);
          expect([...asked].filter((token) => !collected.includes(token))).toEqual([]);
        }
      }),
      200,
    );
  });
});

describe('net.host.ip', () => {
  const filling = (clientIp: string) =>
    contextWith({ clientIp, resolve: () => ({ ...owner, fillDimensions: true }) });
  const resourceOf = (value: string | undefined, clientIp: string) =>
    onlyRow(
      encodeJson(
        {
          resourceSpans: [
            {
              resource: {
                attributes: [
                  text('a', 'b'),
                  ...(value === undefined ? [] : [text('net.host.ip', value)]),
                  text('c', 'd'),
                ],
              },
              scopeSpans: [{ spans: [goodSpan] }],
            },
          ],
        },
        filling(clientIp),
      ),
    )['ResourceAttributes'];

  it.each([
    [
      'missing',
      undefined,
      [
        ['a', 'b'],
        ['c', 'd'],
        ['net.host.ip', '192.0.2.9'],
      ],
    ],
    [
      'empty',
      '',
      [
        ['a', 'b'],
        ['net.host.ip', '192.0.2.9'],
        ['c', 'd'],
      ],
    ],
    [
      '0.0.0.0',
      '0.0.0.0',
      [
        ['a', 'b'],
        ['net.host.ip', '192.0.2.9'],
        ['c', 'd'],
      ],
    ],
    [
      '127.0.0.1',
      '127.0.0.1',
      [
        ['a', 'b'],
        ['net.host.ip', '192.0.2.9'],
        ['c', 'd'],
      ],
    ],
    [
      'real',
      '10.0.0.7',
      [
        ['a', 'b'],
        ['net.host.ip', '10.0.0.7'],
        ['c', 'd'],
      ],
    ],
  ])('that is %s is filled where it says nothing', (_, value, attributes) => {
    expect(resourceOf(value, '192.0.2.9')).toEqual(attributes);
    expect(resourceOf(value, '::ffff:192.0.2.9')).toEqual(attributes);
  });

  it.each(['127.0.0.1', '0.0.0.0', '::1', ''])(
    'stays as it is when the client’s is a placeholder too (%s)',
    (clientIp) => {
      expect(resourceOf('', clientIp)).toEqual([
        ['a', 'b'],
        ['net.host.ip', ''],
        ['c', 'd'],
      ]);
      expect(resourceOf(undefined, clientIp)).toEqual([
        ['a', 'b'],
        ['c', 'd'],
      ]);
    },
  );

  it('stays as it is for an application that does not want it', () => {
    expect(onlyRow(encodeJson(requestOf(goodSpan)))['ResourceAttributes']).toEqual([
      ['service.name', 'cart'],
    ]);
  });
});

describe('a span whose time fails', () => {
  const late: OtlpSpan = {
    ...goodSpan,
    startTimeUnixNano: nanosAt(-1),
    endTimeUnixNano: nanosAt(-2),
    parentSpanId: '00f067aa0ba902b7',
    traceState: 'a=b',
    attributes: [{ key: 'n', value: { intValue: '5' } }, text('s', 'x')],
    events: [{ timeUnixNano: nanosAt(0), name: 'e', attributes: [text('a', 'b')] }],
    links: [{ traceId: goodSpan.traceId, spanId: goodSpan.spanId }],
    status: { code: 2, message: 'm' },
  };

  it.each(encodings)(
    'travels as a request of its own, and fails again by the same rule (%s)',
    (_, encode) => {
      const encoded = encode(requestOf<OtlpSpan>(goodSpan, late));
      expect(encoded).toMatchObject({ accepted: 1, deferred: new Map([['end_before_start', 1]]) });
      const [deferred] = encoded.runs[0]?.deferred ?? [];
      expect(deferred).toMatchObject({ appId: 12, bizId: 2, policy: owner.policy, ordinals: [1] });
      const { resource, scope, span } = JSON.parse(deferred?.texts[0] ?? '');
      expect(validateSpanTime(span.startTimeUnixNano, span.endTimeUnixNano, arrivedAt, owner.policy)).toBe(
        'end_before_start',
      );
      // Mended, it would be the row that it should have been.
      const mended = {
        resourceSpans: [
          { resource, scopeSpans: [{ scope, spans: [{ ...span, endTimeUnixNano: nanosAt(9) }] }] },
        ],
      };
      expect(onlyRow(encodeJson(mended))).toEqual(
        onlyRow(encode(requestOf({ ...late, endTimeUnixNano: nanosAt(9) }))),
      );
    },
  );

  it('is found by its windows, which travel with it', () => {
    const policy = { aheadMsMax: 1000, ageMsMax: 2000, ttlSeconds: 86_400 };
    const encoded = encodeJson(
      requestOf(
        goodSpan,
        { ...goodSpan, startTimeUnixNano: nanosAt(-3000) },
        { ...goodSpan, endTimeUnixNano: nanosAt(1001) },
      ),
      contextWith({ resolve: () => ({ ...owner, policy }) }),
    );
    expect(Object.fromEntries(encoded.deferred)).toEqual({
      timestamp_too_old: 1,
      timestamp_too_far_ahead: 1,
    });
    expect(encoded.runs[0]?.deferred).toMatchObject([{ policy, ordinals: [1, 2] }]);
    expect(encoded.examples.map(({ field }) => field)).toEqual(['startTimeUnixNano', 'endTimeUnixNano']);
  });
});

describe('the parts of a run', () => {
  it.each(encodings)(
    'are one for each day of start, with their least and greatest time (%s)',
    (_, encode) => {
      const midnight = Math.floor(arrivedAt / dayMs) * dayMs - arrivedAt;
      const at = (offset: number, rest: number): OtlpSpan => ({
        ...goodSpan,
        startTimeUnixNano: nanosAt(offset, rest),
        endTimeUnixNano: nanosAt(offset + 5),
      });
      const encoded = encode(
        requestOf(at(midnight, 0), at(midnight - 1, 999_999), at(midnight, 7), at(midnight - 500, 3)),
      );
      const today = Math.floor(arrivedAt / dayMs);
      expect(
        encoded.runs[0]?.parts.map(({ day, rows, timeMin, timeMax }) => ({ day, rows, timeMin, timeMax })),
      ).toEqual([
        { day: today, rows: 2, timeMin: nanosAt(midnight), timeMax: nanosAt(midnight, 7) },
        {
          day: today - 1,
          rows: 2,
          timeMin: nanosAt(midnight - 500, 3),
          timeMax: nanosAt(midnight - 1, 999_999),
        },
      ]);
    },
  );

  it('carry uids across 32 bits', () => {
    const base = countedBase(1, 2 ** 32 - 2);
    const encoded = encodeJson(requestOf(goodSpan, goodSpan, goodSpan, goodSpan), contextWith({ base }));
    expect(rowsOfTraces(encoded).map(({ uid }) => uid)).toEqual(
      [0n, 1n, 2n, 3n].map((n) => BigInt(base.text) + n),
    );
  });
});

describe('the cutting rule', () => {
  const budget = 2 * 2 ** 20;
  const spanOf = (size: number): OtlpSpan => ({ ...goodSpan, name: 'n'.repeat(size) });
  // service.name, cart, an attribute; scope and 1.
  const shared = 12 + 4 + 16 + 5 + 1;
  const cost = (size: number): number => 256 + 2 * (size + shared);
  const runs = (encoded: EncodedTraces): [number, number][] =>
    encoded.runs.map(({ first, last }) => [first, last]);

  it.each(encodings)('fills a run up to the budget and not beyond (%s)', (_, encode) => {
    const half = budget / 4 - 128 - shared;
    expect(cost(half) * 2).toBe(budget);
    expect(runs(encode(requestOf(spanOf(half), spanOf(half), spanOf(0))))).toEqual([
      [0, 1],
      [2, 2],
    ]);
    expect(runs(encode(requestOf(spanOf(half), spanOf(half + 1), spanOf(0))))).toEqual([
      [0, 0],
      [1, 2],
    ]);
  });

  it.each(encodings)('keeps the largest span it can and rejects one byte more (%s)', (_, encode) => {
    const largest = budget / 2 - 128 - shared;
    expect(encode(requestOf(spanOf(largest)))).toMatchObject({ accepted: 1 });
    const encoded = encode(requestOf(spanOf(5), spanOf(largest + 1), spanOf(5)));
    expect(Object.fromEntries(encoded.rejected)).toEqual({ item_too_large: 1 });
    expect(runs(encoded)).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
  });

  // A retry is cut alike although policies, limits and tokens have changed in between, else its message ids would differ.
  it('depends on the request alone', () => {
    always(
      fc.property(anyRequest, fc.integer({ min: 1, max: 300_000 }), (request, size) => {
        const padded: OtlpRequest = {
          resourceSpans: (request.resourceSpans ?? []).map(({ resource, ...rest }) => ({
            resource: { attributes: [...(resource?.attributes ?? []), text('pad', 'p'.repeat(size))] },
            ...rest,
          })),
        };
        const bytes = encodeOtlpProtobuf(padded);
        const plain = protobufTraces.encodeTraces(bytes, contextWith());
        const other = protobufTraces.encodeTraces(
          bytes,
          contextWith({
            resolve: (token) =>
              token === undefined ? { ...owner, appId: 5, fillDimensions: true } : 'invalid',
            arrivedAt: arrivedAt - 100 * dayMs,
            clientIp: '198.51.100.200',
            limits: { attributesMax: 1, eventsMax: 0, linksMax: 1, valueBytesMax: 10 },
          }),
        );
        expect(runs(other)).toEqual(runs(plain));
        expect(runs(encodeJson(padded))).toEqual(runs(plain));
      }),
      100,
    );
  });

  // A message holds 8 MiB: whatever a sender packs into a run, its sections have to fit with room for the header.
  it.each([
    ['empty attributes', { ...goodSpan, attributes: Array.from({ length: 128 }, () => ({})) }],
    [
      'empty events',
      { ...goodSpan, events: Array.from({ length: 128 }, () => ({ timeUnixNano: nanosAt(0) })) },
    ],
    [
      'links',
      {
        ...goodSpan,
        links: Array.from({ length: 128 }, () => ({ traceId: goodSpan.traceId, spanId: goodSpan.spanId })),
      },
    ],
    ['control characters', { ...goodSpan, attributes: [text('\u0001'.repeat(500), '\u0001'.repeat(5000))] }],
    [
      'nested nothing',
      {
        ...goodSpan,
        attributes: [
          {
            key: 'k',
            value: {
              arrayValue: {
                values: Array.from({ length: 500 }, () => ({ doubleValue: -1.7976931348623157e308 })),
              },
            },
          },
        ],
      },
    ],
    ['small spans', goodSpan],
  ])('leaves a run room in a message (%s)', (_, span) => {
    for (const endTimeUnixNano of [goodSpan.endTimeUnixNano, nanosAt(-5000)]) {
      const spans = Array.from({ length: 9000 }, () => ({ ...span, endTimeUnixNano }));
      const encoded = encodeProtobuf(requestOf(...spans.slice(0, span === goodSpan ? 9000 : 400)));
      for (const { parts, deferred } of encoded.runs) {
        const bytes =
          sum(parts.map(({ block }) => block.length)) +
          sum(deferred.flatMap(({ texts }) => texts.map((each) => Buffer.byteLength(each) + 1)));
        expect(bytes).toBeLessThan(7.5 * 2 ** 20);
      }
    }
  });

  it('starts another run when a run would have too many parts', () => {
    const spans = Array.from({ length: 600 }, (_, index) => ({
      ...goodSpan,
      startTimeUnixNano: nanosAt(-index * dayMs),
      endTimeUnixNano: nanosAt(-index * dayMs),
    }));
    const encoded = encodeProtobuf(requestOf<OtlpSpan>(...spans, goodSpan));
    expect(encoded.accepted).toBe(601);
    expect(encoded.runs.map(({ parts }) => parts.length)).toEqual([256, 256, 89]);
  });
});
