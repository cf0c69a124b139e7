import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Delivery } from '../../../src/bus/puller.ts';
import { createElapsed } from '../../../src/model/elapsed.ts';
import { createTransferMetrics } from '../../../src/telemetry/transfer-metrics.ts';
import { createBreaker } from '../../../src/transfer/breaker.ts';
import type { Sink } from '../../../src/transfer/sink.ts';
import { createWorker, type Worker } from '../../../src/transfer/worker.ts';

const intervalMs = 1_000;
const messageBytes = 100;

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

type Bench = {
  readonly worker: Worker;
  /** Messages of each write so far. */
  readonly writes: number[];
  acknowledged: number;
  /** Messages that were returned to NATS. */
  returned: number;
  /** How often the ack wait of a message was extended. */
  workedOn: number;
  /** Messages whose bytes were freed. */
  freed: number;
  /** Delivers this many messages, each of this many rows, as if they arrived together. */
  bring(messages: number, rows?: number): void;
};

type Bounds = {
  /** Default: half a minute. */
  ackWaitMs?: () => number;
  gatheredMax?: number;
  heldBytesMax?: number;
  untilStored?: Promise<void>;
  /** Writes that a message needs; default 1. */
  writesEach?: number;
  /** Messages of this many rows are wide, and of more; default: none is. */
  wideFrom?: number;
  /** Answers of the store within each write, this far apart. */
  answers?: { readonly count: number; readonly apartMs: number };
};

/**
 * A worker on the clock of the test; its store accepts everything, at once by default, and records the size of each
 * write.
 */
const startWorker = (bounds: Bounds = {}): Bench => {
  const writes: number[] = [];
  const writesOf = new WeakMap<object, number>();
  const sink: Sink<number> = {
    pipeline: 'metrics',
    store: 'questdb',
    read: (payload) => ({ kind: 'envelope', envelope: payload[0] ?? 0 }),
    rowsOf: (rows) => rows,
    isWide: (rows) => rows >= (bounds.wideFrom ?? Infinity),
    write: async (batch, onWrite) => {
      writes.push(batch.length);
      for (let answer = 0; answer < (bounds.answers?.count ?? 0); answer++) {
        await new Promise((resolve) => setTimeout(resolve, bounds.answers?.apartMs));
        onWrite('stored', 0);
      }
      await bounds.untilStored;
      for (const message of batch) writesOf.set(message, (writesOf.get(message) ?? 0) + 1);
      const unfinished = batch.filter((message) => (writesOf.get(message) ?? 0) < (bounds.writesEach ?? 1));
      return {
        ...{ deadLettered: new Map(), retryLater: new Set(), purged: new Set() },
        unfinished: new Set(unfinished),
      };
    },
    validate: (rows) => ({
      arrivedAt: Date.now(),
      key: undefined,
      kept: rows,
      rows,
      dropped: new Map(),
      tally: new Map(),
      passed: [],
      unreadableItems: 0,
    }),
  };
  const worker = createWorker(
    {
      stream: 'METRICS',
      ackWaitMs: bounds.ackWaitMs ?? (() => 30_000),
      rowsPerWriteMax: 100,
      heldBytesMax: bounds.heldBytesMax ?? 2 ** 20,
      writeIntervalMs: intervalMs,
      writeIntervalMsMax: intervalMs,
      gatheredMax: bounds.gatheredMax ?? 1_000,
    },
    {
      sink,
      deadLetters: { put: async () => {} },
      ledger: { record: async () => {} },
      samples: { deadLettered: () => {}, purged: () => {} },
      metrics: createTransferMetrics(),
      log: silent,
      now: Date.now,
      elapsed: createElapsed(),
      onRoom: () => {},
      breaker: createBreaker(
        { inARowMax: 1_000, shareMax: 1, shareItemsMin: 1_000, pauseMs: 1_000 },
        { onChange: () => {} },
      ),
      isHeld: () => false,
    },
  );
  const bench: Bench = {
    worker,
    writes,
    acknowledged: 0,
    returned: 0,
    workedOn: 0,
    freed: 0,
    bring: (messages, rows = 1) => {
      for (let index = 0; index < messages; index++) {
        const delivery: Delivery = {
          payload: new Uint8Array(messageBytes).fill(rows, 0, 1),
          subject: 'metrics.0',
          version: 1,
          streamSequence: index + 1,
          redelivered: false,
          redrive: 0,
          ack: () => {
            bench.acknowledged++;
          },
          nak: () => {
            bench.returned++;
          },
          free: () => {
            bench.freed++;
          },
          working: () => {
            bench.workedOn++;
          },
        };
        worker.take(delivery);
      }
    },
  };
  return bench;
};

/** Lets everything happen that is due without the clock going on by more than a millisecond. */
const turn = (): Promise<unknown> => vi.advanceTimersByTimeAsync(1);

