import type { Publisher } from '../bus/publisher.ts';
import { isTooLarge } from '../bus/too-large.ts';
import { errorText } from '../model/fault.ts';
import type { Log } from '../telemetry/log.ts';
import { envelopeVersion } from '../wire/frame.ts';
import { linesBytesMax, packLines } from './ledger.ts';
import type { Refusals } from './refusals.ts';
import { ledgerSubjects } from './rows.ts';
import type { Samples } from './samples.ts';

type Kind = 'refusals' | 'samples';

export type FeedDependencies = {
  readonly publisher: Pick<Publisher, 'publish' | 'sizeMax'>;
  readonly refusals: Refusals;
  readonly samples: Samples;
  /** The epoch of this process; undefined while there is none. */
  readonly boot: () => number | undefined;
  /** The fill of LEDGER, 0 to 1: outcomes wait for room in it, samples need not. */
  readonly fill: () => Promise<number>;
  readonly onPublished: (kind: Kind, rows: number) => void;
  readonly onLost: (kind: Kind, rows: number) => void;
  readonly log: Log;
};

/** Publishes refusals and samples to LEDGER, once a second. No request waits for it. */
export type Feed = { stop(): Promise<void> };

type Batch = { readonly kind: Kind; readonly id: string; readonly payload: Buffer; readonly rows: number };

const everyMs = 1_000;
/** The batches that wait while LEDGER refuses; the oldest is dropped first. */
const waitingBytesMax = 4 * 2 ** 20;
/** Above this share of LEDGER's budget samples are omitted: the rest of it is for outcomes. */
const fillMax = 0.5;
const fillEveryMs = 10_000;
const stopMsMax = 2_000;

/** Whether LEDGER has room for samples, read at intervals. */
const createFillCheck = (fill: () => Promise<number>) => {
  let askedAt = Number.NEGATIVE_INFINITY;
  let hasRoom = true;
  return async (): Promise<boolean> => {
    const now = performance.now();
    if (now - askedAt < fillEveryMs) return hasRoom;
    askedAt = now;
    hasRoom = await fill().then(
      (share) => share < fillMax,
      () => true,
    );
    return hasRoom;
  };
};

/**
 * Best effort, in bounded memory: an unconfirmed batch is sent again under the same id, so that it is counted once;
 * beyond 4 MiB the oldest is dropped and passed to `onLost`. A kill loses the last second of its process.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one queue and its timer.
export const startFeed = (deps: FeedDependencies): Feed => {
  const { publisher, refusals, samples, boot, log } = deps;
  const hasRoom = createFillCheck(deps.fill);
  const waiting: Batch[] = [];
  let waitingBytes = 0;
  let seq = 0;
  let sending: Promise<void> | undefined;
  let isFailing = false;

  const enqueue = (kind: Kind, id: string, rows: readonly object[]): void => {
    for (const [part, packed] of packLines(rows, linesBytesMax(publisher)).entries()) {
      waiting.push({ kind, id: `${kind}:${id}:${part}`, ...packed });
      waitingBytes += packed.payload.length;
    }
    while (waitingBytes > waitingBytesMax) {
      // The first one may be on its way: it is not taken from under its publish.
      const [oldest] = waiting.splice(sending === undefined ? 0 : 1, 1);
      if (oldest === undefined) break;
      waitingBytes -= oldest.payload.length;
      deps.onLost(oldest.kind, oldest.rows);
    }
  };

  const gather = async (): Promise<void> => {
    const epoch = boot();
    if (epoch === undefined) return;
    const count = ++seq;
    const id = `${epoch}:${count}`;
    enqueue('refusals', id, refusals.take(epoch, count));
    const rows = samples.take(epoch);
    if (rows.length === 0) return;
    if (await hasRoom()) enqueue('samples', id, rows);
    else deps.onLost('samples', rows.length);
  };

  /** False: the limit of NATS was lowered meanwhile, and no later try would succeed. */
  const publish = async ({ kind, id, payload }: Batch): Promise<boolean> => {
    try {
      await publisher.publish(ledgerSubjects[kind], id, payload, envelopeVersion);
      return true;
    } catch (error) {
      if (isTooLarge(error)) return false;
      throw error;
    }
  };

  const sendAll = async (): Promise<void> => {
    try {
      for (let batch = waiting[0]; batch !== undefined; batch = waiting[0]) {
        const isPublished = await publish(batch);
        waiting.shift();
        waitingBytes -= batch.payload.length;
        if (!isPublished) {
          deps.onLost(batch.kind, batch.rows);
          continue;
        }
        deps.onPublished(batch.kind, batch.rows);
        if (isFailing) log.info({}, 'refusals and samples reach LEDGER again');
        isFailing = false;
      }
    } catch (error) {
      if (!isFailing) log.warn({ error: errorText(error) }, 'refusals and samples do not reach LEDGER');
      isFailing = true;
    }
  };

  const send = (): Promise<void> => {
    sending ??= sendAll().finally(() => {
      sending = undefined;
    });
    return sending;
  };

  const tick = (): void => {
    gather()
      .then(send)
      .catch((error: unknown) => log.error({ error: errorText(error) }, 'internal error of the LEDGER feed'));
  };
  const timer = setInterval(tick, everyMs).unref();

  return {
    stop: async () => {
      clearInterval(timer);
      const bound = new Promise<void>((resolve) => setTimeout(resolve, stopMsMax).unref());
      await Promise.race([gather().then(send), bound]);
      for (const { kind, rows } of waiting) deps.onLost(kind, rows);
    },
  };
};
