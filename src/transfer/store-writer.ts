import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '../model/fault.ts';
import { backOffMs } from '../runtime/back-off.ts';
import type { Log } from '../telemetry/log.ts';
import type { TransferMetrics } from '../telemetry/transfer-metrics.ts';
import type { BatchTrace } from './batch-traces.ts';
import type { HeldMessage } from './held-message.ts';
import type { Sink, Written } from './sink.ts';

export type StoreWriterDependencies<E> = {
  readonly sink: Pick<Sink<E>, 'pipeline' | 'label' | 'store' | 'write'>;
  readonly metrics: TransferMetrics;
  readonly log: Log;
  readonly isStopping: () => boolean;
  /** Elapsed time, ms. */
  readonly elapsed: () => number;
};

export type StoreWriter<E> = {
  /**
   * Writes until the outcome is known: retries an unavailable store until it answers, while the messages are kept alive. Undefined
   * where the worker stops before.
   */
  write(batch: readonly HeldMessage<E>[], trace: BatchTrace | undefined): Promise<Written<E> | undefined>;
  /** Why the store cannot be written to now, or undefined: a try failed, or the store has answered none of its requests for `silentMs`. */
  readonly problem: string | undefined;
};

const backOff = { firstMs: 100, mostMs: 2_000 };

/** A store that is silent for this long is reported before the timeout of its write, which is several times as long. */
const silentMs = 5_000;

export const createStoreWriter = <E>({
  sink,
  metrics,
  log,
  isStopping,
  elapsed,
}: StoreWriterDependencies<E>): StoreWriter<E> => {
  const pipeline = sink.label ?? sink.pipeline;
  const { store } = sink;
  let problem: string | undefined;
  /** When the present write began, or the store last answered a request of it. */
  let heardAt: number | undefined;

  const silence = (): string | undefined => {
    const ms = heardAt === undefined ? 0 : elapsed() - heardAt;
    return ms < silentMs ? undefined : `has not answered a write for ${Math.floor(ms / 1000)} s`;
  };

  const note = (why: string | undefined): void => {
    if (why !== undefined && problem === undefined)
      log.warn({ store, error: why }, 'the store does not take rows; trying again');
    if (why === undefined && problem !== undefined) log.info({ store }, 'the store takes rows again');
    problem = why;
  };

  return {
    write: async (batch, trace) => {
      for (let failures = 1; ; failures++) {
        heardAt = elapsed();
        try {
          const written = await sink.write(batch, (outcome, seconds) => {
            // A write of many days takes longer than silence may last, and a failure may be a silence.
            if (outcome !== 'failed') heardAt = elapsed();
            metrics.writes.inc({ pipeline, outcome });
            // The timeouts of an outage would say for long after it that the store is slow.
            if (outcome !== 'failed') metrics.writeSeconds.observe({ pipeline }, seconds);
            trace?.sent(outcome, seconds);
          });
          note(written.problem);
          return written;
        } catch (error) {
          note(errorText(error));
          if (isStopping()) return undefined;
          await delay(backOffMs(backOff, failures));
        } finally {
          heardAt = undefined;
        }
      }
    },
    get problem() {
      return problem ?? silence();
    },
  };
};
