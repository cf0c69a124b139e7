import { describe, expect, it } from 'vitest';
import { itemRunBudget } from '../../../../src/rules/items/cutting.ts';
import { TooManyItems } from '../../../../src/wire/otlp/types.ts';
import {
  encodeLogsOfJson,
  encodeLogsOfProtobuf,
  goodRecord,
  logsOf,
  onlyLogRow,
  rowsOfLogs,
} from '../../../support/otlp/log-source.ts';
import type { OtlpLogsRequest } from '../../../support/otlp/logs.ts';
import { arrivedAt, contextWith, nanosAt, owner } from '../../../support/otlp/trace-source.ts';

const ways = [
  ['JSON', (request: OtlpLogsRequest, context = contextWith()) => encodeLogsOfJson(request, context)],
  ['protobuf', (request: OtlpLogsRequest, context = contextWith()) => encodeLogsOfProtobuf(request, context)],
] as const;

const hour = 3_600_000;

describe.each(ways)('the time of a log record in %s', (_, encode) => {
  const windows = contextWith({
    resolve: () => ({ ...owner, policy: { aheadMsMax: hour, ageMsMax: hour } }),
  });

  it('is the observed time where it has none of its own', () => {
    const observedTimeUnixNano = nanosAt(-7, 3);
    const encoded = encode(
      logsOf({ observedTimeUnixNano }, { timeUnixNano: '0', observedTimeUnixNano }, goodRecord),
    );
    expect(rowsOfLogs(encoded).map((row) => row['Timestamp'])).toEqual(
      [observedTimeUnixNano, observedTimeUnixNano, goodRecord.timeUnixNano].map(BigInt),
    );
    const [part] = encoded.runs[0]?.parts ?? [];
    expect(part).toMatchObject({ timeMin: goodRecord.timeUnixNano, timeMax: observedTimeUnixNano });
    expect(part?.day).toBe(Math.floor(arrivedAt / 86_400_000));
  });

  it.each([
    [{}, 'timestamp_zero_or_missing', 'timeUnixNano'],
    [{ timeUnixNano: '0', observedTimeUnixNano: '0' }, 'timestamp_zero_or_missing', 'timeUnixNano'],
    [{ timeUnixNano: '1700000000' }, 'timestamp_unit_seconds', 'timeUnixNano'],
    [{ observedTimeUnixNano: '1700000000000' }, 'timestamp_unit_millis', 'observedTimeUnixNano'],
    [{ timeUnixNano: nanosAt(2 * hour) }, 'timestamp_too_far_ahead', 'timeUnixNano'],
    [{ observedTimeUnixNano: nanosAt(-2 * hour) }, 'timestamp_too_old', 'observedTimeUnixNano'],
    [{ timeUnixNano: '18446744073709551615' }, 'timestamp_out_of_range', 'timeUnixNano'],
  ] as const)('%j is deferred as %s', (record, reason, field) => {
    const { accepted, deferred, runs, examples } = encode(
      logsOf({ ...record, body: { intValue: '5' } }),
      windows,
    );
    expect([accepted, ...deferred]).toEqual([0, [reason, 1]]);
    expect(examples[0]).toMatchObject({ reason, field });
    const text = JSON.parse(runs[0]?.deferred[0]?.texts[0] ?? '{}');
    expect(Object.keys(text)).toEqual(['resource', 'scope', 'logRecord']);
    const sent = Object.entries(record).filter(([, time]) => time !== '0');
    expect(text.logRecord).toMatchObject({ ...Object.fromEntries(sent), body: { stringValue: '5' } });
  });

  it('has no windows for an observed time beside it, which is 0 where the database cannot hold it', () => {
    const observed = ['0', '5', nanosAt(1000 * hour), '9223372036854775808', '18446744073709551615'];
    const records = observed.map((observedTimeUnixNano) => ({ ...goodRecord, observedTimeUnixNano }));
    expect(rowsOfLogs(encode(logsOf(...records), windows)).map((row) => row['ObservedTimestamp'])).toEqual(
      ['0', '5', nanosAt(1000 * hour), '0', '0'].map(BigInt),
    );
  });
});

it('an observed time that is no number is 0 beside a time', () => {
  const encoded = encodeLogsOfJson(logsOf({ ...goodRecord, observedTimeUnixNano: 'soon' }));
  expect(onlyLogRow(encoded)['ObservedTimestamp']).toBe(0n);
});

const attributesOf = (count: number, key = 'k') =>
  Array.from({ length: count }, (_, index) => ({ key: `${key}${index}`, value: { stringValue: 'v' } }));

