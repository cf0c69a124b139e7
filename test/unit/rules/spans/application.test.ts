import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonTraces } from '../../../../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../../../../src/rules/spans/protobuf-traces.ts';
import type { ItemsOwner } from '../../../../src/wire/otlp/types.ts';
import {
  encodeOtlpProtobuf,
  type OtlpAttribute,
  type OtlpRequest,
  type OtlpSpan,
} from '../../../support/otlp/protobuf.ts';
import { anyRequest } from '../../../support/otlp/requests.ts';
import { rowsOfTraces } from '../../../support/otlp/span-blocks.ts';
import {
  contextWith,
  encodeJson,
  encodeProtobuf,
  goodSpan,
  onlyRow,
  owner,
  requestOf,
} from '../../../support/otlp/trace-source.ts';
import { always } from '../../../support/properties.ts';

const text = (key: string, value: string): OtlpAttribute => ({ key, value: { stringValue: value } });

const many = (count: number): OtlpAttribute[] =>
  Array.from({ length: count }, (_, index) => text(`k${index}`, 'v'));

const encodings = [
  ['JSON', encodeJson],
  ['protobuf', encodeProtobuf],
] as const;

describe('the application of a span', () => {
  const owners: Record<string, ItemsOwner | 'invalid' | 'disabled'> = {
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
      items: 12,
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
    // Spans without an owner are in no application's balance.
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

  // The right application must get the loss in its outcomes, with any other attributes in the resource.
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
    const expected = ['a', undefined, 'wrong', 'b', 'off'];
    expect(protobufTraces.collectTokens(encodeOtlpProtobuf(request))).toEqual(expected);
    const json = JSON.stringify(request);
    expect(jsonTraces.collectTokens(Buffer.from(json))).toEqual(expected);
    expect(jsonTraces.collectTokens(Buffer.from(json.replaceAll('mon.data', 'mon\\u002edata')))).toEqual(
      expected,
    );
    expect(jsonTraces.collectTokens(Buffer.from(JSON.stringify(requestOf(goodSpan))))).toEqual([undefined]);
    expect(protobufTraces.collectTokens(encodeOtlpProtobuf(requestOf(goodSpan)))).toEqual([undefined]);
  });

  // A resource without one is of the application of the header, which then is in the identity of the request.
  it('collects every token that encoding asks for, also that a resource has none', () => {
    always(
      fc.property(anyRequest, (any) => {
        for (const [reader, bytes] of [
          [jsonTraces, Buffer.from(JSON.stringify(any))],
          [protobufTraces, encodeOtlpProtobuf(any)],
        ] as const) {
          const asked = new Set<string | undefined>();
          reader.encode(
            bytes,
            contextWith({
              resolve: (token) => {
                asked.add(token);
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
