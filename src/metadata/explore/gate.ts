import { Fault } from '../../model/fault.ts';
import { queryTimeout, type ReadBounds } from '../../stores/read-bounds.ts';

/** The time that one call of Explore may take with all its queries. */
export const callMsMax = 10_000;
const atOnceMax = 4;
const atOnceOfCallerMax = 2;

/** The bounds of the next query of a call. Throws the transient Fault `query_timeout` where its time is over. */
export type NextBounds = () => ReadBounds;

/** Lets few calls at a time to the stores. */
export type Gate = {
  /** Runs `work` at once, or throws a transient Fault `too_many_queries`. */
  run<T>(caller: number, signal: AbortSignal, work: (bounds: NextBounds) => Promise<T>): Promise<T>;
};

const tooMany = (whose: string, max: number): Fault =>
  new Fault('transient', 'too_many_queries', `${whose} at most ${max} queries of Explore at once`);

export const createGate = (now: () => number = () => performance.now()): Gate => {
  const running = new Map<number, number>();
  let all = 0;
  const count = (caller: number, difference: 1 | -1): void => {
    all += difference;
    const own = (running.get(caller) ?? 0) + difference;
    if (own === 0) running.delete(caller);
    else running.set(caller, own);
  };
  return {
    run: async (caller, signal, work) => {
      if ((running.get(caller) ?? 0) >= atOnceOfCallerMax) throw tooMany('one token has', atOnceOfCallerMax);
      if (all >= atOnceMax) throw tooMany('this process runs', atOnceMax);
      count(caller, 1);
      const end = now() + callMsMax;
      try {
        return await work(() => {
          const timeoutMs = end - now();
          if (timeoutMs <= 0) throw queryTimeout(callMsMax);
          return { timeoutMs, signal };
        });
      } finally {
        count(caller, -1);
      }
    },
  };
};
