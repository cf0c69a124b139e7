import { describe, expect, it } from 'vitest';
import { readLetter } from '../../../src/dead-letters/dead-letter.ts';
import { showBytes } from '../../../src/dead-letters/preview.ts';
import { redriveMessage } from '../../../src/dead-letters/redrive-message.ts';
import { encodeFrame } from '../../../src/wire/frame.ts';
import { decodeEnvelope } from '../../../src/wire/metrics-envelope.ts';

const letterOf = (bytes: Buffer, change: Record<string, unknown> = {}) => {
  const header = {
    version: 1,
    reason: 'row_refused',
    error: 'no',
    stream: 'METRICS',
    streamSequence: 5,
    subject: 'metrics.0',
    redrive: 2,
    at: 1_000,
    ...change,
  };
  const letter = readLetter({
    sequence: 9,
    subject: 'deadletter.metrics',
    time: 1,
    headers: new Map([['Nats-Msg-Id', 'dl:77:3:2']]),
    payload: encodeFrame(header, [bytes]),
  });
  if (letter === undefined) throw new Error('not read');
  return letter;
};

// A viewer reads dead letters: what a producer sent under the name of a secret is not for everybody.
describe('the preview of a dead letter', () => {
  it('is text with values under names of secrets masked, in line protocol and in items alike', () => {
    const line = 't,target=a,api_key=abc\\ def,host=h1 up=1,more_dimensions="{\\"x\\":1}",uid=5i 1\n';
    expect(showBytes(letterOf(Buffer.from(line))).text).toBe(line.replace('abc\\ def', '********'));
    const item = {
      span: { name: 'x', attributes: [{ key: 'http.authorization', value: { stringValue: 'abc' } }] },
      token: 't',
    };
    const { text } = showBytes(letterOf(Buffer.from(JSON.stringify(item))));
    expect(text).not.toMatch(/abc|"t"/);
    expect(text).toContain('"name":"x"');
  });

  it('is limited, and states the omitted length', () => {
    const { text, cut } = showBytes(letterOf(Buffer.from('x'.repeat(100_000))));
    expect([text?.length, cut]).toEqual([16 * 1024, 100_000 - 16 * 1024]);
  });

  it('is base64 for bytes that are not text', () => {
    expect(showBytes(letterOf(Buffer.from([0xff, 0x00, 0xfe])))).toEqual({
      form: 'base64',
      text: '/wD+',
      cut: 0,
    });
  });
});

describe('the message that redrives a dead letter', () => {
  const row = Buffer.from('t,target=a up=1,uid=80i 1\n');
  const part = {
    dataId: 1_500_001,
    table: 't',
    layout: 'wide',
    rows: 1,
    points: 1,
    base: '80',
    first: 0,
    last: 0,
    timeMin: 1,
    timeMax: 1,
    bytes: row.length,
  };

  it('has the bytes, the uids and the record that its item is in, and an id and a header of this redrive', () => {
    const outcome = { base: '77', first: 0, minute: '2026-06-01 12:34:00' };
    const message = redriveMessage(letterOf(row, { part, items: 1, outcome, ordinal: 3 }));
    expect([message.subject, message.messageId, message.headers]).toEqual([
      'metrics.0',
      'rd:77:3:3',
      { 'Tidemark-Redrive': '3' },
    ]);
    const read = decodeEnvelope(message.payload, 1);
    if (read.kind !== 'envelope') throw new Error(read.kind);
    expect(read.envelope.partBytes.map(String)).toEqual([String(row)]);
    expect(read.envelope.header).toMatchObject({
      arrivedAt: Date.UTC(2026, 5, 1, 12, 34),
      key: { base: '77', first: 0 },
      parts: [part],
      redrive: { number: 3, items: 1, outcome: { ...outcome, ordinal: 3 } },
    });
  });

  it('is the very bytes of a message that could not be read', () => {
    const bytes = Buffer.from('garbage');
    expect(redriveMessage(letterOf(bytes, { reason: 'unreadable_message' })).payload).toEqual(bytes);
  });

  it('has the rows that an item was encoded as, with the arrival that it came with', () => {
    const item = letterOf(Buffer.from('{}'), {
      reason: 'deferred_item_valid',
      arrivedAt: 1_234,
      outcome: { base: '77', first: 0, minute: '2026-06-01 12:34:00' },
      ordinal: 3,
    });
    const read = decodeEnvelope(
      redriveMessage(item, { part: { ...part, layout: 'wide' }, bytes: row }).payload,
      1,
    );
    if (read.kind !== 'envelope') throw new Error(read.kind);
    expect(read.envelope.partBytes.map(String)).toEqual([String(row)]);
    expect(read.envelope.header).toMatchObject({ arrivedAt: 1_234, parts: [part] });
  });

  it('is refused, with the remedy, for bytes that are neither rows nor a message', () => {
    expect(() => redriveMessage(letterOf(Buffer.from('{}'), { reason: 'deferred_item_valid' }))).toThrow(
      /look at them, then purge it/,
    );
  });
});
