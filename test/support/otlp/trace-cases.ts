import type { OtlpAttribute, OtlpRequest, OtlpSpan } from './protobuf.ts';

export const second = 1_000_000_000n;

/** An attribute of text. */
export const attribute = (key: string, stringValue: string): OtlpAttribute => ({
  key,
  value: { stringValue },
});

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

/** One resource with these spans, of any form, so that malformed ones can be sent. */
export const requestOf = <T>(spans: readonly T[], attributes: readonly OtlpAttribute[] = []) => ({
  resourceSpans: [{ resource: { attributes: [...attributes] }, scopeSpans: [{ spans: [...spans] }] }],
});

/** The example of specification 2.6 with everything that OTLP allows, starting at `start`. */
export const wholeRequest = (start: bigint): OtlpRequest => ({
  resourceSpans: [
    {
      resource: {
        attributes: [
          attribute('service.name', 'checkout'),
          attribute('net.host.ip', '10.20.30.40'),
          attribute('net.host.name', 'node-7'),
          attribute('telemetry.sdk.language', 'python'),
          attribute('telemetry.sdk.name', 'opentelemetry'),
          attribute('telemetry.sdk.version', '1.45.2'),
        ],
        droppedAttributesCount: 3,
      },
      schemaUrl: 'https://opentelemetry.io/schemas/1.29.0',
      scopeSpans: [
        {
          scope: { name: 'io.example.checkout', version: '2.0.1', attributes: [attribute('of', 'scope')] },
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
                attribute('string', 'a "b" \\ é値😀'),
                attribute('empty string', ''),
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
                        attribute('k', 'v'),
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
                  attributes: [attribute('exception.type', 'Error'), { key: 'n', value: { intValue: '7' } }],
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
                  attributes: [attribute('why', 'batch')],
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
    infinity: '-Infinity',
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
