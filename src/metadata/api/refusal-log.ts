import type { Log } from '../../telemetry/log.ts';

/** Answers of one code belong together unless a longer time lies between two of them, in ms. */
const quietMs = 60_000;

/** Logs refusals that callers can cause as often as they like: the beginning and the end of each run. */
export type RefusalLog = { add(code: string, detail: string): void };

type Run = { count: number; lastAt: number };

/** Runs are distinguished by code, of which there are few. */
export const createRefusalLog = (log: Pick<Log, 'warn' | 'info'>, now: () => number): RefusalLog => {
  const runs = new Map<string, Run>();

  const endLater = (code: string, run: Run, afterMs: number): void => {
    setTimeout(() => {
      const leftMs = run.lastAt + quietMs - now();
      if (leftMs > 0) return endLater(code, run, leftMs);
      runs.delete(code);
      log.info({ code, answers: run.count }, 'no refusal for this reason within a minute');
    }, afterMs).unref();
  };

  return {
    add: (code, detail) => {
      const run = runs.get(code);
      if (run !== undefined) {
        run.count++;
        run.lastAt = now();
        return;
      }
      const begun = { count: 1, lastAt: now() };
      runs.set(code, begun);
      log.warn({ code }, `refused: ${detail}; further refusals are only counted`);
      endLater(code, begun, quietMs);
    },
  };
};
