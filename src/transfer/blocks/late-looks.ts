import { z } from 'zod';
import { type KvBucket, unlessConflict, untilWritten } from '../../bus/kv.ts';
import { systemKeys } from '../../directory/keys.ts';
import { errorText } from '../../model/fault.ts';
import type { BatchBounds } from '../../stores/clickhouse/block-statements.ts';
import { isAnswer, isTransientAnswer } from '../../stores/clickhouse/faults.ts';
import { coalesceRanges } from '../../stores/clickhouse/ranges.ts';
import type { Log } from '../../telemetry/log.ts';
import type { WrittenTable } from './piece-inserts.ts';

/** Looks for rows that an insert without an answer may store after its repeat, even if a process is killed meanwhile. */
export type LateLooks = {
  /**
   * Records that rows of this day (since 1970 UTC) and these bounds are looked for once nothing can be on its way. Throws a transient Fault
   * when that could not be stored: the messages of the rows must not be settled then.
   */
  owe(table: string, day: number, bounds: BatchBounds): Promise<void>;
  stop(): void;
};

export type LateLooksOptions = {
  readonly tables: readonly WrittenTable[];
  /** The bucket of the records. */
  readonly bucket: Pick<KvBucket, 'get' | 'create' | 'update' | 'delete' | 'watch'>;
  readonly log: Log;
  readonly delayMs?: number;
  /** After this time the look of another process counts as abandoned, ms. */
  readonly takeOverMs?: number;
  readonly lookMs?: number;
};

/** TCP sends again every 120 s at most: what a proxy or a killed process had under way has arrived, and its insert has ended. */
const delayMsDefault = 180_000;
const takeOverMsDefault = 15 * 60_000;
const lookMsDefault = 30_000;

/** Refusals of ClickHouse that do not pass, as of a dropped table, after which the day is merged without a look. */
const failuresMax = 5;
/** A look that failed for so long for any other reason ends in the same way, ms: a merge costs a busy ClickHouse more than the look. */
const triedMsMax = 3_600_000;

/** A deleted key leaves a marker for ever, so keys come again: all that is owed in one slot of a day has one, longer than a look is due. */
const slots = { count: 8, ms: 60_000 };
const writeTriesMax = 8;

const rangesMax = 128;
const nameBytesMax = 16 * 1024;

const recordSchema = z
  .object({
    uids: z.array(z.tuple([z.coerce.bigint(), z.coerce.bigint()])),
    time_min: z.coerce.bigint(),
    time_max: z.coerce.bigint(),
    names: z.array(z.array(z.string())),
  })
  .transform(
    (record): BatchBounds => ({
      uidRanges: record.uids,
      timeMin: record.time_min,
      timeMax: record.time_max,
      names: record.names,
    }),
  );

/** Without names where they are many: the look reads more rows then. */
const recordOf = ({ uidRanges, timeMin, timeMax, names }: BatchBounds) => {
  const texts = [...new Set(names.map((each) => JSON.stringify(each)))];
  const isShort = texts.reduce((sum, text) => sum + text.length, 0) <= nameBytesMax;
  return {
    uids: coalesceRanges(uidRanges, rangesMax).map(({ first, last }) => [String(first), String(last)]),
    time_min: String(timeMin),
    time_max: String(timeMax),
    names: isShort ? texts.map((text): unknown => JSON.parse(text)) : [],
  };
};

const earlier = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const later = (a: bigint, b: bigint): bigint => (a > b ? a : b);

const joined = (some: BatchBounds, others: BatchBounds): BatchBounds => ({
  uidRanges: [...some.uidRanges, ...others.uidRanges],
  timeMin: earlier(some.timeMin, others.timeMin),
  timeMax: later(some.timeMax, others.timeMax),
  // Without names means with any.
  names: some.names.length === 0 || others.names.length === 0 ? [] : [...some.names, ...others.names],
});

/** Adds these bounds to what any process has recorded under the key. */
const record = ({ bucket }: LateLooksOptions, key: string, bounds: BatchBounds) =>
  untilWritten(key, writeTriesMax, async () => {
    const stored = await bucket.get(key);
    if (stored === undefined) {
      const value = recordOf(bounds);
      return { bounds: recordSchema.parse(value), revision: await bucket.create(key, value) };
    }
    const known = recordSchema.safeParse(stored.value).data;
    const value = known === undefined ? stored.value : recordOf(joined(known, bounds));
    const revision = await bucket.update(key, value, stored.revision);
    return { bounds: recordSchema.safeParse(value).data, revision };
  });

