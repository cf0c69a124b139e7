import { describe, expect, it } from 'vitest';
import { jsonLogs } from '../../../../src/rules/logs/json-logs.ts';
import { protobufLogs } from '../../../../src/rules/logs/protobuf-logs.ts';
import type { EncodedItems } from '../../../../src/wire/otlp/types.ts';
import { goodRecord, logsOf, onlyLogRow } from '../../../support/otlp/log-source.ts';
import { encodeLogsProtobuf } from '../../../support/otlp/logs.ts';
import { contextWith } from '../../../support/otlp/trace-source.ts';

const bytesMax = 1_000;

/** The same bytes with 0xFF, which is in no UTF-8, where long runs of this sign stand. */
const spoiled = (bytes: Uint8Array): Buffer =>
  Buffer.from(
    Buffer.from(bytes)
      .toString('latin1')
      .replace(/~{200,}/g, (run) => '\u00ff'.repeat(run.length)),
    'latin1',
  );

/** A request whose texts are of this many bytes that are no UTF-8. */
const request = (size: number, start = '') => {
  const text = start + '~'.repeat(size);
  const { resourceLogs } = logsOf({
    ...{ ...goodRecord, severityText: text, body: { stringValue: text } },
    attributes: [{ key: 'k', value: { stringValue: text } }],
  });
  const [group] = resourceLogs;
  const attributes = [{ key: 'service.name', value: { stringValue: text } }];
  return { resourceLogs: [{ ...group, resource: { attributes } }] };
};

const columns = ['Body', 'SeverityText', 'LogAttributes', 'ResourceAttributes', 'ServiceName'] as const;

const outcomeOf = (encoded: EncodedItems) => {
  const row = onlyLogRow(encoded);
  return { texts: columns.map((name) => row[name]), cutValues: encoded.cutValues, lost: encoded.lost };
};

// An application would store three times what its policy allows, and nobody would see that a value was truncated.
describe('a value that is longer than its limit once U+FFFD stands in it', () => {
  const context = contextWith({ limits: { valueBytesMax: bytesMax } });

  it.each([
    ['is within the limit as sent', bytesMax, ''],
    ['is within the limit as sent, and ends between characters', 500, 'ab'],
    ['is longer as sent, too', 3 * bytesMax, ''],
    ['is longer as sent, behind characters of two bytes', 2 * bytesMax, 'é'.repeat(490)],
    ['stays within the limit', 300, ''],
  ])('is truncated and counted once in protobuf as in JSON, where it %s', (_, size, start) => {
    const json = jsonLogs.encode(spoiled(Buffer.from(JSON.stringify(request(size, start)))), context);
    const protobuf = protobufLogs.encode(spoiled(encodeLogsProtobuf(request(size, start))), context);
    const outcome = outcomeOf(protobuf);
    expect(outcome).toEqual(outcomeOf(json));
    expect(outcome.cutValues).toBe(size === 300 ? 0 : columns.length);
    expect(Buffer.byteLength(String(outcome.texts[0]))).toBeGreaterThan(bytesMax - 102);
    expect(Buffer.byteLength(String(outcome.texts[0]))).toBeLessThanOrEqual(bytesMax);
  });

  it('is sent on within the limit with an item that has a wrong time', () => {
    const late = request(bytesMax);
    const [group] = late.resourceLogs;
    const [scope] = group?.scopeLogs ?? [];
    const [record] = scope?.logRecords ?? [];
    const scopeLogs = [{ ...scope, logRecords: [{ ...record, timeUnixNano: '5' }] }];
    const bytes = encodeLogsProtobuf({ resourceLogs: [{ ...group, scopeLogs }] });
    const { runs } = protobufLogs.encode(spoiled(bytes), context);
    const [text = ''] = runs[0]?.deferred[0]?.texts ?? [];
    expect(JSON.parse(text)).toMatchObject({
      logRecord: { body: { stringValue: '\ufffd'.repeat(333) }, severityText: '\ufffd'.repeat(333) },
    });
  });
});
