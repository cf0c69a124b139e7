import { restAfter, searchShare, urgentShare } from './rest.ts';
import type { StoreFindings } from './store-look.ts';

/**
 * Looks at the stores beside the looks at the books, one at a time: a look at the stores may wait long for what is on its way, and the
 * books must not.
 */
export type LookAside = {
  /**
   * Starts a look where one is due, gives it a moment, and returns what has ended since the last call: undefined where nothing has.
   * After one that failed it throws the same at each call, until one succeeds.
   */
  take(): Promise<StoreFindings | undefined>;
  /** Whether a look has begun and not ended. */
  readonly isRunning: boolean;
};

export type LookAsideDependencies = {
  readonly look: () => Promise<StoreFindings>;
  /** Ms of a clock that is never set. */
  readonly elapsed: () => number;
  /** Resolves after this time, or rejects when the process stops. */
  readonly rest: (ms: number) => Promise<void>;
};

/** Less than a calm look at the books rests, so that each of those takes one up. */
const everyMs = 35_000;
/** Most looks end within this time, so that what they find need not wait for the next call. */
const patienceMs = 5_000;

export const createLookAside = ({ look, elapsed, rest }: LookAsideDependencies): LookAside => {
  let running: Promise<void> | undefined;
  let ended: StoreFindings | undefined;
  let failure: { readonly error: unknown } | undefined;
  let dueAt = 0;

  const run = async (): Promise<void> => {
    const startedAt = elapsed();
    try {
      ended = await look();
      failure = undefined;
      // The reading of rows has a share of its own.
      const workMs = elapsed() - startedAt - ended.waitedMs - ended.readMs;
      const restMs = ended.isNextSoon
        ? restAfter(workMs, urgentShare)
        : Math.max(everyMs, restAfter(workMs, searchShare));
      dueAt = elapsed() + restMs;
    } catch (error) {
      failure = { error };
    }
    running = undefined;
  };

  return {
    take: async () => {
      if (running === undefined && ended === undefined && elapsed() >= dueAt) running = run();
      if (running !== undefined) await Promise.race([running, rest(patienceMs)]);
      if (failure !== undefined) throw failure.error;
      const findings = ended;
      ended = undefined;
      return findings;
    },
    get isRunning() {
      return running !== undefined;
    },
  };
};
