import type { Bus } from '../bus/connection.ts';
import { listen } from '../bus/listen.ts';
import { Fault } from '../model/fault.ts';
import { type DropFilter, dropsIn } from './drops.ts';
import { ledgerSubjects } from './rows.ts';

/** Samples as they are published, for every subscriber. */
export type LiveDrops = {
  /**
   * Newline-delimited JSON without an end: a `Drop` a line; `{"skipped": n}` where a reader was too slow; at intervals
   * an empty line. Transient Faults: `too_many_readers`, `stopping`, or when NATS does not answer.
   */
  open(filter: DropFilter): Promise<ReadableStream<Uint8Array>>;
  /** Ends every stream, and opens no other. */
  stop(): void;
};

/** Each reader has its own subscription and buffer. */
const readersMax = 64;
const linesMax = 1_000;
/** Interval of empty lines: a proxy in between does not close a silent stream, and the end of a reader is noticed. */
const quietMs = 10_000;

export const createLiveDrops = (bus: Bus): LiveDrops => {
  const ends = new Set<() => void>();

  let isStopped = false;

  const open = async (filter: DropFilter): Promise<ReadableStream<Uint8Array>> => {
    // A reader that reconnects over an open connection would delay the stop.
    if (isStopped) throw new Fault('transient', 'stopping', 'the admin API stops');
    if (ends.size >= readersMax) {
      throw new Fault('transient', 'too_many_readers', `the limit of ${readersMax} readers is reached`);
    }
    let skipped = 0;
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    let unsubscribe = (): void => {};
    const hasRoom = (): boolean => (controller?.desiredSize ?? 0) > 0;
    const write = (text: string): void => controller?.enqueue(Buffer.from(text));
    const release = (): void => {
      ends.delete(end);
      clearInterval(timer);
      unsubscribe();
      controller = undefined;
    };
    const end = (): void => {
      const open = controller;
      release();
      open?.close();
    };
    const timer = setInterval(() => {
      if (hasRoom()) write('\n');
    }, quietMs).unref();
    ends.add(end);
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (opened) => {
          controller = opened;
        },
        cancel: release,
      },
      new CountQueuingStrategy({ highWaterMark: linesMax }),
    );
    try {
      unsubscribe = await listen(bus, ledgerSubjects.samples, (payload) => {
        for (const drop of dropsIn(payload, filter)) {
          if (!hasRoom()) {
            skipped++;
            continue;
          }
          if (skipped > 0) write(`${JSON.stringify({ skipped })}\n`);
          skipped = 0;
          write(`${JSON.stringify(drop)}\n`);
        }
      });
    } catch (error) {
      release();
      throw error;
    }
    if (!ends.has(end)) unsubscribe();
    return stream;
  };

  return {
    open,
    stop: () => {
      isStopped = true;
      for (const end of [...ends]) end();
    },
  };
};
