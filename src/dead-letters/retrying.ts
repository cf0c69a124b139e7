import { isTooLarge } from '../bus/too-large.ts';
import { errorText } from '../model/fault.ts';
import { retry } from '../runtime/back-off.ts';
import type { DeadLetters } from './dead-letters.ts';

export type PatientOptions = {
  /** Called before each further try: true = give up with the last Fault; the message is redelivered. */
  readonly isStopping: () => boolean;
  /** Receives the reason why dead letters cannot be kept (a full stream, NATS away), and undefined once they can again. */
  readonly onHeld: (why: string | undefined) => void;
};

const backOff = { firstMs: 200, mostMs: 2_000 };

/**
 * The same dead letters; retries one that cannot be kept now until it can. So a consumer stalls with the messages that it holds and
 * loses nothing, and continues by itself once there is room. Throws at once for one that is larger than NATS takes: its message alone
 * waits for a larger `max_payload`.
 */
export const retryingDeadLetters = (
  deadLetters: DeadLetters,
  { isStopping, onHeld }: PatientOptions,
): DeadLetters => {
  /** Writes that wait for room. */
  let held = 0;
  return {
    put: async (identity, header, bytes) => {
      let isHeld = false;
      try {
        await retry(() => deadLetters.put(identity, header, bytes), {
          ...backOff,
          onFailure: (error) => {
            if (isTooLarge(error)) throw error;
            if (!isHeld) held++;
            isHeld = true;
            onHeld(errorText(error));
            if (isStopping()) throw error;
          },
        });
      } finally {
        if (isHeld) held--;
        if (isHeld && held === 0) onHeld(undefined);
      }
    },
  };
};
