import { backOffMs } from '../runtime/back-off.ts';

/** How long a lost connection lets pass between two tries of a server. */
export type DialPauses = {
  /** ms; the client asks before each try, and again after each wait. */
  next(): number;
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
 * each refused try.
 */
export const createDialPauses = (): DialPauses => {
  let refusals = 0;
  return {
    next: () => (refusals === 0 ? pauseMs : backOffMs(refusedPause, refusals)) + Math.random() * spreadMs,
    refused: () => {
      refusals++;
    },
    returned: () => {
      refusals = 0;
    },
  };
};
