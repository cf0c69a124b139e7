import { describe, expect, it } from 'vitest';
import { jsonLogs } from '../../../../src/rules/logs/json-logs.ts';
import { protobufLogs } from '../../../../src/rules/logs/protobuf-logs.ts';
import { protobufTraces } from '../../../../src/rules/spans/protobuf-traces.ts';
import { mergeBlocks } from '../../../../src/wire/native/block-merger.ts';
import { readBlock } from '../../../../src/wire/native/block-reader.ts';
import { logColumns } from '../../../../src/wire/native/log-columns.ts';
import { MalformedBody } from '../../../../src/wire/otlp/types.ts';
import {
  encodeLogsOfJson,
  encodeLogsOfProtobuf,
  goodRecord,
  logsOf,
  onlyLogRow,
  rowsOfLogBlock,
  rowsOfLogs,
} from '../../../support/otlp/log-source.ts';
import { encodeLogsProtobuf, type OtlpLogRecord, type OtlpLogsRequest } from '../../../support/otlp/logs.ts';
import { encodeOtlpProtobuf, Message, type OtlpValue } from '../../../support/otlp/protobuf.ts';
import { arrivedAt, contextWith, goodSpan, nanosAt, requestOf } from '../../../support/otlp/trace-source.ts';
import { withoutRows } from '../../../support/otlp/without-rows.ts';

const ways = [
  ['JSON', (request: OtlpLogsRequest) => encodeLogsOfJson(request)],
  ['protobuf', (request: OtlpLogsRequest) => encodeLogsOfProtobuf(request)],
] as const;

const text = (stringValue: string): OtlpValue => ({ stringValue });

/** What the examples of OTLP's repository have, and the fields that came later. */
const example: OtlpLogsRequest = {
  resourceLogs: [
    {
      resource: { attributes: [{ key: 'service.name', value: text('my.service') }] },
      scopeLogs: [
        {
          scope: {
            name: 'my.library',
            version: '1.0.0',
            attributes: [
              { key: 'my.scope.attribute', value: text('some scope attribute') },
              { key: 'secret.data.token', value: text('hidden') },
            ],
          },
          logRecords: [
            {
              timeUnixNano: nanosAt(-1000, 7),
              observedTimeUnixNano: nanosAt(-900, 8),
              severityNumber: 10,
              severityText: 'Information',
              traceId: '5B8EFFF798038103D269B633813FC60C',
              spanId: 'EEE19B7EC3C1B174',
              body: text('Example log record'),
              flags: 0x301,
              eventName: 'device.app.lifecycle',
              attributes: [
                { key: 'string.attribute', value: text('some string') },
                { key: 'boolean.attribute', value: { boolValue: true } },
                { key: 'int.attribute', value: { intValue: '10' } },
                { key: 'double.attribute', value: { doubleValue: 637.704 } },
                { key: 'array.attribute', value: { arrayValue: { values: [text('many'), text('values')] } } },
                {
                  key: 'map.attribute',
                  value: { kvlistValue: { values: [{ key: 'some.map.key', value: text('some value') }] } },
                },
                { key: 'other.data.token', value: text('hidden') },
              ],
            },
          ],
          schemaUrl: 'https://example.com/schema/scope',
        },
      ],
      schemaUrl: 'https://example.com/schema/resource',
    },
  ],
};

