import { errorText } from '../model/fault.ts';
import { retry } from '../runtime/back-off.ts';
import type { DeadLetters } from './dead-letters.ts';

export type PatientOptions = {
  /** Called before each further try: true = give up with the last Fault; the message is redelivered. */
  readonly isStopping: () => boolean;
  /** Hears why dead letters cannot be kept (a full stream, NATS away), and with undefined that they can again. */
  readonly onHeld: (why: string | undefined) => void;
};

const backOff = { firstMs: 200, mostMs: 2_000 };

/**
 * The same dead letters; what cannot be kept now is tried until it can. So a consumer stands still with what it holds and
 * loses nothing, and goes on by itself once there is room.
 */
export const retryingDeadLetters = (
  deadLetters: DeadLetters,
  { isStopping, onHeld }: PatientOptions,
): DeadLetters => {
  /** Puts that wait for room. */
  let held = 0;
  return {
    put: async (identity, header, bytes) => {
      let isHeld = false;
      try {
        await retry(() => deadLetters.put(identity, header, bytes), {
          ...backOff,
          onFailure: (error) => {
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
