import type { Look, LookResult } from '../../account/look.ts';
import { errorText } from '../../model/fault.ts';
import { isOfMissingTables, readErrorText } from '../../stores/clickhouse/faults.ts';
import type { Log } from '../../telemetry/log.ts';

/** What is known of the account now. */
export type AccountState = {
  /** Ms since the epoch: since when the looks fail; undefined while they succeed. Before the first look, the start of the process. */
  readonly notKnownSince: number | undefined;
  /** Why they fail. */
  readonly why: string | undefined;
};

/** Compares the books at an interval, until it is stopped. */
export type AccountWatch = { readonly state: AccountState; stop(): Promise<void> };

export type AccountWatchDependencies = {
  readonly look: Look;
  /** Called after each look, with the state, and with what the look returned unless it failed. */
  readonly onLook: (state: AccountState, result: LookResult | undefined) => Promise<void>;
  readonly now: () => number;
  /** Ms of a clock that is never set. */
  readonly elapsed: () => number;
  /** Resolves after this time, and at once where the signal aborts. */
  readonly rest: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
};

/** A look rests for this time, and longer where the one before has found nothing new: a loss shows within two minutes all the same. */
const everyMs = 20_000;
const calmEveryMs = 40_000;

/** The work of a look takes at most this share of the time, so that long books do not keep ClickHouse busy. A wait is no work. */
const shareMax = 0.25;

/** Most of the time of a failed look is a wait for what is not there: the next one must not come minutes later. */
const failedRestMsMax = 30_000;

/** One failed look says little: the books are compared again soon. */
const failuresMax = 3;

export const startAccountWatch = ({
  look,
  onLook,
  now,
  elapsed,
  rest,
  log,
}: AccountWatchDependencies): AccountWatch => {
  const stopping = new AbortController();
  let state: AccountState = { notKnownSince: now(), why: 'the books were not compared yet' };
  let failures = 0;
  let isLogged = false;
  let failingSince = 0;

  const once = async (): Promise<LookResult | undefined> => {
    const startedAt = now();
    let result: LookResult | undefined;
    try {
      result = await look();
      if (isLogged) log.info({}, 'the account is known again');
      failures = 0;
      isLogged = false;
      state = { notKnownSince: undefined, why: undefined };
    } catch (error) {
      if (failures === 0) failingSince = startedAt;
      failures++;
      const why = readErrorText(error);
      if (!isLogged && (failures >= failuresMax || isOfMissingTables(error))) {
        log.warn({ error: why }, 'the account is not known: the books cannot be compared');
        isLogged = true;
      }
      if (failures >= failuresMax || state.notKnownSince !== undefined)
        state = { notKnownSince: state.notKnownSince ?? failingSince, why };
    }
    await onLook(state, result).catch((error: unknown) =>
      log.debug({ error: errorText(error) }, 'the figures of the account were not read'),
    );
    return result;
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAt = elapsed();
      const { waitedMs = 0, isCalm = false } = (await once()) ?? {};
      const longestMs = failures === 0 ? Number.POSITIVE_INFINITY : failedRestMsMax;
      const workMs = elapsed() - startedAt - waitedMs;
      const restMs = Math.max(isCalm ? calmEveryMs : everyMs, Math.min(workMs / shareMax, longestMs));
      await rest(restMs, stopping.signal);
    }
  };
  const running = run();
  return {
    get state() {
      return state;
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
};