describe.each(ways)('a log record in %s', (_, encode) => {
  const rowOf = (record: OtlpLogRecord) => onlyLogRow(encode(logsOf(record)));

  it('is a row with each of its fields', () => {
    const encoded = encode(example);
    expect(onlyLogRow(encoded)).toEqual({
      Timestamp: BigInt(nanosAt(-1000, 7)),
      TimestampTime: BigInt(Math.floor((arrivedAt - 1000) / 1000)),
      TraceId: '5b8efff798038103d269b633813fc60c',
      SpanId: 'eee19b7ec3c1b174',
      TraceFlags: 1n,
      SeverityText: 'Information',
      SeverityNumber: 10n,
      ServiceName: 'my.service',
      Body: 'Example log record',
      ResourceSchemaUrl: 'https://example.com/schema/resource',
      ResourceAttributes: [['service.name', 'my.service']],
      ScopeSchemaUrl: 'https://example.com/schema/scope',
      ScopeName: 'my.library',
      ScopeVersion: '1.0.0',
      ScopeAttributes: [['my.scope.attribute', 'some scope attribute']],
      LogAttributes: [
        ['string.attribute', 'some string'],
        ['boolean.attribute', 'true'],
        ['int.attribute', '10'],
        ['double.attribute', '637.704'],
        ['array.attribute', '["many","values"]'],
        ['map.attribute', '{"some.map.key":"some value"}'],
      ],
      EventName: 'device.app.lifecycle',
      ObservedTimestamp: BigInt(nanosAt(-900, 8)),
      uid: BigInt(contextWith().base.text),
      AppId: 12n,
      BizId: 2n,
      ArrivedAt: BigInt(arrivedAt),
    });
    expect([...encoded.leniencies]).toEqual([]);
  });

  it('makes a block of the columns of the table, in their order', () => {
    const block = encode(example).runs[0]?.parts[0]?.block ?? new Uint8Array();
    expect(readBlock(block).names).toEqual(logColumns.map(({ name }) => name));
  });

  it('keeps its values in merged blocks, and in a block of some of its rows', () => {
    const severities = [3, 255, 0, 24];
    const block = (from: number) =>
      encode(
        logsOf(
          ...severities.slice(from, from + 2).map((severityNumber) => ({ ...goodRecord, severityNumber })),
        ),
      ).runs[0]?.parts[0]?.block ?? new Uint8Array();
    const merged = mergeBlocks([block(0), block(2)], { rowsMax: 100, bytesMax: 100_000 });
    expect(merged).toHaveLength(1);
    const rows = rowsOfLogBlock(merged[0] ?? new Uint8Array());
    expect(rows.map((row) => row['SeverityNumber'])).toEqual(severities.map(BigInt));
    expect(rows).toEqual([...rowsOfLogBlock(block(0)), ...rowsOfLogBlock(block(2))]);
    const rest = withoutRows(merged[0] ?? new Uint8Array(), new Set([0, 2])) ?? new Uint8Array();
    expect(rowsOfLogBlock(rest)).toEqual([rows[1], rows[3]]);
  });

  it('may have no field but a time', () => {
    expect(rowOf({ observedTimeUnixNano: nanosAt(-5) })).toMatchObject({
      Timestamp: BigInt(nanosAt(-5)),
      ObservedTimestamp: BigInt(nanosAt(-5)),
      TraceId: '',
      SpanId: '',
      TraceFlags: 0n,
      SeverityNumber: 0n,
      Body: '',
      LogAttributes: [],
      EventName: '',
    });
  });

  it.each<readonly [string, OtlpValue, string]>([
    ['a text', text('a\u0000 "б"'), 'a\u0000 "б"'],
    ['an empty text', text(''), ''],
    ['no kind', {}, ''],
    ['a boolean', { boolValue: false }, 'false'],
    ['an integer beyond a double', { intValue: '-9223372036854775808' }, '-9223372036854775808'],
    ['a double', { doubleValue: 0.1 }, '0.1'],
    ['no number', { doubleValue: 'NaN' }, 'NaN'],
    ['bytes', { bytesValue: 'AAH/' }, 'AAH/'],
    ['a list', { arrayValue: { values: [text('a'), { intValue: '1' }, {}] } }, '["a",1,null]'],
    ['an empty list', { arrayValue: {} }, '[]'],
    [
      'a map',
      { kvlistValue: { values: [{ key: 'k', value: { kvlistValue: { values: [{ key: 'n' }] } } }] } },
      '{"k":{"n":null}}',
    ],
  ])('has %s as its body', (__, body, shown) => {
    expect(rowOf({ ...goodRecord, body })['Body']).toBe(shown);
  });

  it.each([
    ['of another length', 'abcd', 'eee19b7e', 2],
    ['of zeros', '0'.repeat(32), '0'.repeat(16), undefined],
    ['that are empty', '', '', undefined],
  ])('belongs to no trace with ids %s', (__, traceId, spanId, forgiven) => {
    const encoded = encode(logsOf({ ...goodRecord, traceId, spanId }));
    expect(onlyLogRow(encoded)).toMatchObject({ TraceId: '', SpanId: '' });
    expect(encoded.leniencies.get('record_id_invalid')).toBe(forgiven);
  });

  it('keeps each severity that a row can hold, and is rejected with another', () => {
    const severities = [0, 1, 24, 25, 255, 256, -1];
    const encoded = encode(
      logsOf(...severities.map((severityNumber) => ({ ...goodRecord, severityNumber }))),
    );
    expect(rowsOfLogs(encoded).map((row) => row['SeverityNumber'])).toEqual([0n, 1n, 24n, 25n, 255n]);
    expect([...encoded.rejected]).toEqual([['record_field_invalid', 2]]);
    expect(encoded.examples.map(({ index, field }) => [index, field])).toEqual([
      [5, 'severityNumber'],
      [6, 'severityNumber'],
    ]);
  });

  it('keeps what belongs to its scope and its resource apart from others', () => {
    const scopeLogs = (name: string) => ({
      schemaUrl: `url ${name}`,
      scope: {
        name,
        attributes: [
          { key: 'n', value: { intValue: '7' } },
          { key: name, value: text(name) },
        ],
      },
      logRecords: [
        { ...goodRecord, body: { intValue: '42' } },
        { ...goodRecord, body: text(name) },
      ],
    });
    const entry = (name: string) => ({
      resource: { attributes: [{ key: 'service.name', value: text(name) }] },
      scopeLogs: [scopeLogs(`${name}1`), scopeLogs(`${name}2`)],
      schemaUrl: name,
    });
    const rows = rowsOfLogs(encode({ resourceLogs: [entry('a'), entry('b')] }));
    expect(
      rows.map((row) => [
        row['ResourceSchemaUrl'],
        row['ScopeSchemaUrl'],
        row['ScopeAttributes'],
        row['Body'],
      ]),
    ).toEqual(
      ['a1', 'a2', 'b1', 'b2'].flatMap((name) =>
        ['42', name].map((body) => [
          name[0],
          `url ${name}`,
          [
            ['n', '7'],
            [name, name],
          ],
          body,
        ]),
      ),
    );
  });
});

