import { z } from 'zod';
import type { KvBucket } from '../../bus/kv.ts';
import { systemKeys } from '../../directory/keys.ts';
import { errorText } from '../../model/fault.ts';
import type { BatchBounds } from '../../stores/clickhouse/block-statements.ts';
import { isAnswer } from '../../stores/clickhouse/faults.ts';
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
  /** Epoch of this process: no other one has its keys. */
  readonly boot: number;
  /** The bucket of the records. */
  readonly bucket: Pick<KvBucket, 'put' | 'delete' | 'watch'>;
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

/** Answers of ClickHouse without a count, as of a dropped table, after which the day is merged without a look. */
const failuresMax = 5;

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

type Look = {
  readonly into: WrittenTable;
  readonly day: number;
  /** Undefined for a record that another version wrote and this one cannot read: the day is merged without a look. */
  readonly bounds: BatchBounds | undefined;
  readonly dueAt: number;
  /** Looks that ClickHouse answered with an error. */
  readonly failures: number;
};

const targetOf = (tables: readonly WrittenTable[], key: string): Pick<Look, 'into' | 'day'> | undefined => {
  const [kind, name, day] = key.split('-');
  const into = tables.find(({ table }) => table.name === name);
  return into === undefined || kind !== systemKeys.owedMerge('late') ? undefined : { into, day: Number(day) };
};

/** One after another, so that many of them after an outage are no load. One that fails comes last at the next time. */
const createRunner = (looks: Map<string, Look>, { bucket, log }: LateLooksOptions) => {
  let isRunning = false;
  const run = async (key: string, { into, day, bounds, failures }: Look): Promise<void> => {
    const isBlind = bounds === undefined || failures >= failuresMax;
    if (isBlind || (await into.writer.countRepeats(bounds)) > 0) await into.onOverlap(day);
    await bucket.delete(key);
    looks.delete(key);
  };
  return async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    for (const [key, look] of [...looks]) {
      if (performance.now() < look.dueAt) continue;
      try {
        await run(key, look);
      } catch (error) {
        const isAnswered = isAnswer(error);
        const failures = look.failures + (isAnswered ? 1 : 0);
        looks.delete(key);
        looks.set(key, { ...look, failures });
        const { table } = look.into;
        log.warn(
          { table: table.name, day: look.day, key, failures, failuresMax, error: errorText(error) },
          'a look for rows of an insert without an answer failed; it is tried again, and after failuresMax answers the day is merged without it',
        );
        if (!isAnswered) break;
      }
    }
    isRunning = false;
  };
};

/** A look has its key from before the messages are acknowledged until it is done. To look twice does no harm. */
export const startLateLooks = (options: LateLooksOptions): LateLooks => {
  const { tables, boot, bucket, delayMs = delayMsDefault, takeOverMs = takeOverMsDefault } = options;
  const looks = new Map<string, Look>();
  const runDue = createRunner(looks, options);
  let count = 0;
  let isStarted = false;

  const watch = bucket.watch(
    ({ key, value }) => {
      const target = targetOf(tables, key);
      if (target === undefined) return;
      if (value === undefined) looks.delete(key);
      else if (!looks.has(key)) {
        // A process that starts cannot know how old the record is.
        const dueAt = performance.now() + (isStarted ? takeOverMs : delayMs);
        looks.set(key, { ...target, bounds: recordSchema.safeParse(value).data, dueAt, failures: 0 });
      }
    },
    (seen) => {
      for (const key of looks.keys()) if (!seen.has(key)) looks.delete(key);
      isStarted = true;
    },
    systemKeys.owedMerge('*'),
  );
  const timer = setInterval(() => void runDue(), options.lookMs ?? lookMsDefault);
  timer.unref();

  return {
    owe: async (table, day, bounds) => {
      const key = systemKeys.owedMerge(`late-${table}-${day}-${boot}-${++count}`);
      const target = targetOf(tables, key);
      if (target === undefined) return;
      await bucket.put(key, recordOf(bounds));
      looks.set(key, { ...target, bounds, dueAt: performance.now() + delayMs, failures: 0 });
    },
    stop: () => {
      clearInterval(timer);
      watch.stop();
    },
  };
};