// Each write has a price of its own in the store, in transfer and, for its record of outcomes, in NATS: small requests must share
// it. But a write that waits although it is whole caps the rate, and a lone point that waits is late for nothing.
describe('writes at an interval', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('a message after a pause is written at once', async () => {
    const { bring, writes } = startWorker();
    bring(1);
    await turn();
    expect(writes).toEqual([1]);
    await vi.advanceTimersByTimeAsync(intervalMs);
    bring(1);
    await turn();
    expect(writes).toEqual([1, 1]);
  });

  it('a store that is silent for five seconds is named before its timeout, until it answers', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { worker, bring } = startWorker({ untilStored: promise });
    bring(1);
    await vi.advanceTimersByTimeAsync(4_900);
    expect(worker.storeProblem).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1_200);
    expect(worker.storeProblem).toBe('has not answered a write for 6 s');
    resolve();
    await turn();
    expect(worker.storeProblem).toBeUndefined();
  });

  it('a store that answers within a long write is not silent, until it has not answered for five seconds', async () => {
    const { promise } = Promise.withResolvers<void>();
    const { worker, bring } = startWorker({ answers: { count: 4, apartMs: 3_000 }, untilStored: promise });
    bring(1);
    for (let second = 1; second <= 16; second++) {
      await vi.advanceTimersByTimeAsync(1_000);
      expect(worker.storeProblem).toBeUndefined();
    }
    await vi.advanceTimersByTimeAsync(1_200);
    expect(worker.storeProblem).toBe('has not answered a write for 5 s');
  });

  it('messages within the interval are written together at its end, and acknowledged', async () => {
    const bench = startWorker();
    bench.bring(1);
    await turn();
    for (let index = 0; index < 9; index++) {
      bench.bring(1);
      await turn();
    }
    expect(bench.writes).toEqual([1]);
    await vi.advanceTimersByTimeAsync(intervalMs);
    expect(bench.writes).toEqual([1, 9]);
    expect(bench.acknowledged).toBe(10);
  });

  it('the bytes of a message are freed with its acknowledgement and not before', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const bench = startWorker({ untilStored: promise });
    bench.bring(3);
    await turn();
    expect([bench.writes, bench.freed]).toEqual([[3], 0]);
    resolve();
    await turn();
    expect([bench.acknowledged, bench.freed]).toEqual([3, 3]);
  });

  it('the rows of a whole write do not wait', async () => {
    const { bring, writes } = startWorker();
    bring(1);
    await turn();
    bring(9, 10);
    await turn();
    expect(writes).toEqual([1]);
    bring(1, 10);
    await turn();
    expect(writes).toEqual([1, 10]);
    // Nor do those of the next one, and what is left of them waits again.
    bring(12, 10);
    await turn();
    expect(writes).toEqual([1, 10, 10]);
    await vi.advanceTimersByTimeAsync(intervalMs);
    expect(writes).toEqual([1, 10, 10, 2]);
  });

  it('the bytes that may be held do not wait: no more would be asked for', async () => {
    const { bring, writes, worker } = startWorker({ heldBytesMax: 5 * messageBytes });
    bring(1);
    await turn();
    bring(4);
    await turn();
    expect(writes).toEqual([1]);
    bring(1);
    expect(worker.hasRoom).toBe(false);
    await turn();
    expect(writes).toEqual([1, 5]);
    expect(worker.hasRoom).toBe(true);
  });

  it('messages do not wait when no more may be delivered', async () => {
    const { bring, writes } = startWorker({ gatheredMax: 20 });
    bring(1);
    await turn();
    bring(19);
    await turn();
    expect(writes).toEqual([1]);
    bring(1);
    await turn();
    expect(writes).toEqual([1, 20]);
  });

  it('stopping does not wait, and loses nothing', async () => {
    const bench = startWorker();
    bench.bring(1);
    await turn();
    bench.bring(3);
    const drained = bench.worker.drain(5_000);
    await turn();
    await drained;
    expect(bench.writes).toEqual([1, 3]);
    expect(bench.acknowledged).toBe(4);
  });

  it('forgotten messages do not count towards a whole write', async () => {
    const { bring, writes, worker } = startWorker();
    bring(1);
    await turn();
    bring(9, 10);
    worker.forgetUnsent();
    bring(9, 10);
    await turn();
    expect(writes).toEqual([1]);
    await vi.advanceTimersByTimeAsync(intervalMs);
    expect(writes).toEqual([1, 9]);
  });

  it('a clock that was set back does not hold writes up', async () => {
    const { bring, writes } = startWorker();
    bring(1);
    await turn();
    vi.setSystemTime(Date.now() - 3_600_000);
    bring(1);
    await vi.advanceTimersByTimeAsync(intervalMs);
    expect(writes).toEqual([1, 1]);
  });

  // The server would give it to another worker, which writes it beside this one.
  it('a message that is being written is kept alive though the wall clock was set back', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const bench = startWorker({ untilStored: promise });
    bench.bring(1);
    await turn();
    vi.setSystemTime(Date.now() - 3_600_000);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(bench.workedOn).toBeGreaterThanOrEqual(3);
    resolve();
    await turn();
    expect(bench.acknowledged).toBe(1);
  });

  // Another worker may have written it meanwhile, without a way to check that.
  it('a message is kept alive although the ack wait was read, shorter than in the manifest, after the worker began', async () => {
    let ackWaitMs = 600_000;
    const { promise, resolve } = Promise.withResolvers<void>();
    const bench = startWorker({ untilStored: promise, ackWaitMs: () => ackWaitMs });
    ackWaitMs = 20_000;
    bench.bring(1);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(bench.workedOn).toBeGreaterThanOrEqual(1);
    resolve();
    await turn();
    expect(bench.acknowledged).toBe(1);
  });

  it('a message that was held over half its ack wait is not written, though the wall clock was set back', async () => {
    const { bring, writes } = startWorker();
    bring(1);
    await turn();
    bring(1);
    // The process stalls for this long: no timer runs.
    vi.setSystemTime(Date.now() - 3_600_000);
    const steady = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => steady + 20_000);
    await vi.advanceTimersByTimeAsync(intervalMs);
    vi.restoreAllMocks();
    expect(writes).toEqual([1]);
  });
});