/** The failed looks of a key until one succeeds, also while more is added to it. */
type Trouble = {
  /** When the first one was due, ms of `performance.now()`. */
  readonly since: number | undefined;
  /** Those that ClickHouse refused for a reason that does not pass. */
  readonly refusals: number;
};

const noTrouble: Trouble = { since: undefined, refusals: 0 };

type Look = {
  readonly into: WrittenTable;
  readonly day: number;
  /** Undefined for a record that another version wrote and this one cannot read: the day is merged without a look. */
  readonly bounds: BatchBounds | undefined;
  readonly revision: number;
  readonly dueAt: number;
  readonly trouble: Trouble;
};

const targetOf = (tables: readonly WrittenTable[], key: string): Pick<Look, 'into' | 'day'> | undefined => {
  const [kind, name, day] = key.split('-');
  const into = tables.find(({ table }) => table.name === name);
  return into === undefined || kind !== systemKeys.owedMerge('late') ? undefined : { into, day: Number(day) };
};

/** One after another, so that many of them after an outage are no load. One that fails comes last at the next time. */
const createRunner = (looks: Map<string, Look>, { bucket, log }: LateLooksOptions) => {
  let isRunning = false;
  const run = async (key: string, look: Look): Promise<void> => {
    const { into, day, bounds, trouble, revision } = look;
    const isTriedLong = performance.now() > (trouble.since ?? Infinity) + triedMsMax;
    const isBlind = bounds === undefined || trouble.refusals >= failuresMax || isTriedLong;
    if (isBlind || (await into.writer.countRepeats(bounds)) > 0) await into.onOverlap(day);
    // What was added meanwhile has a look of its own.
    await unlessConflict(bucket.delete(key, revision));
    const added = looks.get(key);
    if (added === look) looks.delete(key);
    else if (added !== undefined) looks.set(key, { ...added, trouble: noTrouble });
  };
  return async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    for (const [key, look] of [...looks]) {
      if (looks.get(key) !== look || performance.now() < look.dueAt) continue;
      try {
        await run(key, look);
      } catch (error) {
        const isRefused = isAnswer(error) && !isTransientAnswer(error);
        const known = looks.get(key);
        const failures = (known ?? look).trouble.refusals + (isRefused ? 1 : 0);
        if (known !== undefined) {
          looks.delete(key);
          const since = known.trouble.since ?? look.dueAt;
          looks.set(key, { ...known, trouble: { since, refusals: failures } });
        }
        const { table } = look.into;
        log.warn(
          { table: table.name, day: look.day, key, failures, failuresMax, error: errorText(error) },
          'the search for duplicate rows of an unanswered insert failed and is retried; after failuresMax refusals, or an hour, the day is merged without it',
        );
        if (!isRefused) break;
      }
    }
    isRunning = false;
  };
};

/** A look has its key from before the messages are acknowledged until it is done. To look twice does no harm. */
export const startLateLooks = (options: LateLooksOptions): LateLooks => {
  const { tables, bucket, delayMs = delayMsDefault, takeOverMs = takeOverMsDefault } = options;
  const looks = new Map<string, Look>();
  const runDue = createRunner(looks, options);
  let isStarted = false;

  const watch = bucket.watch(
    ({ key, value, revision }) => {
      const target = targetOf(tables, key);
      if (target === undefined || (looks.get(key)?.revision ?? 0) >= revision) return;
      if (value === undefined) looks.delete(key);
      else {
        // A process that starts cannot know how old the record is.
        const dueAt = performance.now() + (isStarted ? takeOverMs : delayMs);
        looks.set(key, {
          ...target,
          bounds: recordSchema.safeParse(value).data,
          revision,
          dueAt,
          trouble: looks.get(key)?.trouble ?? noTrouble,
        });
      }
    },
    (seen) => {
      for (const key of looks.keys()) if (!seen.has(key)) looks.delete(key);
      isStarted = true;
    },
    systemKeys.owedMerge('*'),
  );
  const timer = setInterval(() => void runDue(), options.lookMs ?? lookMsDefault).unref();

  return {
    owe: async (table, day, bounds) => {
      const slot = Math.floor(Date.now() / slots.ms) % slots.count;
      const key = systemKeys.owedMerge(`late-${table}-${day}-${slot}`);
      const target = targetOf(tables, key);
      if (target === undefined) return;
      const recorded = await record(options, key, bounds);
      // A process that has added to it since then is the one to look.
      const known = looks.get(key);
      if ((known?.revision ?? 0) > recorded.revision) return;
      const trouble = known?.trouble ?? noTrouble;
      looks.set(key, { ...target, ...recorded, dueAt: performance.now() + delayMs, trouble });
    },
    stop: () => {
      clearInterval(timer);
      watch.stop();
    },
  };
};
