import { isConflict, type KvBucket } from '../../bus/kv.ts';
import { systemKeys } from '../../directory/keys.ts';
import { errorText } from '../../model/fault.ts';
import type { Log } from '../../telemetry/log.ts';

/** Days in which rows are there twice, and that are merged for it, whoever is killed meanwhile. */
export type OwedMerges = {
  /**
   * Writes down that the day (since 1970 UTC) is to be merged, and begins to do so. Throws a transient Fault when that could not be
   * stored: the messages of the rows must not be settled then.
   */
  owe(day: number): Promise<void>;
  stop(): void;
};

export type OwedMergesOptions = {
  /** Where they are written down. */
  readonly bucket: Pick<KvBucket, 'put' | 'delete' | 'watch'>;
  /** Merges a day: takes minutes for a large one. */
  readonly merge: (day: number) => Promise<void>;
  readonly onMerged: () => void;
  readonly log: Log;
  /** After this the merge of another process is taken for given up, ms: longer than a merge may run. */
  readonly takeOverMs?: number;
  /** Between two looks at the owed merges, ms. */
  readonly lookMs?: number;
};

const takeOverMsDefault = 15 * 60_000;
const lookMsDefault = 60_000;

/** An owed merge of a day: the revision of its key, and when this process merges the day if no other one has. */
type Owed = { readonly revision: number; readonly dueAt: number };

const dayOf = (key: string): number => Number(key.slice(systemKeys.owedMerge('').length));

/**
 * A day's key stands from before the messages are acknowledged until the day is merged. Merges that a process owed when it was
 * killed is merged by the next one that starts, or by any other after a time; to merge a day twice does no harm.
 */
export const startOwedMerges = ({
  bucket,
  merge,
  onMerged,
  log,
  takeOverMs = takeOverMsDefault,
  lookMs = lookMsDefault,
}: OwedMergesOptions): OwedMerges => {
  const owed = new Map<number, Owed>();
  const running = new Set<number>();
  let isStarted = false;

  const run = async (day: number): Promise<void> => {
    if (running.has(day)) return;
    const revision = owed.get(day)?.revision;
    if (revision === undefined) return;
    running.add(day);
    try {
      await merge(day);
      onMerged();
      log.warn({ day }, 'two attempts at one insert overlapped; the day was merged');
      await bucket.delete(systemKeys.owedMerge(String(day)), revision);
      if (owed.get(day)?.revision === revision) owed.delete(day);
    } catch (error) {
      // It was written down again meanwhile: what that was for may not have been merged, and the next look sees to it.
      if (isConflict(error)) return;
      log.error(
        { day, error: errorText(error) },
        'a day with duplicate rows is not merged yet; a retry follows',
      );
    } finally {
      running.delete(day);
    }
  };

  const look = (): void => {
    const now = performance.now();
    for (const [day, { dueAt }] of owed) if (now >= dueAt) void run(day);
  };

  const watch = bucket.watch(
    ({ key, value, revision }) => {
      const day = dayOf(key);
      if (!Number.isSafeInteger(day)) return;
      if (value === undefined) {
        if ((owed.get(day)?.revision ?? 0) < revision) owed.delete(day);
      } else if ((owed.get(day)?.revision ?? 0) < revision) {
        const waitMs = isStarted ? takeOverMs : 0;
        owed.set(day, { revision, dueAt: performance.now() + waitMs });
      }
    },
    (seen) => {
      for (const day of owed.keys()) if (!seen.has(systemKeys.owedMerge(String(day)))) owed.delete(day);
      isStarted = true;
      look();
    },
    systemKeys.owedMerge('*'),
  );
  const timer = setInterval(look, lookMs);
  timer.unref();

  return {
    owe: async (day) => {
      const revision = await bucket.put(systemKeys.owedMerge(String(day)), { at: Date.now() });
      owed.set(day, { revision, dueAt: performance.now() });
      void run(day);
    },
    stop: () => {
      clearInterval(timer);
      watch.stop();
    },
  };
};
