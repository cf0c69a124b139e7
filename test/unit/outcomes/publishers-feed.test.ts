import { describe, expect, it, vi } from 'vitest';
import type { Payload, Published } from '../../../src/bus/publisher.ts';
import { Fault } from '../../../src/model/fault.ts';
import { createPublishersBook } from '../../../src/outcomes/publishers-book.ts';
import { startPublishersFeed } from '../../../src/outcomes/publishers-feed.ts';
import { createRedaction } from '../../../src/outcomes/redaction.ts';
import { createUsageBook } from '../../../src/outcomes/usage-book.ts';

type Sent = { subject: string; messageId: string; bytes: number; lines: string[]; version: number };

const stored: Published = { duplicate: false, wasKnown: false, tries: 1, sequence: 1 };

/** A feed of a book with messages of this many owners, into a bus with the given answers. */
const setUp = (sizeMax?: number) => {
  vi.useFakeTimers();
  const sent: Sent[] = [];
  const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const bus = { answer: (_: Sent): Promise<Published> => Promise.resolve(stored) };
  const book = createPublishersBook({ life: () => 77, now: () => performance.now(), onUnbooked: () => {} });
  const usage = createUsageBook({
    life: () => 77,
    redaction: createRedaction(() => false),
    now: Date.now,
  });
  const feed = startPublishersFeed({
    publisher: {
      sizeMax,
      publish: (subject, messageId, payload: Payload, version) => {
        const bytes = Buffer.from(payload instanceof Uint8Array ? payload : '');
        const lines = bytes.toString().split('\n').slice(0, -1);
        const one = { subject, messageId, bytes: bytes.length, lines, version };
        sent.push(one);
        return bus.answer(one);
      },
    },
    book,
    usage,
    onPublished: () => {},
    log,
  });
  const store = (owners: number): void => {
    for (let owner = 1; owner <= owners; owner++)
      book
        .open('METRICS', 'metrics', {
          arrivedAt: 60_000,
          key: { base: '1', first: 0 },
          owners: [{ owner, items: 1, rows: 1, bytes: 1, dropped: undefined }],
        })
        ?.stored(owner);
  };
  return { sent, log, bus, book, usage, feed, store };
};

const full = (): Promise<Published> =>
  Promise.reject(new Fault('transient', 'not_stored', 'nothing was stored: the stream is full'));

describe('the way of the book into LEDGER', () => {
  it('is one message after the other, of at most 512 KiB, under version 2; what says how far is closed comes last', async () => {
    const { sent, feed, book, store } = setUp();
    try {
      store(5_000);
      book
        .open('METRICS', 'metrics', { arrivedAt: 60_000, key: { base: '1', first: 0 }, owners: [] })
        ?.doubtful(false);
      await vi.advanceTimersByTimeAsync(2_500);
      expect(sent[0]?.subject).toBe('ledger.doubtful');
      expect(sent.length).toBeGreaterThan(3);
      expect(sent.slice(1).every(({ subject }) => subject === 'ledger.published')).toBe(true);
      expect(new Set(sent.map(({ messageId }) => messageId)).size).toBe(sent.length);
      for (const { bytes, version } of sent) {
        expect(bytes).toBeLessThanOrEqual(512 * 1024);
        expect(version).toBe(2);
      }
      const lines = sent.slice(1).flatMap((one) => one.lines);
      expect(lines).toHaveLength(5_001);
      expect(lines.map((line) => JSON.parse(line).data_id).indexOf(0)).toBe(5_000);
      expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ messages: 5_000, closed: 5_001 });
    } finally {
      await feed.stop();
      vi.useRealTimers();
    }
  });

  it('has smaller messages where NATS takes no larger ones', async () => {
    const { sent, feed, book, store } = setUp(64 * 1024);
    try {
      store(2_000);
      await vi.advanceTimersByTimeAsync(2_500);
      expect(sent.flatMap(({ lines }) => lines)).toHaveLength(2_001);
      for (const { bytes } of sent) expect(bytes).toBeLessThanOrEqual(63 * 1024);
      expect(book.take()).toBeUndefined();
    } finally {
      await feed.stop();
      vi.useRealTimers();
    }
  });

  it('ends at the first message without a confirmation, and begins again with newer lines', async () => {
    const { sent, bus, feed, log, store } = setUp();
    try {
      store(5_000);
      bus.answer = ({ messageId }) => (messageId.endsWith(':1') ? full() : Promise.resolve(stored));
      await vi.advanceTimersByTimeAsync(2_500);
      expect(sent.map(({ messageId }) => messageId)).toEqual(['published:77:1:0', 'published:77:1:1']);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(log.warn).toHaveBeenCalledTimes(1);
      bus.answer = () => Promise.resolve(stored);
      const before = sent.length;
      await vi.advanceTimersByTimeAsync(5_000);
      expect(sent.slice(before).flatMap(({ lines }) => lines)).toHaveLength(5_001);
      expect(log.info).toHaveBeenCalledTimes(1);
    } finally {
      await feed.stop();
      vi.useRealTimers();
    }
  });

  it.each([
    ['is full', full],
    ['does not answer', () => new Promise<Published>(() => {})],
  ])('ends within two seconds where LEDGER %s, and says so', async (_, answer) => {
    const { bus, feed, log, store } = setUp();
    try {
      store(3);
      bus.answer = answer;
      await vi.advanceTimersByTimeAsync(2_500);
      const stopping = feed.stop();
      let isStopped = false;
      stopping.then(() => {
        isStopped = true;
      });
      await vi.advanceTimersByTimeAsync(2_000);
      expect(isStopped).toBe(true);
      expect(log.warn.mock.lastCall?.[1]).toContain('were not written');
    } finally {
      vi.useRealTimers();
    }
  });

  it('ends with all lines, marked as the last ones', async () => {
    const { sent, feed, store } = setUp();
    try {
      store(2);
      await vi.advanceTimersByTimeAsync(2_500);
      await feed.stop();
      const ended = sent.flatMap(({ lines }) => lines.map((line) => JSON.parse(line).ended));
      expect(ended).toEqual([0, 0, 0, 1, 1, 1]);
    } finally {
      vi.useRealTimers();
    }
  });

  // Usage may be late, the account may not.
  it('is followed by the lines of usage every five seconds, which a failure makes due again, and at the end', async () => {
    const { sent, bus, feed, usage } = setUp();
    const arrivedAt = Date.now();
    const add = (): void =>
      usage.add('metrics', 7, arrivedAt, 1, 2, { address: '::1', sdk: '', secrets: [] });
    try {
      add();
      bus.answer = full;
      await vi.advanceTimersByTimeAsync(4_900);
      expect(sent).toEqual([]);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(sent).toMatchObject([{ subject: 'ledger.usage', messageId: 'usage:77:1:0', version: 2 }]);
      bus.answer = () => Promise.resolve(stored);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(JSON.parse(sent[1]?.lines[0] ?? '')).toMatchObject({ data_id: 7, requests: 1, version: 2 });
      add();
      await feed.stop();
      expect(JSON.parse(sent[2]?.lines[0] ?? '')).toMatchObject({ data_id: 7, requests: 2, version: 3 });
    } finally {
      vi.useRealTimers();
    }
  });
});
