import type { SpanReason, TimeReason } from '../../src/model/reasons.ts';
import type { OtlpAttribute, OtlpRequest, OtlpSpan } from './otlp-protobuf.ts';

export const second = 1_000_000_000n;

const text = (key: string, stringValue: string): OtlpAttribute => ({ key, value: { stringValue } });

/** A span as short as can be; `number` is in its ids and its name. */
export const spanAt = (start: bigint, number: number, change: Partial<OtlpSpan> = {}): OtlpSpan => ({
  traceId: (number + 1).toString(16).padStart(32, 'a'),
  spanId: (number + 1).toString(16).padStart(16, 'b'),
  name: `span ${number}`,
  kind: 1,
  startTimeUnixNano: String(start),
  endTimeUnixNano: String(start + 5n),
  ...change,
});

/** One resource with these spans; whatever they are, so that broken ones can be sent. */
export const requestOf = <T>(spans: readonly T[], attributes: readonly OtlpAttribute[] = []) => ({
  resourceSpans: [{ resource: { attributes: [...attributes] }, scopeSpans: [{ spans: [...spans] }] }],
});

/** The example of specification 2.6 with everything that OTLP allows, starting at `start`. */
export const wholeRequest = (start: bigint): OtlpRequest => ({
  resourceSpans: [
    {
      resource: {
        attributes: [
          text('service.name', 'checkout'),
          text('net.host.ip', '10.20.30.40'),
          text('net.host.name', 'node-7'),
          text('telemetry.sdk.language', 'python'),
          text('telemetry.sdk.name', 'opentelemetry'),
          text('telemetry.sdk.version', '1.45.2'),
        ],
        droppedAttributesCount: 3,
      },
      schemaUrl: 'https://opentelemetry.io/schemas/1.29.0',
      scopeSpans: [
        {
          scope: { name: 'io.example.checkout', version: '2.0.1', attributes: [text('of', 'scope')] },
          schemaUrl: 'https://opentelemetry.io/schemas/1.30.0',
          spans: [
            {
              traceId: '5b8efff798038103d269b633813fc60c',
              spanId: 'eee19b7ec3c1b174',
              parentSpanId: 'eee19b7ec3c1b173',
              traceState: 'vendor=a:1,other=b',
              flags: 0x301,
              name: 'POST /pay "é値😀"\n',
              kind: 3,
              startTimeUnixNano: String(start),
              endTimeUnixNano: String(start + 1_234_567_891n),
              attributes: [
                text('string', 'a "b" \\ é値😀'),
                text('empty string', ''),
                { key: 'bool', value: { boolValue: true } },
                { key: 'false', value: { boolValue: false } },
                { key: 'int', value: { intValue: '-9223372036854775808' } },
                { key: 'zero', value: { intValue: '0' } },
                { key: 'double', value: { doubleValue: 0.1 } },
                { key: 'whole double', value: { doubleValue: 2 } },
                { key: 'nan', value: { doubleValue: 'NaN' } },
                { key: 'infinity', value: { doubleValue: '-Infinity' } },
                { key: 'bytes', value: { bytesValue: 'AAEC/w==' } },
                {
                  key: 'array',
                  value: {
                    arrayValue: {
                      values: [
                        { stringValue: 'x' },
                        { intValue: '9007199254740993' },
                        { boolValue: true },
                        { arrayValue: { values: [{ doubleValue: 1.5 }] } },
                        {},
                      ],
                    },
                  },
                },
                {
                  key: 'kvlist',
                  value: {
                    kvlistValue: {
                      values: [
                        text('k', 'v'),
                        { key: 'n', value: { intValue: '1' } },
                        { key: 'b', value: { bytesValue: 'AAEC/w==' } },
                      ],
                    },
                  },
                },
                { key: 'no value', value: {} },
              ],
              droppedAttributesCount: 1,
              events: [
                {
                  timeUnixNano: String(start + 1n),
                  name: 'exception',
                  attributes: [text('exception.type', 'Error'), { key: 'n', value: { intValue: '7' } }],
                  droppedAttributesCount: 2,
                },
                { timeUnixNano: String(start + 999_999_999n), name: 'done' },
              ],
              droppedEventsCount: 4,
              links: [
                {
                  traceId: 'ffffffffffffffffffffffffffffffff',
                  spanId: '00000000000000ff',
                  traceState: 'l=1',
                  attributes: [text('why', 'batch')],
                  flags: 1,
                },
                { traceId: '0000000000000000000000000000000f', spanId: 'ffffffffffffffff' },
              ],
              droppedLinksCount: 5,
              status: { code: 1, message: 'fine' },
            },
          ],
        },
      ],
    },
  ],
});