// A message of many days takes part in several writes, so that others do not wait for all of it.
describe('a message that a write leaves unfinished', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is written on together with what has arrived, kept alive, and acknowledged after its last write', async () => {
    const bench = startWorker({ writesEach: 3 });
    bench.bring(1, 100);
    await turn();
    bench.bring(1, 100);
    await turn();
    expect([bench.writes, bench.acknowledged]).toEqual([[1, 2], 0]);
    await vi.advanceTimersByTimeAsync(intervalMs);
    expect([bench.writes, bench.acknowledged]).toEqual([[1, 2, 2], 1]);
    await vi.advanceTimersByTimeAsync(intervalMs);
    expect([bench.writes, bench.acknowledged, bench.freed]).toEqual([[1, 2, 2, 1], 2, 2]);
  });

  it('counts as held until then', async () => {
    const bench = startWorker({ writesEach: 2, heldBytesMax: 2 * messageBytes });
    bench.bring(1);
    await turn();
    bench.bring(1);
    expect([bench.writes, bench.worker.hasRoom]).toEqual([[1], false]);
    await vi.advanceTimersByTimeAsync(3 * intervalMs);
    expect([bench.acknowledged, bench.worker.hasRoom]).toEqual([2, true]);
  });

  it('leaves room for others where it is wide: further wide ones return at once, and are taken once there is room', async () => {
    const answers = { count: 1, apartMs: 100 };
    const bench = startWorker({ writesEach: 3, wideFrom: 20, heldBytesMax: 4 * messageBytes, answers });
    bench.bring(4, 20);
    await turn();
    bench.bring(2, 20);
    expect([bench.returned, bench.worker.hasRoom]).toEqual([0, false]);
    await vi.advanceTimersByTimeAsync(100);
    expect([bench.acknowledged, bench.worker.hasRoom]).toEqual([0, true]);
    bench.bring(3, 20);
    expect([bench.returned, bench.freed, bench.worker.hasRoom]).toEqual([3, 3, true]);
    expect(bench.worker.wideProblem).toContain('messages of many days wait');
    bench.bring(2);
    expect(bench.worker.hasRoom).toBe(false);
    await vi.advanceTimersByTimeAsync(5 * intervalMs);
    expect([bench.acknowledged, bench.returned]).toEqual([8, 3]);
    bench.bring(3, 20);
    await vi.advanceTimersByTimeAsync(5 * intervalMs);
    expect([bench.acknowledged, bench.returned]).toEqual([11, 3]);
  });

  it('is no reason to return a wide one while each write stores all of its messages', async () => {
    const bench = startWorker({ wideFrom: 50, heldBytesMax: 2 * messageBytes });
    bench.bring(6, 50);
    expect([bench.returned, bench.worker.hasRoom]).toEqual([0, false]);
    await vi.advanceTimersByTimeAsync(4 * intervalMs);
    expect([bench.acknowledged, bench.returned, bench.worker.hasRoom]).toEqual([6, 0, true]);
  });

  it('is forgotten with the connection, also where it is lost during the write', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const bench = startWorker({ writesEach: 2, untilStored: promise });
    bench.bring(1);
    await turn();
    bench.worker.forgetUnsent();
    resolve();
    await vi.advanceTimersByTimeAsync(10 * intervalMs);
    expect([bench.writes, bench.acknowledged, bench.returned]).toEqual([[1], 0, 0]);
  });

  it('is returned to NATS when the time for a stop is over', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const bench = startWorker({ writesEach: 2, untilStored: promise });
    bench.bring(1);
    await turn();
    const drained = bench.worker.drain(5_000);
    await vi.advanceTimersByTimeAsync(5_000);
    resolve();
    await drained;
    expect([bench.writes, bench.acknowledged, bench.returned]).toEqual([[1], 0, 1]);
  });
});
