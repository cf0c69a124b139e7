import { describe, expect, it } from 'vitest';
import { reasons } from '../../../../src/model/reasons.ts';
import { exampleText } from '../../../../src/model/text-forms.ts';
import { type EncodedItems, TooManyItems } from '../../../../src/wire/otlp/types.ts';
import type { OtlpAttribute, OtlpRequest, OtlpSpan } from '../../../support/otlp/protobuf.ts';
import { rowsOfTraces } from '../../../support/otlp/span-blocks.ts';
import {
  contextWith,
  encodeJson,
  encodeProtobuf,
  goodSpan,
  nanosAt,
  onlyRow,
  requestOf,
} from '../../../support/otlp/trace-source.ts';

const text = (key: string, value: string): OtlpAttribute => ({ key, value: { stringValue: value } });

const many = (count: number): OtlpAttribute[] =>
  Array.from({ length: count }, (_, index) => text(`k${index}`, 'v'));

const encodings = [
  ['JSON', encodeJson],
  ['protobuf', encodeProtobuf],
] as const;

type Rejected = [reason: string, what: string, span: unknown, field: string, detail: RegExp];

const base64Id = Buffer.from(goodSpan.traceId, 'hex').toString('base64');

// Architecture 4.4: such a span is rejected alone, and the answer names its place and reason.
const rejectedInJson: Rejected[] = [
  ['span_not_object', 'a string', 'span', '', /got "span"/],
  ['span_not_object', 'null', null, '', /got null/],
  ['trace_id_invalid', 'no trace id', { ...goodSpan, traceId: undefined }, 'traceId', /missing/],
  ['trace_id_invalid', 'an empty trace id', { ...goodSpan, traceId: '' }, 'traceId', /missing/],
  ['trace_id_invalid', 'a trace id of zeros', { ...goodSpan, traceId: '0'.repeat(32) }, 'traceId', /zeros/],
  [
    'trace_id_invalid',
    'a trace id of 16 characters',
    { ...goodSpan, traceId: goodSpan.spanId },
    'traceId',
    /expected 32 .* not 16, got/,
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
    /characters, got "gb/,
  ],
  ['span_id_invalid', 'no span id', { ...goodSpan, spanId: null }, 'spanId', /missing/],
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
    /more than the limit of 128/,
  ],
  [
    'too_many_attributes',
    '129 attributes of an event',
    { ...goodSpan, events: [{ attributes: many(129) }] },
    'events[].attributes',
    /more than the limit of 128/,
  ],
  [
    'too_many_attributes',
    '129 attributes of a link',
    { ...goodSpan, links: [{ attributes: many(129) }] },
    'links[].attributes',
    /more than the limit of 128/,
  ],
  [
    'too_many_events',
    '129 events',
    { ...goodSpan, events: Array.from({ length: 129 }, () => ({ name: 'e' })) },
    'events',
    /more than the limit of 128/,
  ],
  [
    'too_many_links',
    '129 links',
    { ...goodSpan, links: Array.from({ length: 129 }, () => ({})) },
    'links',
    /more than the limit of 128/,
  ],
  [
    'item_too_large',
    'more than a message holds',
    { ...goodSpan, name: 'n'.repeat(2 ** 20) },
    '',
    /the limit is 2097152/,
  ],
];

const asRequest = (span: unknown): unknown => requestOf<unknown>(goodSpan, span, goodSpan);

describe('a span that can never be stored', () => {
  const check = (encoded: EncodedItems, [reason, , , field, detail]: Rejected): void => {
    expect(encoded).toMatchObject({ items: 3, accepted: 2, deferred: new Map() });
    expect(Object.fromEntries(encoded.rejected)).toEqual({ [reason]: 1 });
    const shown = encoded.examples.map((each) => [each.index, each.reason, each.field, exampleText(each)]);
    expect(shown).toEqual([[1, reason, field, expect.stringMatching(detail)]]);
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
    // What depends on more than the span has tests of its own, and so have log records and data points.
    const ofRecords = ['record_not_object', 'record_field_invalid'];
    const ofDataPoints = [
      'data_point_not_object',
      'metric_name_missing',
      'data_point_field_invalid',
      'too_many_buckets',
      'too_many_exemplars',
      'too_many_series',
    ];
    const ofCredentials = ['token_invalid', 'application_disabled'];
    const elsewhere = ['too_many_days', ...ofCredentials, ...ofRecords, ...ofDataPoints];
    const table = reasons
      .filter(({ of, stage }) => of === 'item' && stage === 'receiver')
      .map(({ code }) => code);
    expect(table.slice(table.indexOf('span_not_object')).filter((code) => !named.includes(code))).toEqual(
      elsewhere,
    );
    expect(named.filter((code) => !table.includes(code))).toEqual([]);
  });

  it('is rejected for the first of its faults in a fixed order, in every encoding', () => {
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

  it('stays within the limits with values that fill them exactly', () => {
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
    const context = contextWith({ limits: { itemsMax: 3 } });
    expect(encode(requestOf(goodSpan, goodSpan, goodSpan), context).accepted).toBe(3);
    const four = requestOf(goodSpan, goodSpan, goodSpan, goodSpan);
    expect(() => encode(four, context)).toThrow(TooManyItems);
  });
});

// The reader keeps the ids of the span before in the same place: that span may be of another sender.
describe('the sample of a span without an owner', () => {
  it.each(encodings)('shows no id that it did not bring (%s)', (_, encode) => {
    const before = { ...goodSpan, spanId: 'aaaaaaaaaaaaaaaa' };
    const samplesOf = (span: unknown): unknown[] => {
      encode(requestOf<OtlpSpan>(before), contextWith());
      const context = contextWith({ resolve: () => 'invalid' });
      // A body of a sender may hold anything.
      const body = JSON.parse(JSON.stringify(requestOf(span)));
      return encode(body, { ...context, wantsSample: () => true }).samples.map(({ item }) => item);
    };
    const { traceId, spanId } = goodSpan;
    expect(samplesOf({ name: 'x' })).toEqual([expect.not.objectContaining({ traceId: expect.anything() })]);
    expect(samplesOf({ name: 'x', traceId })).toEqual([
      expect.not.objectContaining({ spanId: expect.anything() }),
    ]);
    expect(samplesOf({ name: 'x', traceId, spanId })).toMatchObject([{ traceId, spanId }]);
    for (const span of [{ name: 'x' }, { name: 'x', traceId }])
      expect(JSON.stringify(samplesOf(span))).not.toContain(before.spanId);
  });

  it('shows nothing of one that is not an object', () => {
    encodeJson(requestOf(goodSpan));
    const context = contextWith({ resolve: () => 'invalid' });
    const { samples } = encodeJson(requestOf(5), { ...context, wantsSample: () => true });
    expect(samples.map(({ item }) => item)).toEqual([{}]);
  });
});
