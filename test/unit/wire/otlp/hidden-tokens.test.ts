import { describe, expect, it } from 'vitest';
import { TokenKeys } from '../../../../src/wire/otlp/token-keys.ts';
import type { EncodedItems } from '../../../../src/wire/otlp/types.ts';
import {
  encodeLogsOfJson,
  encodeLogsOfProtobuf,
  goodRecord,
  logsOf,
  rowsOfLogs,
} from '../../../support/otlp/log-source.ts';
import {
  encodeMetricsOfJson,
  encodeMetricsOfProtobuf,
  goodPoint,
  metricsOf,
  rowsOfMetrics,
} from '../../../support/otlp/metric-source.ts';
import type { OtlpValue } from '../../../support/otlp/protobuf.ts';
import { rowsOfTraces } from '../../../support/otlp/span-blocks.ts';
import {
  contextWith,
  encodeJson,
  encodeProtobuf,
  goodSpan,
  nanosAt,
  requestOf,
} from '../../../support/otlp/trace-source.ts';

const secret = 'a-secret-token';
const tokenKeys = new TokenKeys(['mon.data.token', 'x.api_key']);
const context = contextWith({ tokenKeys, wantsSample: () => true });

const point = (attributes: unknown) =>
  metricsOf({ name: 'm', gauge: { dataPoints: [{ ...goodPoint, attributes }] } });
const exemplar = (filteredAttributes: unknown) =>
  metricsOf({
    name: 'm',
    gauge: {
      dataPoints: [
        { ...goodPoint, exemplars: [{ timeUnixNano: nanosAt(-2000), asDouble: 1, filteredAttributes }] },
      ],
    },
  });

/** Each place of an item where attributes stand. */
const places: [string, (attributes: unknown) => EncodedItems][] = [
  ['a span', (attributes) => encodeJson(requestOf({ ...goodSpan, attributes }), context)],
  ['an event', (attributes) => encodeJson(requestOf({ ...goodSpan, events: [{ attributes }] }), context)],
  [
    'a link',
    (attributes) =>
      encodeJson(
        requestOf({
          ...goodSpan,
          links: [{ traceId: goodSpan.traceId, spanId: goodSpan.spanId, attributes }],
        }),
        context,
      ),
  ],
  ['a record', (attributes) => encodeLogsOfJson(logsOf({ ...goodRecord, attributes }), context)],
  ['a data point', (attributes) => encodeMetricsOfJson(point(attributes), context)],
  ['an exemplar', (attributes) => encodeMetricsOfJson(exemplar(attributes), context)],
];

const entry = (key: string, value: unknown) => ({ key, value });
const list = (...values: unknown[]) => ({ kvlistValue: { values } });

/** Attributes with a token that are not what OTLP has. */
const malformed: [string, unknown][] = [
  ['a bare value', [entry('bk.data.token', secret)]],
  ['a bare value under a name of the settings', [entry('x.api_key', secret)]],
  ['a value before its key', [{ value: secret, key: 'mon.data.token' }]],
  ['a value of another kind', [entry('bk.data.token', { stringValue: { a: secret } })]],
  ['a value under a name of another case', [{ Key: 'bk.data.token', value: secret }]],
  ['an object of attributes', { 'bk.data.token': secret }],
  ['an object of attributes with long names', { ['k'.repeat(200)]: 1, 'bk.data.token': secret }],
  ['an attribute as a list', [['bk.data.token', secret]]],
  ['an attribute as a text', [`bk.data.token=${secret}`]],
  ['a key that is a list', [{ key: ['bk.data.token', secret] }]],
  ['a bare value in a list', [entry('m', list(entry('bk.data.token', secret)))]],
  ['a list as an object', [entry('m', { stringValue: { 'bk.data.token': secret } })]],
];

/** All that goes anywhere of a request: its blocks, its answer and its samples. */
const shownOf = (encoded: EncodedItems): string =>
  [
    JSON.stringify([encoded.examples, encoded.samples, encoded.runs.map(({ deferred }) => deferred)]),
    ...encoded.runs.flatMap(({ parts }) => parts.map(({ block }) => Buffer.from(block).toString('latin1'))),
  ].join('\n');