describe.each(ways)('the limits of log records in %s', (_, encode) => {
  it('are the number of records', () => {
    const context = contextWith({ limits: { itemsMax: 2 } });
    expect(encode(logsOf(goodRecord, goodRecord), context).accepted).toBe(2);
    const message =
      'the request has more log records than the limit of 2: send fewer log records per request';
    expect(() => encode(logsOf(goodRecord, goodRecord, goodRecord), context)).toThrow(
      new TooManyItems(3, 2, message),
    );
  });

  it('are the attributes of a record and of a scope', () => {
    const context = contextWith({ limits: { attributesMax: 2 } });
    const scopeLogs = (scope: number, record: number) => ({
      scope: { name: 's', attributes: attributesOf(scope) },
      logRecords: [{ ...goodRecord, attributes: attributesOf(record) }, goodRecord],
    });
    const { accepted, rejected, examples } = encode(
      { resourceLogs: [{ scopeLogs: [scopeLogs(2, 3), scopeLogs(3, 2), scopeLogs(0, 0)] }] },
      context,
    );
    expect([accepted, ...rejected]).toEqual([3, ['too_many_attributes', 3]]);
    expect(examples.map(({ index, field }) => [index, field])).toEqual([
      [0, 'attributes'],
      [2, 'scope.attributes'],
      [3, 'scope.attributes'],
    ]);
  });

  it('are the bytes of a value: a longer body is cut and counted', () => {
    const context = contextWith({ limits: { valueBytesMax: 12 } });
    const encoded = encode(
      logsOf({
        ...goodRecord,
        severityText: 'a long severity',
        body: { stringValue: 'abcdefghijké' },
        eventName: 'e',
      }),
      context,
    );
    expect(onlyLogRow(encoded)).toMatchObject({ Body: 'abcdefghijk', SeverityText: 'a long sever' });
    // The body, the severity and nothing else.
    expect([encoded.cutValues, encoded.lost]).toEqual([
      2,
      [{ appId: 12, cutValues: 2, eventsDropped: 0, linksDropped: 0 }],
    ]);
  });

  it('are the size of a message: a larger record is rejected alone', () => {
    const body = { stringValue: 'x'.repeat(itemRunBudget / 2) };
    const { accepted, rejected, examples } = encode(logsOf({ ...goodRecord, body }, goodRecord));
    expect([accepted, ...rejected]).toEqual([1, ['item_too_large', 1]]);
    expect(examples[0]?.detail).toContain('the log record needs');
  });

  it('are the messages of a request, which are cut at the same places in each encoding', () => {
    const body = { stringValue: 'x'.repeat(100_000) };
    const { runs } = encode(logsOf(...Array.from({ length: 30 }, () => ({ ...goodRecord, body }))));
    expect(runs.map(({ first, last }) => [first, last])).toEqual([
      [0, 9],
      [10, 19],
      [20, 29],
    ]);
  });
});

describe.each(ways)('a secret among the attributes of log records in %s', (_, encode) => {
  const secret = { key: 'mon.data.token', value: { stringValue: 'token-secret' } };
  const request = (time: string): OtlpLogsRequest => ({
    resourceLogs: [
      {
        resource: { attributes: [secret, ...attributesOf(1)] },
        scopeLogs: [
          {
            scope: { attributes: [secret, ...attributesOf(1, 's')] },
            logRecords: [{ timeUnixNano: time, attributes: [...attributesOf(1, 'r'), secret] }],
          },
        ],
      },
    ],
  });
  const context = contextWith({ wantsSample: () => true });

  it('is in no row', () => {
    const encoded = encode(request(nanosAt(-1)), context);
    expect(onlyLogRow(encoded)).toMatchObject({
      ResourceAttributes: [['k0', 'v']],
      ScopeAttributes: [['s0', 'v']],
      LogAttributes: [['r0', 'v']],
    });
    expect(Buffer.from(encoded.runs[0]?.parts[0]?.block ?? []).includes('token-secret')).toBe(false);
  });

  it('is in no deferred text and no sample', () => {
    const encoded = encode(request('5'), context);
    expect(encoded.samples).toHaveLength(1);
    expect(JSON.stringify([encoded.runs, encoded.samples, encoded.examples])).not.toContain('token-secret');
  });
});

it('a sample shows what a log record is', () => {
  const { samples } = encodeLogsOfJson(
    logsOf({ ...goodRecord, severityNumber: 999, body: { stringValue: 'x'.repeat(5000) } }, 5),
    contextWith({ wantsSample: () => true }),
  );
  expect(samples[0]).toMatchObject({
    appId: 12,
    reason: 'record_field_invalid',
    field: 'severityNumber',
    item: {
      body: `${'x'.repeat(1024)}…`,
      severityText: 'Information',
      traceId: goodRecord.traceId,
      timeUnixNano: goodRecord.timeUnixNano,
      scope: 'scope',
      resource: { 'service.name': 'cart' },
    },
  });
  expect(samples[1]).toMatchObject({ reason: 'record_not_object', item: {} });
});
