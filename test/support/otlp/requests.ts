import fc from 'fast-check';
import { anyText } from '../properties.ts';
import type {
  OtlpAttribute,
  OtlpEvent,
  OtlpLink,
  OtlpRequest,
  OtlpResourceSpans,
  OtlpSpan,
  OtlpValue,
} from './protobuf.ts';

export const arrivedAt = Date.UTC(2026, 5, 1, 12);

/** Mostly what senders write, sometimes any code points, sometimes longer than a fast path takes. */
export const text = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('', 'a', 'GET', '/api/v1/items', 'http.route', 'значение', '値', '😀'),
  },
  { weight: 2, arbitrary: anyText() },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: 40, max: 300 }), anyText(2))
      .map(([n, tail]) => 'x'.repeat(n) + tail),
  },
);

const int64 = fc.oneof(
  fc.integer().map(BigInt),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(
    0n,
    -1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    2n ** 53n,
    2n ** 53n + 1n,
    -(2n ** 53n) - 1n,
    2n ** 32n,
    2n ** 32n - 1n,
    10n ** 18n,
  ),
);

/** Minus zero is left out: JSON.stringify writes it as 0. */
const double = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
  fc.constantFrom<'NaN' | 'Infinity' | '-Infinity'>('NaN', 'Infinity', '-Infinity'),
);

const scalar: fc.Arbitrary<OtlpValue> = fc.oneof(
  text.map((stringValue) => ({ stringValue })),
  int64.map((value) => ({ intValue: String(value) })),
  fc.boolean().map((boolValue) => ({ boolValue })),
  double.map((doubleValue) => ({ doubleValue })),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => ({ bytesValue: Buffer.from(bytes).toString('base64') })),
  fc.constant({}),
);

const { nested } = fc.letrec<{ nested: OtlpValue }>((tie) => ({
  nested: fc.oneof(
    { weight: 3, arbitrary: scalar },
    {
      weight: 1,
      arbitrary: fc.array(tie('nested'), { maxLength: 3 }).map((values) => ({ arrayValue: { values } })),
    },
    {
      weight: 1,
      arbitrary: fc
        .array(fc.record({ key: text, value: tie('nested') }), { maxLength: 3 })
        .map((values) => ({ kvlistValue: { values } })),
    },
  ),
}));

export const value = fc.oneof({ weight: 4, arbitrary: scalar }, { weight: 1, arbitrary: nested });

export const attributes = (lengthMax: number): fc.Arbitrary<OtlpAttribute[]> =>
  fc.array(fc.record({ key: text, value }, { requiredKeys: ['key'] }), { maxLength: lengthMax });

export const hex = (bytes: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((id) => {
    // Zeros alone are no id.
    if (id.every((byte) => byte === 0)) id[0] = 1;
    return Buffer.from(id).toString('hex');
  });

const nanosOf = (ms: number, rest: number): string => String(BigInt(ms) * 1_000_000n + BigInt(rest));

const dayMs = 86_400_000;
export const time = fc
  .tuple(fc.integer({ min: -2 * dayMs, max: 3_000_000 }), fc.integer({ min: 0, max: 999_999 }))
  .map(([offset, rest]) => nanosOf(arrivedAt + offset, rest));

const times = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(time, fc.bigInt({ min: 0n, max: 500_000_000_000n }))
      .map(([start, duration]) => [start, String(BigInt(start) + duration)] as const),
  },
  { weight: 1, arbitrary: fc.tuple(time, time) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
    ),
  },
);

const event: fc.Arbitrary<OtlpEvent> = fc.record(
  {
    timeUnixNano: fc.oneof(
      { weight: 5, arbitrary: time },
      { weight: 1, arbitrary: fc.constantFrom('0', '17', '99') },
    ),
    name: text,
    attributes: attributes(3),
    droppedAttributesCount: fc.nat(),
  },
  { requiredKeys: [] },
);

const link: fc.Arbitrary<OtlpLink> = fc.record(
  {
    traceId: fc.oneof({ weight: 5, arbitrary: hex(16) }, { weight: 1, arbitrary: hex(8) }),
    spanId: fc.oneof({ weight: 5, arbitrary: hex(8) }, { weight: 1, arbitrary: fc.constant('0'.repeat(16)) }),
    traceState: text,
    attributes: attributes(3),
    flags: fc.nat(),
  },
  { requiredKeys: ['traceId', 'spanId'] },
);

const span: fc.Arbitrary<OtlpSpan> = fc
  .tuple(
    times,
    fc.record(
      {
        traceId: fc.oneof({ weight: 15, arbitrary: hex(16) }, { weight: 1, arbitrary: hex(15) }),
        spanId: fc.oneof({ weight: 15, arbitrary: hex(8) }, { weight: 1, arbitrary: fc.constant('') }),
        traceState: text,
        parentSpanId: fc.oneof(
          { weight: 8, arbitrary: fc.constant('') },
          { weight: 8, arbitrary: hex(8) },
          { weight: 1, arbitrary: hex(7) },
          { weight: 1, arbitrary: fc.constant('0'.repeat(16)) },
        ),
        flags: fc.nat(),
        name: text,
        kind: fc.integer({ min: 0, max: 6 }),
        attributes: attributes(8),
        droppedAttributesCount: fc.nat(),
        events: fc.array(event, { maxLength: 3 }),
        links: fc.array(link, { maxLength: 3 }),
        status: fc.record({ code: fc.integer({ min: 0, max: 3 }), message: text }, { requiredKeys: [] }),
      },
      { requiredKeys: ['traceId', 'spanId'] },
    ),
  )
  .map(([[startTimeUnixNano, endTimeUnixNano], rest]) => ({ ...rest, startTimeUnixNano, endTimeUnixNano }));

const resourceKey = fc.constantFrom('service.name', 'net.host.ip', 'net.host.name', 'mon.data.token', 'k');
const resourceValue = fc.oneof(
  fc
    .constantFrom('', '0.0.0.0', '127.0.0.1', '10.0.0.7', 'cart', 'token-a', 'token-b', 'token-off')
    .map((stringValue): OtlpValue => ({ stringValue })),
  value,
);

export const resource = fc.record(
  { attributes: fc.array(fc.record({ key: resourceKey, value: resourceValue }), { maxLength: 6 }) },
  { requiredKeys: [] },
);
export const scope = fc.record(
  { name: text, version: text, attributes: attributes(2) },
  { requiredKeys: [] },
);

const resourceSpans: fc.Arbitrary<OtlpResourceSpans> = fc.record(
  {
    resource,
    scopeSpans: fc.array(
      fc.record(
        {
          scope,
          spans: fc.array(span, { maxLength: 4 }),
          schemaUrl: text,
        },
        { requiredKeys: [] },
      ),
      { maxLength: 2 },
    ),
    schemaUrl: text,
  },
  { requiredKeys: [] },
);

/** Requests in canonical form, with everything OTLP allows and some spans that are to be rejected or deferred. */
export const anyRequest: fc.Arbitrary<OtlpRequest> = fc.record(
  { resourceSpans: fc.array(resourceSpans, { maxLength: 3 }) },
  { requiredKeys: [] },
);