/** The row of `wholeRequest`, but for the ids of its application. */
export const wholeRow = (start: bigint): Record<string, unknown> => ({
  Timestamp: String(start),
  TraceId: '5b8efff798038103d269b633813fc60c',
  SpanId: 'eee19b7ec3c1b174',
  ParentSpanId: 'eee19b7ec3c1b173',
  TraceState: 'vendor=a:1,other=b',
  SpanName: 'POST /pay "é値😀"\n',
  SpanKind: 'Client',
  ServiceName: 'checkout',
  ResourceAttributes: {
    'service.name': 'checkout',
    'net.host.ip': '10.20.30.40',
    'net.host.name': 'node-7',
    'telemetry.sdk.language': 'python',
    'telemetry.sdk.name': 'opentelemetry',
    'telemetry.sdk.version': '1.45.2',
  },
  ScopeName: 'io.example.checkout',
  ScopeVersion: '2.0.1',
  SpanAttributes: {
    string: 'a "b" \\ é値😀',
    'empty string': '',
    bool: 'true',
    false: 'false',
    int: '-9223372036854775808',
    zero: '0',
    double: '0.1',
    'whole double': '2',
    nan: 'NaN',
    infinity: '-Inf',
    bytes: 'AAEC/w==',
    array: '["x",9007199254740993,true,[1.5],null]',
    kvlist: '{"k":"v","n":1,"b":"AAEC/w=="}',
    'no value': '',
  },
  Duration: '1234567891',
  StatusCode: 'Ok',
  StatusMessage: 'fine',
  'Events.Timestamp': [String(start + 1n), String(start + 999_999_999n)],
  'Events.Name': ['exception', 'done'],
  'Events.Attributes': [{ 'exception.type': 'Error', n: '7' }, {}],
  'Links.TraceId': ['ffffffffffffffffffffffffffffffff', '0000000000000000000000000000000f'],
  'Links.SpanId': ['00000000000000ff', 'ffffffffffffffff'],
  'Links.TraceState': ['l=1', ''],
  'Links.Attributes': [{ why: 'batch' }, {}],
});

/** Start and end as sent; undefined = left out. */
export type TimeCase = {
  readonly what: string;
  readonly start: unknown;
  readonly end: unknown;
  /** Where the fault lies. */
  readonly field: 'startTimeUnixNano' | 'endTimeUnixNano';
};

/** `timestamp_unit_nanos` is of points alone. */
export type SpanTimeReason = Exclude<TimeReason, 'timestamp_unit_nanos'>;

/** Every reason of design section 6 for spans; `now` in nanoseconds, spans of more than `ageSecondsMax` are too old. */
export const timeCases = (now: bigint, ageSecondsMax: number): Record<SpanTimeReason, TimeCase[]> => {
  const start = String(now);
  const startCase = (what: string, value: unknown): TimeCase => ({
    what,
    start: value,
    end: start,
    field: 'startTimeUnixNano',
  });
  const endCase = (what: string, value: unknown): TimeCase => ({
    what,
    start,
    end: value,
    field: 'endTimeUnixNano',
  });
  return {
    timestamp_not_numeric: [
      startCase('a literal N', 'N'),
      startCase('seconds and a literal N', `${now / second}N`),
      startCase('a fraction', `${now / second}.5`),
      startCase('a sign', `+${start}`),
      startCase('a minus', `-${start}`),
      startCase('an empty string', ''),
      startCase('white space', ` ${start}`),
      startCase('hexadecimal', `0x${now.toString(16)}`),
      startCase('a date', '2026-01-01T00:00:00Z'),
      startCase('a fractional number', 1.5),
      startCase('a negative number', -1),
      startCase('a boolean', true),
      startCase('an object', {}),
      startCase('an array', [start]),
      endCase('an end of N', 'N'),
    ],
    timestamp_zero_or_missing: [
      startCase('no start', undefined),
      startCase('a null', null),
      startCase('a zero', '0'),
      startCase('a zero as number', 0),
      endCase('no end', undefined),
      endCase('an end of zero', '0'),
    ],
    timestamp_unit_seconds: [
      startCase('seconds', String(now / second)),
      startCase('one', '1'),
      startCase('the most', '999999999999'),
      endCase('an end in seconds', String(now / second)),
      // The start is judged before the end.
      { ...startCase('seconds beside an end of N', String(now / second)), end: 'N' },
    ],
    timestamp_unit_millis: [
      startCase('milliseconds', String(now / 1_000_000n)),
      startCase('the least', '1000000000000'),
      startCase('the most', '999999999999999'),
    ],
    timestamp_unit_micros: [
      startCase('microseconds', String(now / 1000n)),
      startCase('the least', '1000000000000000'),
      startCase('the most', '999999999999999999'),
    ],
    timestamp_out_of_range: [
      startCase('the year 2107', String(BigInt(Date.UTC(2107, 0, 1)) * 1_000_000n)),
      startCase('the first second that does not fit', '4294967296000000000'),
      startCase('the largest of 64 bits', '18446744073709551615'),
      endCase('an end in the year 2107', String(BigInt(Date.UTC(2107, 0, 1)) * 1_000_000n)),
    ],
    timestamp_too_far_ahead: [
      startCase('more than an hour ahead', String(now + 7200n * second)),
      startCase('the last second that fits', '4294967295999999999'),
      endCase('an end more than an hour ahead', String(now + 7200n * second)),
    ],
    timestamp_too_old: [
      startCase('older than the window', String(now - BigInt(ageSecondsMax + 1) * second)),
      startCase('the least that is nanoseconds', '1000000000000000000'),
    ],
    end_before_start: [
      endCase('a nanosecond before', String(now - 1n)),
      endCase('a second before', String(now - second)),
    ],
  };
};

