import { setTimeout as delay } from 'node:timers/promises';
import type { Look } from '../../account/look.ts';
import { errorText } from '../../model/fault.ts';
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
  /** Called after each look, with the state. */
  readonly onLook: (state: AccountState) => Promise<void>;
  readonly now: () => number;
  readonly log: Log;
  readonly everyMs?: number;
};

/** A look takes at most this share of the time, so that long books do not keep ClickHouse busy. */
const shareMax = 0.25;

/** One failed look says little: the books are compared again soon. */
const failuresMax = 3;

export const startAccountWatch = ({
  look,
  onLook,
  now,
  log,
  everyMs = 15_000,
}: AccountWatchDependencies): AccountWatch => {
  const stopping = new AbortController();
  let state: AccountState = { notKnownSince: now(), why: 'the books were not compared yet' };
  let failures = 0;

  const once = async (): Promise<void> => {
    try {
      await look();
      if (failures >= failuresMax) log.info({}, 'the account is known again');
      failures = 0;
      state = { notKnownSince: undefined, why: undefined };
    } catch (error) {
      failures++;
      const why = errorText(error);
      if (failures === failuresMax)
        log.warn({ error: why }, 'the account is not known: the books cannot be compared');
      if (failures >= failuresMax || state.notKnownSince !== undefined)
        state = { notKnownSince: state.notKnownSince ?? now(), why };
    }
    await onLook(state).catch((error: unknown) =>
      log.debug({ error: errorText(error) }, 'the figures of the account were not read'),
    );
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      await once();
      const restMs = Math.max(everyMs, (performance.now() - startedAt) / shareMax);
      await delay(restMs, undefined, { signal: stopping.signal }).catch(() => undefined);
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
