import { beforeAll, describe, expect, it } from 'vitest';
import { connectBus } from '../../../src/bus/connection.ts';
import { contentTypes, encodings, partialOf } from '../../support/otlp/client.ts';
import type { OtlpRequest } from '../../support/otlp/protobuf.ts';
import {
  attribute,
  requestOf,
  second,
  spanAt,
  wholeRequest,
  wholeRow,
} from '../../support/otlp/trace-cases.ts';
import { sharedTraceStack, type TraceStack } from '../../support/otlp/trace-stack.ts';

// schemas/examples/traces has the cases that one request and its answer can show; this file has those that need more.

let on: TraceStack;
beforeAll(async () => {
  on = await sharedTraceStack();
});

const now = BigInt(Date.now()) * 1_000_000n + 123_456n;

describe('a request of spans', () => {
  it('with everything OTLP has arrives whole, and JSON and protobuf make equal rows', async () => {
    const application = await on.application();
    for (const encoding of encodings) {
      const answer = await on.post(application.token, encoding, wholeRequest(now));
      expect([answer.status, answer.headers['content-type'], answer.bytes.toString('latin1')]).toEqual([
        200,
        contentTypes[encoding],
        encoding === 'json' ? '{}' : '',
      ]);
    }
    const row = { ...wholeRow(now), AppId: String(application.app_id), BizId: '2' };
    expect(await on.storedSpans(application)).toEqual([row, row]);
  });

  // Each day is a partition and a block of its own; ClickHouse takes a hundred partitions in one insert.
  it.each(encodings)('over 101 days is stored whole (%s)', async (encoding) => {
    const application = await on.application();
    const starts = Array.from({ length: 101 }, (_, days) => now - BigInt(days) * 86_400n * second);
    const answer = await on.post(
      application.token,
      encoding,
      requestOf(starts.map((start, number) => spanAt(start, number))),
    );
    expect([answer.status, partialOf(encoding, answer)]).toEqual([200, undefined]);
    const rows = await on.storedSpans(application);
    expect(rows.map((row) => [row['SpanName'], row['Timestamp']])).toEqual(
      starts.map((start, number) => [`span ${number}`, String(start)]),
    );
  });
});

describe('a credential', () => {
  // A token in a row, a message or a log is a token that many can read.
  it.each(encodings)('in mon.data.token is in no row, no message and no log line (%s)', async (encoding) => {
    const application = await on.application();
    const token = attribute('mon.data.token', application.token);
    const body: OtlpRequest = requestOf(
      [spanAt(now, 0), spanAt(1_700_000_000n, 1), spanAt(now, 2, { spanId: '' })],
      [attribute('service.name', 'a'), token, attribute('last', 'z')],
    );
    for (const transfer of on.stack.transfer) transfer.signal('SIGSTOP');
    const bus = await connectBus(on.stack.engines.nats.url, 'test');
    try {
      expect((await on.post(undefined, encoding, body)).status).toBe(200);
      const { streams } = await bus.manager();
      const message = Buffer.from(
        (await streams.getMessage('TRACES', { last_by_subj: 'traces.0' }))?.data ?? [],
      ).toString('latin1');
      expect(message).toContain('span 0');
      expect(message).toContain('span 1');
      expect(message).not.toContain(application.token);
    } finally {
      for (const transfer of on.stack.transfer) transfer.signal('SIGCONT');
      await bus.close();
    }
    const rows = await on.storedSpans(application);
    expect(rows).toMatchObject([{ ResourceAttributes: { 'service.name': 'a', last: 'z' } }]);
    expect(JSON.stringify(rows)).not.toContain(application.token);
    expect(JSON.stringify(rows)).not.toContain('mon.data.token');
    const lines = [...on.stack.ingress, ...on.stack.transfer].flatMap((role) => role.lines).join('\n');
    expect(lines).not.toContain(application.token);
  });
});

// Operators have to find out which of their senders is off the specification.
describe('a leniency', () => {
  const sdk = [attribute('telemetry.sdk.name', 'opentelemetry'), attribute('telemetry.sdk.language', 'cpp')];
  const counted = (sender: string): Promise<number> =>
    on.counter('ingress', 'tidemark_ingress_otlp_leniencies_total', { kind: 'enum_name', sender });

  it.each([
    ['the SDK that its resource names', sdk, 'curl/8.5.0', 'opentelemetry/cpp'],
    [
      'its User-Agent, where the resource names none',
      [],
      'OTel-OTLP-Exporter-Go/1.40',
      'otel-otlp-exporter-go',
    ],
  ])('is counted for %s', async (_, attributes, userAgent, sender) => {
    const { token } = await on.application();
    const before = await counted(sender);
    const span = { ...spanAt(now, 0), kind: 'SPAN_KIND_SERVER', status: { code: 'STATUS_CODE_OK' } };
    const body = JSON.stringify(requestOf([span], attributes));
    expect((await on.post(token, 'json', body, { 'user-agent': userAgent })).bytes.toString()).toBe('{}');
    expect(await counted(sender)).toBe(before + 2);
  });
});
