import { errorText } from '../model/fault.ts';
import type { DeadLetters } from './dead-letters.ts';

export type PatientOptions = {
  /** Called before each further try: true = give up with the last Fault; the message is redelivered. */
  readonly isStopping: () => boolean;
  /** Hears why dead letters cannot be kept (a full stream, NATS away), and with undefined that they can again. */
  readonly onHeld: (why: string | undefined) => void;
};

const waitMs = { first: 200, most: 2_000 };

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
  const putUntilKept = async (put: () => Promise<void>, error: unknown): Promise<void> => {
    let lastError = error;
    let pauseMs = waitMs.first;
    held++;
    onHeld(errorText(error));
    try {
      for (;;) {
        if (isStopping()) throw lastError;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        pauseMs = Math.min(pauseMs * 2, waitMs.most);
        try {
          return await put();
        } catch (again) {
          lastError = again;
          onHeld(errorText(again));
        }
      }
    } finally {
      held--;
      if (held === 0) onHeld(undefined);
    }
  };
  return {
    put: async (identity, header, bytes) => {
      const put = (): Promise<void> => deadLetters.put(identity, header, bytes);
      try {
        await put();
      } catch (error) {
        await putUntilKept(put, error);
      }
    },
  };
};
