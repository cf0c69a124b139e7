import { describe, expect, it } from 'vitest';
import { widestLimits } from '../../../../src/ingress/otlp/limits.ts';
import { defaultItemLimits, type EncodedItems, type ItemLimits } from '../../../../src/wire/otlp/types.ts';
import {
  contextWith,
  encodeJson,
  encodeProtobuf,
  goodSpan,
  owner,
} from '../../../support/otlp/trace-source.ts';

const narrow: ItemLimits = {
  itemsMax: 10,
  attributesMax: 3,
  eventsMax: 1,
  linksMax: 1,
  valueBytesMax: 5,
  bucketsMax: 1,
  exemplarsMax: 2,
};
const wide: ItemLimits = {
  itemsMax: 20,
  attributesMax: 6,
  eventsMax: 2,
  linksMax: 2,
  valueBytesMax: 8,
  bucketsMax: 3,
  exemplarsMax: 4,
};

const attributes = (count: number, value = 'v') =>
  Array.from({ length: count }, (_, index) => ({ key: `k${index}`, value: { stringValue: value } }));
const events = (count: number) =>
  Array.from({ length: count }, () => ({ name: 'e', timeUnixNano: goodSpan.startTimeUnixNano }));
const links = (count: number) =>
  Array.from({ length: count }, () => ({ traceId: goodSpan.traceId, spanId: goodSpan.spanId }));

/** Resources of two applications in turn, the first and the last of the narrow one. */
const request = (change: object, resourceAttributes = attributes(0)) => ({
  resourceSpans: ['narrow', 'wide', 'narrow'].map((token) => ({
    resource: {
      attributes: [...resourceAttributes, { key: 'mon.data.token', value: { stringValue: token } }],
    },
    scopeSpans: [{ spans: [{ ...goodSpan, ...change }] }],
  })),
});

const context = contextWith({
  resolve: (token) =>
    token === 'narrow'
      ? { ...owner, appId: 1, limits: narrow }
      : { ...owner, appId: 2, limits: wide, policy: { ...owner.policy, aheadMsMax: undefined } },
  limits: widestLimits([narrow, wide]),
});

const droppedBy = ({ runs }: EncodedItems): Record<string, Record<string, number>> =>
  Object.fromEntries(
    runs.flatMap(({ dropped }) =>
      dropped.map(({ appId, reasons }) => [String(appId), Object.fromEntries(reasons)]),
    ),
  );

// One request may bring spans of several applications: the strict limits of one must not reject the others' spans, nor the loose
// ones of another let its own through.
describe.each([
  ['JSON', encodeJson],
  ['protobuf', encodeProtobuf],
] as const)('in %s the spans of each application', (_name, encode) => {
  it.each([
    ['attributes', { attributes: attributes(4) }, 'too_many_attributes'],
    ['events', { events: events(2) }, 'too_many_events'],
    ['links', { links: links(2) }, 'too_many_links'],
    [
      'attributes of an event',
      { events: [{ ...events(1)[0], attributes: attributes(4) }] },
      'too_many_attributes',
    ],
  ])('are held to its own limit of %s', (_what, change, reason) => {
    const encoded = encode(request(change), context);
    expect(droppedBy(encoded)).toEqual({ 1: { [reason]: 2 } });
    expect(encoded.accepted).toBe(1);
    expect(encoded.examples[0]?.detail).toMatch(/^more than the limit of [13]$/);
  });

  it('are held to its own limit of attributes of the resource', () => {
    const encoded = encode(request({}, attributes(4)), context);
    expect(droppedBy(encoded)).toEqual({ 1: { too_many_attributes: 2 } });
    expect(encode(request({}, attributes(2)), context).accepted).toBe(3);
    expect(droppedBy(encode(request({}, attributes(6)), context))).toEqual({
      1: { too_many_attributes: 2 },
      2: { too_many_attributes: 1 },
    });
  });

  it('have their values cut at its own limit', () => {
    const encoded = encode(request({ attributes: attributes(1, '123456') }), context);
    expect([encoded.accepted, encoded.cutValues]).toEqual([3, 2]);
    expect(encode(request({}, attributes(1, '123456')), context).cutValues).toBe(2);
  });

  it('are validated by its own windows', () => {
    const later = String(BigInt(goodSpan.startTimeUnixNano) + 7_200n * 1_000_000_000n);
    const encoded = encode(request({ startTimeUnixNano: later, endTimeUnixNano: later }), context);
    expect([encoded.accepted, Object.fromEntries(encoded.deferred)]).toEqual([
      1,
      { timestamp_too_far_ahead: 2 },
    ]);
    expect(encoded.runs[0]?.deferred.map(({ appId }) => appId)).toEqual([1]);
  });
});

it('a request may hold what the widest of its applications allows', () => {
  expect(widestLimits([narrow, wide])).toEqual(wide);
  expect(
    widestLimits([
      { ...wide, linksMax: 9 },
      { ...defaultItemLimits, itemsMax: 1 },
    ]),
  ).toEqual({
    ...defaultItemLimits,
    itemsMax: 20,
  });
});
