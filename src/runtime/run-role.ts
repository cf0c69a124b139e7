import { errorText } from '../model/fault.ts';
import type { Log } from '../telemetry/log.ts';
import { stopSignal, whenStopped } from './stop-signal.ts';

/** The parts of a role that have started. They stop one after the other, the last one first, each once. */
export type Parts = {
  /** Registers how a part stops: call it as soon as the part has started. */
  add(name: string, stop: () => unknown): void;
  /** Parts that stop at the same time, at this place in the order. */
  together(): Parts;
  /** Ends the role with this error: a part cannot come back by itself. */
  broke(error: unknown): void;
};

export type RoleOptions = {
  /** The role's name in the log. */
  readonly name: string;
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Ends the role; by default the first SIGTERM or SIGINT. */
  readonly stop?: AbortSignal;
  /** All parts have this long to stop; default 50 s, of the 60 s that Kubernetes and `tidemark up` wait; Kubernetes sends SIGTERM up to 5 s late. */
  readonly stopMsMax?: number;
  /** The same after a start that failed: the caller waits for its reason; default 5 s. */
  readonly failedMsMax?: number;
};

const stopMsMaxDefault = 50_000;
const failedMsMaxDefault = 5_000;
/** After its time is over a role still calls each stop, and waits this long for it. */
const lateMs = 100;

const late = Symbol('late');

/** Resolves with `late` after this many ms; keeps no process alive. */
const after = (ms: number): { readonly done: Promise<typeof late>; cancel(): void } => {
  const { promise, resolve } = Promise.withResolvers<typeof late>();
  const timer = setTimeout(() => resolve(late), ms);
  return { done: promise, cancel: () => clearTimeout(timer) };
};

/** Ends each part within the remaining time, and keeps the errors: none of them delays another part. */
const createEnd = (log: RoleOptions['log']) => {
  const failures: unknown[] = [];
  let deadlineAt = Number.POSITIVE_INFINITY;
  const end = async (name: string, stop: () => unknown): Promise<void> => {
    const timer = after(Math.max(deadlineAt - performance.now(), lateMs));
    try {
      // Not the result of `stop` itself: one that throws at once is a rejection like any other.
      const stopping = (async () => stop())();
      if ((await Promise.race([stopping, timer.done])) === late)
        throw new Error(`${name} did not stop in time`);
    } catch (error) {
      failures.push(error);
      log.error({ part: name, error: errorText(error) }, 'a part of the role was not stopped in order');
    } finally {
      timer.cancel();
    }
  };
  return {
    end,
    failures,
    within: (ms: number): void => {
      deadlineAt = performance.now() + ms;
    },
  };
};

type End = ReturnType<typeof createEnd>['end'];

const partsOn = (register: (stop: () => Promise<void>) => void, end: End, broke: Parts['broke']): Parts => ({
  add: (name, stop) => register(() => end(name, stop)),
  together: () => {
    const stops: (() => Promise<void>)[] = [];
    register(async () => {
      await Promise.all(stops.map((stop) => stop()));
    });
    return partsOn((stop) => stops.push(stop), end, broke);
  },
  broke,
});

/**
 * Runs a role: `start` starts its parts and registers each with `parts.add`; then the role works until `stop` fires, and the parts
 * stop in reverse order. A start that fails, or a part that broke, stops the parts that had started, and its error is thrown; after
 * `stop` has fired, a start may end by any error, and none is thrown for it. A part that does not stop properly delays no other one:
 * its error is logged, and the first of them thrown at the end. SIGHUP ends no role: by default it would, at once.
 */
export const runRole = async (
  { name, log, stop = stopSignal(), stopMsMax, failedMsMax }: RoleOptions,
  start: (parts: Parts, stop: AbortSignal) => Promise<void>,
): Promise<void> => {
  const { end, failures, within } = createEnd(log);
  const parts = new AsyncDisposableStack();
  const broken = Promise.withResolvers<never>();
  const noteHangUp = (): void =>
    log.info({}, 'SIGHUP: certificate files are read again where there are some, and all else goes on');
  process.on('SIGHUP', noteHangUp);
  using listening = new DisposableStack();
  listening.defer(() => process.off('SIGHUP', noteHangUp));
  const work = async (): Promise<void> => {
    await start(
      partsOn((ending) => parts.defer(ending), end, broken.reject),
      stop,
    );
    await whenStopped(stop);
  };
  try {
    await Promise.race([work(), broken.promise]);
  } catch (error) {
    if (!stop.aborted) {
      within(failedMsMax ?? failedMsMaxDefault);
      await parts.disposeAsync();
      throw error;
    }
    if (error !== stop.reason) log.error({ error: errorText(error) }, `${name} was stopped while it started`);
  }
  log.info({}, `${name} stops`);
  within(stopMsMax ?? stopMsMaxDefault);
  await parts.disposeAsync();
  if (failures.length > 0) throw failures[0];
};