/** What is wrong with a span; `isJsonOnly` where protobuf cannot say it. */
export type RejectedCase = {
  readonly what: string;
  readonly span: unknown;
  readonly isJsonOnly: boolean;
};

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Reasons of spans but those of the token, which are of their resource. */
export const rejectedCases = (
  now: bigint,
): Record<Exclude<SpanReason, 'token_invalid' | 'application_disabled'>, RejectedCase[]> => {
  const valid = spanAt(now, 99);
  const both = (what: string, change: Partial<OtlpSpan>): RejectedCase => ({
    what,
    span: { ...valid, ...change },
    isJsonOnly: false,
  });
  const json = (what: string, change: Record<string, unknown>): RejectedCase => ({
    what,
    span: { ...valid, ...change },
    isJsonOnly: true,
  });
  const attributes = many(129, (index) => text(`k${index}`, 'v'));
  const event = { timeUnixNano: String(now), name: 'e' };
  const link = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
  return {
    span_not_object: [
      { what: 'a number', span: 5, isJsonOnly: true },
      { what: 'a text', span: 'span', isJsonOnly: true },
      { what: 'null', span: null, isJsonOnly: true },
      { what: 'an array', span: [], isJsonOnly: true },
    ],
    trace_id_invalid: [
      both('15 bytes', { traceId: 'a'.repeat(30) }),
      both('zeros', { traceId: '0'.repeat(32) }),
      both('nothing', { traceId: '' }),
      json('base64', { traceId: Buffer.alloc(16, 7).toString('base64') }),
      json('31 characters', { traceId: 'a'.repeat(31) }),
      json('no hexadecimal', { traceId: `${'a'.repeat(31)}g` }),
      json('a number', { traceId: 5 }),
      json('none', { traceId: undefined }),
    ],
    span_id_invalid: [
      both('9 bytes', { spanId: 'b'.repeat(18) }),
      both('zeros', { spanId: '0'.repeat(16) }),
      json('base64', { spanId: Buffer.alloc(8, 7).toString('base64') }),
      json('none', { spanId: undefined }),
    ],
    parent_span_id_invalid: [
      both('7 bytes', { parentSpanId: 'c'.repeat(14) }),
      json('no hexadecimal', { parentSpanId: 'no parent at all' }),
    ],
    span_field_invalid: [
      json('a number as name', { name: 5 }),
      json('a text as status', { status: 'ok' }),
      json('an object as kind', { kind: {} }),
      json('an object as events', { events: {} }),
      json('a text as link', { links: ['x'] }),
    ],
    attribute_invalid: [
      json('an object as attributes', { attributes: { a: 'b' } }),
      json('a text as attribute', { attributes: ['a'] }),
      json('a text as value', { attributes: [{ key: 'a', value: 'b' }] }),
      json('a number as key', { attributes: [{ key: 5, value: { stringValue: 'b' } }] }),
      json('a text as integer', { attributes: [{ key: 'a', value: { intValue: 'x' } }] }),
    ],
    too_many_attributes: [
      both('of the span', { attributes }),
      both('of an event', { events: [{ ...event, attributes }] }),
      both('of a link', { links: [{ ...link, attributes }] }),
    ],
    too_many_events: [both('129', { events: many(129, () => event) })],
    too_many_links: [both('129', { links: many(129, () => link) })],
    item_too_large: [both('more than a megabyte', { attributes: [text('a', 'x'.repeat(2 ** 20))] })],
  };
};
