import { type ActPulse, actsMax } from '../../telemetry/pulse.ts';
import type { SeenProcess } from './processes.ts';

/** What an act on dead letters reports while it runs. */
export type ActProgress = {
  matched(letters: number): void;
  done(items: number): void;
  failed(): void;
  end(): void;
};

/** The acts on dead letters that this process runs; its pulse carries them, so that every metadata process can show them. */
export type Acts = {
  begin(act: ActPulse['act'], isDryRun: boolean): ActProgress;
  /** The newest ones: those that run, and for some seconds those that have ended. */
  list(): ActPulse[];
};

/** Longer than a pulse may be late. */
const shownMs = 3_500;

/** `elapsed` in ms; `now` in ms since the epoch. */
export const createActs = (elapsed: () => number, now: () => number): Acts => {
  let acts: { act: ActPulse; endedAt: number | undefined }[] = [];
  let lastId = 0;
  const forget = (): void => {
    acts = acts.filter(({ endedAt }) => endedAt === undefined || elapsed() - endedAt < shownMs);
  };
  return {
    begin: (act, isDryRun) => {
      forget();
      const startedAt = Math.floor(now() / 1_000);
      const counts = { matched: 0, done: 0, failed: 0, items: 0 };
      const one: (typeof acts)[number] = {
        act: { id: ++lastId, act, isDryRun, startedAt, ...counts, hasEnded: false },
        endedAt: undefined,
      };
      acts.push(one);
      const change = (fields: Partial<ActPulse>): void => {
        one.act = { ...one.act, ...fields };
      };
      return {
        matched: (matched) => change({ matched }),
        done: (items) => change({ done: one.act.done + 1, items: one.act.items + items }),
        failed: () => change({ failed: one.act.failed + 1 }),
        end: () => {
          change({ hasEnded: true });
          one.endedAt = elapsed();
        },
      };
    },
    list: () => {
      forget();
      return acts.slice(-actsMax).map(({ act }) => act);
    },
  };
};

/** The acts of all processes, as the live view tells them. Those of a killed process do not run. */
export const shownActs = (processes: readonly Pick<SeenProcess, 'id' | 'pulse' | 'isGone'>[]) =>
  processes.flatMap(({ id, pulse: { metadata }, isGone }) =>
    (isGone ? [] : (metadata?.acts ?? [])).map((act) => ({
      id: `${id}-${act.id}`,
      act: act.act,
      dry_run: act.isDryRun,
      started_at: act.startedAt,
      matched: act.matched,
      done: act.done,
      failed: act.failed,
      items: act.items,
      has_ended: act.hasEnded,
    })),
  );
