import { backOffMs } from '../runtime/back-off.ts';

/** How long a lost connection lets pass between two tries of a server. */
export type DialPauses = {
  /**
   * ms; the client asks before each try, and again after each wait. It counts them from the last try of a server by the wall clock: where
   * that was set back, the try would be due once the clock has caught up. So it gets no pause but less than any where one is due by the
   * steady clock.
   */
  next(): number;
  /** The client tries one of this many servers now. */
  dialled(servers: number): void;
  /** NATS did not accept the user. */
  refused(): void;
  /** The connection is back. */
  returned(): void;
};

const pauseMs = 200;
const refusedPause = { firstMs: 5_000, mostMs: 30_000 };
/** So that the processes of a deployment do not all try in the same instant. */
const spreadMs = 50;

/**
 * Short pauses, and long ones once NATS refused the user, until the connection is back: until then the client keeps some memory for
 * each refused try. After a pause all servers are due, each once.
 */
export const createDialPauses = (steady: () => number = () => performance.now()): DialPauses => {
  let refusals = 0;
  let dialledAt = Number.NEGATIVE_INFINITY;
  let due = 0;
  return {
    next: () => {
      const pause = (refusals === 0 ? pauseMs : backOffMs(refusedPause, refusals)) + Math.random() * spreadMs;
      return due > 0 || steady() - dialledAt >= pause ? Number.NEGATIVE_INFINITY : pause;
    },
    dialled: (servers) => {
      dialledAt = steady();
      due = (due > 0 ? due : servers) - 1;
    },
    refused: () => {
      refusals++;
    },
    returned: () => {
      refusals = 0;
      due = 0;
    },
  };
};
