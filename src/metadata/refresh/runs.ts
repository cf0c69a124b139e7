import { z } from 'zod';
import type { KvBucket, Stored } from '../../bus/kv.ts';

const count = z.int().nonnegative();

/** The result of one run. Times are Unix seconds; `finished` and `duration_ms` are null while it runs. */
export const refreshRunSchema = z.strictObject({
  run_id: z.int().positive(),
  trigger: z.enum(['schedule', 'manual']),
  /** `interrupted`: its process ended, stopped or lost the lease; the next run does the rest. */
  state: z.enum(['running', 'done', 'interrupted']),
  started: count,
  finished: count.nullable(),
  duration_ms: count.nullable(),
  created: count,
  updated: count,
  unchanged: count,
  deleted: count,
  failed_count: count,
  /** The first 1000 failures, one for each report. */
  failed: z.array(z.strictObject({ mon_data_id: z.int(), report: z.string(), error: z.string() })).max(1000),
});

export type RefreshRun = z.output<typeof refreshRunSchema>;

export const runsKept = 100;

/** The run records in KV: the key of a run is that of the one a hundred before it, which is thereby gone. */
export type Runs = {
  get(runId: number): Promise<RefreshRun | undefined>;
  /** The runs that are kept, latest first. */
  list(): Promise<RefreshRun[]>;
  /** Writes a run that is new. */
  begin(run: RefreshRun): Promise<void>;
  /** Replaces it only while the record is `running`: the conclusion of the next run stays. */
  finish(run: RefreshRun): Promise<void>;
};

const keyOf = (runId: number): string => `refresh_run.${runId % runsKept}`;

const parse = (stored: Stored | undefined): RefreshRun | undefined =>
  refreshRunSchema.safeParse(stored?.value).data;

export const createRuns = (system: KvBucket): Runs => ({
  get: async (runId) => {
    const run = parse(await system.get(keyOf(runId)));
    return run?.run_id === runId ? run : undefined;
  },
  list: async () => {
    const slots = Array.from({ length: runsKept }, (_, slot) => slot);
    const stored = await Promise.all(slots.map((slot) => system.get(keyOf(slot))));
    return stored.flatMap((value) => parse(value) ?? []).sort((left, right) => right.run_id - left.run_id);
  },
  begin: async (run) => {
    await system.put(keyOf(run.run_id), run);
  },
  finish: async (run) => {
    const stored = await system.get(keyOf(run.run_id));
    const before = parse(stored);
    if (stored === undefined || before?.run_id !== run.run_id || before.state !== 'running') return;
    await system.update(keyOf(run.run_id), run, stored.revision);
  },
});
