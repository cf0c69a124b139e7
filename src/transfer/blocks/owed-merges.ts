import { isConflict, type KvBucket } from '../../bus/kv.ts';
import { systemKeys } from '../../directory/keys.ts';
import { errorText } from '../../model/fault.ts';
import { signals } from '../../model/signals.ts';
import type { ItemTable } from '../../stores/clickhouse/item-tables.ts';
import type { Log } from '../../telemetry/log.ts';

/** Days of a table with rows that are stored twice, each of which gets a merge, even if a process is killed meanwhile. */
export type OwedMerges = {
  /**
   * Records that the day (since 1970 UTC) needs a merge, and begins it. Throws a transient Fault when that could not be stored: the
   * messages of the rows must not be settled then.
   */
  owe(day: number): Promise<void>;
  stop(): void;
};

export type OwedMergesOptions = {
  /** Whose table the days are of. */
  readonly table: Pick<ItemTable, 'pipeline' | 'name'>;
  /** The bucket of the records. */
  readonly bucket: Pick<KvBucket, 'put' | 'delete' | 'watch'>;
  /** Merges a day: takes minutes for a large one. */
  readonly merge: (day: number) => Promise<void>;
  readonly onMerged: () => void;
  readonly log: Log;
  /** After this time the merge of another process counts as abandoned, ms: longer than a merge may run. */
  readonly takeOverMs?: number;
  /** Between two looks at the owed merges, ms. */
  readonly lookMs?: number;
};

const takeOverMsDefault = 15 * 60_000;
const lookMsDefault = 60_000;

/** An owed merge of a day: the revision of its key, and when this process merges the day if no other one has. */
type Owed = { readonly revision: number; readonly dueAt: number };

type Table = OwedMergesOptions['table'];

/** The days of the first signals are named without their table, as earlier versions name them. */
const keyOf = ({ pipeline, name }: Table, day: number | ''): string => {
  if (pipeline === 'traces') return systemKeys.owedMerge(String(day));
  const table = signals[pipeline].tables.length === 1 ? pipeline : name;
  return systemKeys.owedMerge(`${table}-${day}`);
};

/** Undefined for a day of another table. */
const dayOf = (table: Table, key: string): number | undefined => {
  const before = keyOf(table, '');
  const day = key.startsWith(before) ? Number(key.slice(before.length)) : Number.NaN;
  return Number.isSafeInteger(day) ? day : undefined;
};

/**
 * A day's key exists from before the messages are acknowledged until the day is merged. The next process that starts, or any other
 * one after a time, carries out the merges that a killed process owed; to merge a day twice does no harm.
 */
export const startOwedMerges = ({
  table,
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
      log.warn(
        { pipeline: table.pipeline, table: table.name, day },
        'two attempts at one insert overlapped; the day was merged',
      );
      await bucket.delete(keyOf(table, day), revision);
      if (owed.get(day)?.revision === revision) owed.delete(day);
    } catch (error) {
      // The day was recorded again meanwhile: this merge may not cover the new rows, and the next look merges again.
      if (isConflict(error)) return;
      log.error(
        { pipeline: table.pipeline, table: table.name, day, error: errorText(error) },
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
      const day = dayOf(table, key);
      if (day === undefined) return;
      if (value === undefined) {
        if ((owed.get(day)?.revision ?? 0) < revision) owed.delete(day);
      } else if ((owed.get(day)?.revision ?? 0) < revision) {
        const waitMs = isStarted ? takeOverMs : 0;
        owed.set(day, { revision, dueAt: performance.now() + waitMs });
      }
    },
    (seen) => {
      for (const day of owed.keys()) if (!seen.has(keyOf(table, day))) owed.delete(day);
      isStarted = true;
      look();
    },
    systemKeys.owedMerge('*'),
  );
  const timer = setInterval(look, lookMs).unref();

  return {
    owe: async (day) => {
      const revision = await bucket.put(keyOf(table, day), { at: Date.now() });
      owed.set(day, { revision, dueAt: performance.now() });
      void run(day);
    },
    stop: () => {
      clearInterval(timer);
      watch.stop();
    },
  };
};