// Many read answers, samples and dead letters; a write token allows to send in the name of an application.
describe.each(places)('the token in a malformed attribute of %s', (_, encode) => {
  it.each(malformed)('is not shown: %s', (__, attributes) => {
    const encoded = encode(attributes);
    expect(encoded.rejected).toEqual(new Map([['attribute_invalid', 1]]));
    expect(encoded.samples).toHaveLength(1);
    expect(shownOf(encoded)).not.toContain(secret);
  });

  it('costs no other sender the sight of the wrong value', () => {
    const [example] = encode([entry('data.token', 'seen')]).examples;
    expect(example).toMatchObject({ got: '"seen"', detail: 'expected an object like {"stringValue": …}' });
    expect(encode([entry('k', { stringValue: ['seen'] })]).examples).toMatchObject([
      { detail: 'stringValue cannot be ["seen"]' },
    ]);
  });
});

describe('the token in a field that is not what OTLP has', () => {
  const attributes = [entry('bk.data.token', { stringValue: secret })];

  it.each([
    ['events', { ...goodSpan, events: { attributes } }],
    ['a link', { ...goodSpan, links: [[{ attributes }]] }],
    ['a span', [attributes]],
    ['a name', { ...goodSpan, name: { attributes } }],
  ])('is not shown: %s', (_, span) => {
    const encoded = encodeJson(requestOf(span), context);
    expect(encoded.rejected.size).toBe(1);
    expect(shownOf(encoded)).not.toContain(secret);
  });

  it('is not shown: a body of a record', () => {
    for (const body of [{ 'bk.data.token': secret, stringValue: 1 }, attributes]) {
      const encoded = encodeLogsOfJson(logsOf({ ...goodRecord, body }), context);
      expect(shownOf(encoded)).not.toContain(secret);
    }
  });
});

const text = (stringValue: string): OtlpValue => ({ stringValue });
const nested: OtlpValue = {
  kvlistValue: {
    values: [
      { key: 'a', value: text('1') },
      { key: 'bk.data.token', value: text(secret) },
      {
        key: 'deep',
        value: {
          arrayValue: {
            values: [{ kvlistValue: { values: [{ key: 'x.api_key', value: text(secret) }] } }],
          },
        },
      },
      { key: 'data.token', value: text('kept') },
    ],
  },
};
const stored = '{"a":"1","deep":[{}],"data.token":"kept"}';

// The plain twins compare the rest; this is what operators were promised.
describe('a token within a list of keys and values', () => {
  const attributes = [{ key: 'm', value: nested }];

  it('is not stored: of a span, in either encoding', () => {
    for (const encoded of [
      encodeJson(requestOf({ ...goodSpan, attributes }), context),
      encodeProtobuf(requestOf({ ...goodSpan, attributes }), context),
    ]) {
      expect(rowsOfTraces(encoded)).toMatchObject([{ SpanAttributes: [['m', stored]] }]);
      expect(shownOf(encoded)).not.toContain(secret);
    }
  });

  it('is not stored: of the body of a record, in either encoding', () => {
    const request = logsOf({ ...goodRecord, body: nested, attributes });
    for (const encoded of [encodeLogsOfJson(request, context), encodeLogsOfProtobuf(request, context)]) {
      expect(rowsOfLogs(encoded)).toMatchObject([{ Body: stored, LogAttributes: [['m', stored]] }]);
      expect(shownOf(encoded)).not.toContain(secret);
    }
  });

  it('is not stored: of a data point, in either encoding', () => {
    const request = metricsOf({ name: 'm', gauge: { dataPoints: [{ ...goodPoint, attributes }] } });
    for (const encoded of [
      encodeMetricsOfJson(request, context),
      encodeMetricsOfProtobuf(request, context),
    ]) {
      expect(rowsOfMetrics(encoded)).toMatchObject([{ Attributes: [['m', stored]] }]);
      expect(shownOf(encoded)).not.toContain(secret);
    }
  });

  it('is not sent on with an item that has a wrong time', () => {
    const late = { ...goodSpan, startTimeUnixNano: '1', endTimeUnixNano: '2', attributes };
    const encoded = encodeProtobuf(requestOf(late), context);
    expect(encoded.deferred.size).toBe(1);
    expect(shownOf(encoded)).not.toContain(secret);
  });
});
