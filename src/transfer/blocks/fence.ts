import type { Bus } from '../../bus/connection.ts';
import { inTime } from '../../bus/in-time.ts';
import type { LastingFault } from '../../telemetry/lasting-fault.ts';

/**
 * Knows which messages may have been delivered before (architecture 7.1): a message is fresh only when the stream
 * got it after this process last connected, and only once a duplicate window has passed since then. A server that was killed
 * may have forgotten deliveries and acknowledgements, so neither flag nor count shows it.
 */
export type Fence = {
  isFresh(streamSequence: number): boolean;
  /**
   * Whether the results of `isFresh` for present messages belong to the consumer that delivered them. A consumer that was recreated
   * by hand, or restored from a copy, delivers again as if for the first time. False, too, while NATS does not answer.
   */
  holds(): Promise<boolean>;
};

export type FenceOptions = {
  readonly stream: string;
  readonly consumer: string;
  readonly duplicateWindowMs: number;
  /** A steady clock, ms: independent of the wall clock. */
  readonly now: () => number;
  readonly fault: LastingFault;
  /** The ack wait of the consumer at each reading, ns. */
  readonly onAckWait?: (ackWaitNanos: number | undefined) => void;
};

const retryMs = 500;
/** Without an answer in this time everything is guarded. */
const holdsMsMax = 1_000;

/** When a consumer was created, and how much it had delivered. */
type Known = { readonly created: string; readonly delivered: number };

/** Runs it once after a while, however often it is asked for meanwhile. */
const onceLater = (run: () => void): (() => void) => {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      run();
    }, retryMs).unref();
  };
};

export const createFence = (bus: Bus, options: FenceOptions): Fence => {
  let lastSequence = Number.POSITIVE_INFINITY;
  let windowEnd = Number.POSITIVE_INFINITY;
  let known: Known | undefined;
  let round = 0;

  const readConsumer = async (): Promise<Known> => {
    const { consumers } = await bus.manager();
    const { created, delivered, config } = await consumers.info(options.stream, options.consumer);
    options.onAckWait?.(config.ack_wait);
    return { created, delivered: delivered.consumer_seq };
  };

  const readAll = async (mine: number): Promise<void> => {
    // The consumer first: later deliveries are of this consumer, or `holds` returns false.
    const consumer = await readConsumer();
    const { streams } = await bus.manager();
    const info = await streams.info(options.stream);
    if (mine !== round) return;
    known = consumer;
    lastSequence = info.state.last_seq;
    windowEnd = options.now() + options.duplicateWindowMs;
    options.fault.worked();
  };

  const read = (mine: number): void => {
    readAll(mine).catch((error: unknown) => {
      if (mine !== round) return;
      options.fault.failed(error);
      setTimeout(() => read(mine), retryMs).unref();
    });
  };
  const raise = (): void => {
    lastSequence = Number.POSITIVE_INFINITY;
    known = undefined;
    round++;
  };
  const raiseAndRead = (): void => {
    raise();
    read(round);
  };
  // Pulls resume by themselves on a reconnect, so the fence is up from the very moment at which the connection is lost.
  bus.onDisconnect(raise);
  bus.onReconnect(raiseAndRead);
  read(round);
  // Without it the end of a fault would wait for the next insert.
  const lookAgain = onceLater(() => void holds());
  const holds = async (): Promise<boolean> => {
    const before = known;
    const mine = round;
    try {
      const deadlineAt = performance.now() + holdsMsMax;
      const now = await inTime('the consumer', readConsumer(), deadlineAt);
      if (before === undefined || mine !== round) return false;
      if (now.created !== before.created || now.delivered < before.delivered) {
        raiseAndRead();
        return false;
      }
      known = now;
      options.fault.worked();
      return true;
    } catch (error) {
      options.fault.failed(error);
      lookAgain();
      return false;
    }
  };
  return {
    isFresh: (streamSequence) => streamSequence > lastSequence && options.now() >= windowEnd,
    holds,
  };
};