describe('the JSON of log records', () => {
  it('may have other forms, each counted as a leniency', () => {
    const encoded = encodeLogsOfJson({
      resource_logs: [
        {
          scope_logs: [
            {
              log_records: [
                {
                  time_unix_nano: Number(nanosAt(-1000)),
                  observed_time_unix_nano: nanosAt(-900),
                  severity_number: 'SEVERITY_NUMBER_WARN3',
                  severity_text: null,
                  body: null,
                  flags: '1',
                  event_name: 'e',
                  ignored: { any: [1] },
                },
                { timeUnixNano: nanosAt(-1), severityNumber: 'nonsense' },
                { timeUnixNano: nanosAt(-1), severityNumber: '17' },
              ],
            },
          ],
        },
      ],
    });
    expect(rowsOfLogs(encoded).map((row) => row['SeverityNumber'])).toEqual([15n, 0n, 17n]);
    expect(rowsOfLogs(encoded)[0]).toMatchObject({ TraceFlags: 1n, EventName: 'e', Body: '' });
    expect(Object.fromEntries(encoded.leniencies)).toEqual({
      snake_case: 8,
      number_64: 1,
      enum_name: 3,
      enum_unknown: 1,
    });
  });

  it('may have names with escapes, and twice: then the last counts', () => {
    const head = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"${nanosAt(-1)}",`;
    const tail = '}]}],"\\u0073chemaUrl":"late"}]}';
    const encoded = encodeLogsOfJson(
      `${head}"severity_number":9,"severityNumber":13,"\\u0062ody":{"stringValue":"x\\u00e9"}${tail}`,
    );
    expect(onlyLogRow(encoded)).toMatchObject({ SeverityNumber: 13n, Body: 'xé', ResourceSchemaUrl: 'late' });
    expect(encoded.leniencies.get('duplicate_key')).toBe(1);
  });

  it.each([
    ['timeUnixNano', true, undefined],
    ['severityNumber', 1.5, 'record_field_invalid'],
    ['severityNumber', {}, 'record_field_invalid'],
    ['severityText', 5, 'record_field_invalid'],
    ['body', 'text', 'record_field_invalid'],
    ['body', { intValue: 'x' }, 'record_field_invalid'],
    ['flags', -1, 'record_field_invalid'],
    ['flags', 2 ** 32, 'record_field_invalid'],
    ['flags', [], 'record_field_invalid'],
    ['eventName', [], 'record_field_invalid'],
    ['attributes', {}, 'attribute_invalid'],
  ] as const)('with %s %j is rejected alone', (field, value, reason) => {
    const { accepted, rejected, deferred, examples } = encodeLogsOfJson(
      logsOf({ ...goodRecord, [field]: value }, goodRecord),
    );
    expect([accepted, rejected.get(reason ?? 'record_field_invalid'), deferred.size]).toEqual(
      reason === undefined ? [1, undefined, 1] : [1, 1, 0],
    );
    expect(examples[0]).toMatchObject({ index: 0, field });
  });

  it('names a record that is no object', () => {
    const { rejected, examples } = encodeLogsOfJson(logsOf(5, null, goodRecord));
    expect([...rejected]).toEqual([['record_not_object', 2]]);
    expect(examples[0]).toMatchObject({ got: '5' });
  });

  it('of another signal is known by the names it has', () => {
    const spans = encodeLogsOfJson({ resourceSpans: [{ scopeSpans: [] }] });
    expect([spans.items, spans.unknownTopLevelKeys]).toEqual([0, ['resourceSpans']]);
    const inside = encodeLogsOfJson({ resourceLogs: [{ scopeSpans: [], schemaUrl: '' }] });
    expect(inside.misplacedKeys).toEqual(['resourceLogs[].scopeSpans']);
  });

  it.each([
    ['{"resourceLogs":{}}'],
    ['{"resourceLogs":[{"resource":5}]}'],
    ['{"resourceLogs":[{"schemaUrl":5}]}'],
    ['{"resourceLogs":[{"scopeLogs":[{"logRecords":[}],"schemaUrl":"x"}]}'],
    ['{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body" 5}]}],"schemaUrl":"x"}]}'],
    ['{"resourceLogs":[{"scopeLogs":[] "x","schemaUrl":"x"}]}'],
    ['{"resourceLogs":[{"scopeLogs":[{"scope":{"name":5}}]}]}'],
    ['{"resourceLogs":[{"scopeLogs":[{"logRecords":[]}],"schemaUrl":"x"}]'],
    ['[]'],
    [''],
  ])('is malformed as %s', (body) => {
    expect(() => encodeLogsOfJson(body)).toThrow(MalformedBody);
  });

  it('names its tokens, also with escapes', () => {
    const body = `{"resourceLogs":[{"resource":{"attributes":[{"key":"mon.data.token","value":{"stringValue":"a"}}]}},
      {"resource":{"attributes":[{"key":"mon\\u002edata.token","value":{"stringValue":"b"}}]}}]}`;
    expect(jsonLogs.collectTokens(Buffer.from(body))).toEqual(['a', 'b']);
  });
});

describe('the protobuf of log records', () => {
  const bodyOf = (record: Message): Buffer =>
    new Message()
      .messages(1, [record], (each) =>
        new Message().messages(2, [each], () => new Message().messages(2, [each], () => each)),
      )
      .end();

  it('merges the parts of a body, and takes the last of each other field', () => {
    const list = (item: string) =>
      new Message().bytes(5, new Message().bytes(1, new Message().text(1, item).end()).end()).end();
    const record = new Message()
      .fixed64(1, nanosAt(-1))
      .bytes(5, list('a'))
      .text(12, 'first')
      .bytes(6, new Message().text(1, 'k').bytes(2, new Message().varint(3, 7).end()).end())
      .bytes(5, list('b'))
      .text(12, 'last');
    expect(onlyLogRow(protobufLogs.encode(bodyOf(record), contextWith()))).toMatchObject({
      Body: '["a","b"]',
      EventName: 'last',
      LogAttributes: [['k', '7']],
    });
  });

  it('is malformed where it ends within a field', () => {
    const whole = bodyOf(new Message().fixed64(1, nanosAt(-1)).fixed32(8, 1));
    expect(protobufLogs.encode(whole, contextWith()).accepted).toBe(1);
    for (let end = 1; end < whole.length; end++)
      expect(() => protobufLogs.encode(whole.subarray(0, end), contextWith())).toThrow(MalformedBody);
  });

  it('says where spans belong, as that of spans says of log records', () => {
    const spans = encodeOtlpProtobuf(requestOf(goodSpan, goodSpan));
    expect(() => protobufLogs.encode(spans, contextWith())).toThrow(/look like spans.*traces/);
    const records = encodeLogsProtobuf(logsOf(goodRecord));
    expect(() => protobufTraces.encode(records, contextWith())).toThrow(/look like log records.*logs/);
    const outside = encodeLogsProtobuf(logsOf({ timeUnixNano: nanosAt(-1) }));
    const [example] = protobufTraces.encode(outside, contextWith()).examples;
    expect(example).toMatchObject({
      reason: 'trace_id_invalid',
      detail: expect.stringMatching(/missing.*look like log records/),
    });
  });

  it('names its tokens', () => {
    const attribute = new Message()
      .text(1, 'mon.data.token')
      .bytes(2, new Message().text(1, 'a').end())
      .end();
    const body = new Message()
      .bytes(1, new Message().bytes(1, new Message().bytes(1, attribute).end()).end())
      .end();
    expect(protobufLogs.collectTokens(body)).toEqual(['a']);
  });
});
