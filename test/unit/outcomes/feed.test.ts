import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Payload, Published } from '../../../src/bus/publisher.ts';
import { headerBytesMax, tooLarge } from '../../../src/bus/too-large.ts';
import { type Feed, startFeed } from '../../../src/outcomes/feed.ts';
import { createRefusals } from '../../../src/outcomes/refusals.ts';

const stored: Published = { duplicate: false, wasKnown: false, tries: 1, sequence: 1 };

type Sent = { subject: string; messageId: string; bytes: number; owners: number[] };

let feed: Feed | undefined;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(async () => {
  await feed?.stop();
  vi.useRealTimers();
});

/** A feed without samples, into a bus whose limit may change. */
const setUp = (sizeMax: number) => {
  const bus = { sizeMax, isAway: false };
  const sent: Sent[] = [];
  const onPublished = vi.fn();
  const onLost = vi.fn();
  const refusals = createRefusals({ now: Date.now });
  feed = startFeed({
    publisher: {
      get sizeMax() {
        return bus.sizeMax;
      },
      publish: (subject, messageId, payload: Payload) => {
        const bytes = Buffer.from(payload instanceof Uint8Array ? payload : '');
        const size = bytes.length + headerBytesMax;
        if (bus.isAway) return Promise.reject(new Error('no answer'));
        if (size > bus.sizeMax) return Promise.reject(tooLarge(size, bus.sizeMax));
        const lines = bytes.toString().split('\n').slice(0, -1);
        const owners = lines.map((line) => JSON.parse(line).data_id);
        sent.push({ subject, messageId, bytes: bytes.length, owners });
        return Promise.resolve(stored);
      },
    },
    refusals,
    samples: { take: () => [] } as never,
    boot: () => 77,
    fill: async () => 0,
    onPublished,
    onLost,
    log: { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() } as never,
  });
  const refuse = (from: number, count: number): void => {
    for (let owner = from; owner < from + count; owner++)
      refusals.add('metrics', 'refused', owner, 'not_stored', 1, 1);
  };
  const sumOf = (calls: unknown[][]): number => calls.reduce((sum, [, rows]) => sum + Number(rows), 0);
  return { bus, sent, refuse, onPublished, onLost, sumOf };
};

describe('the way of refusals and samples into LEDGER', () => {
  it('has no message that is larger than NATS takes, and each row once', async () => {
    const { sent, refuse, onPublished, onLost, sumOf } = setUp(16 * 1024);
    refuse(1, 1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sent.length).toBeGreaterThan(1);
    for (const { subject, bytes } of sent) {
      expect(subject).toBe('ledger.refusals');
      expect(bytes).toBeLessThanOrEqual(15 * 1024);
    }
    expect(sent.map(({ messageId }) => messageId)).toEqual(sent.map((_, part) => `refusals:77:1:${part}`));
    expect(sent.flatMap(({ owners }) => owners)).toEqual(Array.from({ length: 1_000 }, (_, at) => at + 1));
    expect(sumOf(onPublished.mock.calls)).toBe(1_000);
    expect(onLost).not.toHaveBeenCalled();
  });

  it('drops what is larger than a limit that was lowered meanwhile, and sends the rest', async () => {
    const { bus, sent, refuse, onPublished, onLost, sumOf } = setUp(64 * 1024);
    bus.isAway = true;
    refuse(1, 200);
    await vi.advanceTimersByTimeAsync(1_000);
    refuse(1_001, 3);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(onLost).not.toHaveBeenCalled();
    bus.sizeMax = 8 * 1024;
    bus.isAway = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sent.map(({ owners }) => owners)).toEqual([[1_001, 1_002, 1_003]]);
    expect(sumOf(onLost.mock.calls)).toBe(200);
    expect(sumOf(onPublished.mock.calls)).toBe(3);
  });
});
