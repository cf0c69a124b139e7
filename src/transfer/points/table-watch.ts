import type { Durability } from '../../config/settings.ts';
import { startRounds } from '../../runtime/rounds.ts';
import type { QuestdbSql } from '../../stores/questdb/sql.ts';
import {
  commitsAreSynced,
  isBeyondResuming,
  listed,
  readTableStates,
  type TableState,
} from '../../stores/questdb/table-states.ts';
import { createUpsertKeys } from '../../stores/questdb/upsert-keys.ts';
import type { TransferMetrics } from '../../telemetry/transfer-metrics.ts';
import type { Observation } from './table-observations.ts';

/** Watches the tables of points for states that a confirmed write does not show. The metadata role repairs them. */
export type TableWatch = {
  /** Failing tables, by name, for `/readyz`; undefined without any. */
  readonly problem: string | undefined;
  /** Set when commits do not survive a power cut although they shall. */
  readonly durabilityProblem: string | undefined;
  /** Notes that QuestDB cannot change this table any more. Holds until another table has this name. */
  noteBroken(table: string, why: string): void;
  /** Why no row may be written to this table: a row could be stored twice (`unsafe`), or never be visible (`broken`). */
  observed(table: string): Observation | undefined;
  stop(): Promise<void>;
};

export type TableWatchOptions = {
  /** The QuestDB instance, for the figures. */
  readonly instance: string;
  readonly sql: QuestdbSql;
  readonly durability: Durability;
  readonly metrics: Pick<TransferMetrics, 'questdbTables' | 'questdbPendingCommits'>;
  /** Receives the healthy tables after each look. */
  readonly onWell?: (tables: ReadonlySet<string>) => void;
  /** Called when a table is gone that the last look listed, or another one has its name: write over new connections from now on. */
  readonly onGone?: () => void;
  readonly everyMs?: number;
};

/** A broken table. Without a number it was not listed yet; `misses` counts the looks at which it was missing. */
type Broken = { readonly why: string; id: number | undefined; misses: number };

const everyMsDefault = 5_000;
/** After this many looks without it a table is dropped: QuestDB does not list a broken one for a while after its start. */
const missesMax = 60;
/** Of this many missing tables, those that went last, the number is kept. */
const missingMax = 1_000;

const keylessWhy = 'its upsert keys are off: rows could be stored twice';
const otherKeysWhy = 'its upsert keys are not (timestamp, uid): rows overwrite each other';

const isOurs = ({ name }: TableState): boolean => name.endsWith('.__default__');

/** Reads these tables, and returns all that are known to have other upsert keys. One that does not answer changes nothing known. */
const createOtherKeys = (
  sql: QuestdbSql,
): ((readable: readonly TableState[]) => Promise<ReadonlySet<string>>) => {
  const upsertKeys = createUpsertKeys(sql);
  let known: ReadonlySet<string> = new Set();
  return async (readable) => {
    known = await upsertKeys.look(readable.map(({ name }) => name)).catch(() => known);
    return known;
  };
};

/** Looks every five seconds until it is stopped. While QuestDB is away the last look stays valid; the writer reports that. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one timer and what a round of it notes.
export const startTableWatch = ({
  instance,
  sql,
  durability,
  metrics,
  onWell,
  onGone,
  everyMs = everyMsDefault,
}: TableWatchOptions): TableWatch => {
  let problem: string | undefined;
  let durabilityProblem: string | undefined;
  const otherKeysOf = createOtherKeys(sql);
  let unsafe: ReadonlyMap<string, string> = new Map();
  let ids: ReadonlyMap<string, number> = new Map();
  /** As `ids`, and the last number of each missing table: the next one of its name may have come and gone between two looks. */
  let lastIds: ReadonlyMap<string, number> = new Map();
  const broken = new Map<string, Broken>();

  const noteBroken = (table: string, why: string): void => {
    if (!broken.has(table)) broken.set(table, { why, id: ids.get(table), misses: 0 });
  };

  const followIds = (states: readonly TableState[]): void => {
    const listedBefore = ids;
    ids = new Map(states.map(({ name, id }) => [name, id]));
    const isReplaced = [...ids].some(([name, id]) => (lastIds.get(name) ?? id) !== id);
    if (isReplaced || [...listedBefore.keys()].some((name) => !ids.has(name))) onGone?.();
    const missing = [...lastIds].filter(([name]) => !ids.has(name)).slice(-missingMax);
    lastIds = new Map([...missing, ...ids]);
  };

  /** Notes the broken tables, and forgets those that were recreated or dropped. */
  const followBroken = (states: readonly TableState[]): void => {
    for (const state of states) if (isBeyondResuming(state)) noteBroken(state.name, state.why);
    for (const [table, trouble] of broken) {
      const id = ids.get(table);
      trouble.misses = id === undefined ? trouble.misses + 1 : 0;
      trouble.id ??= id;
      if (trouble.misses > missesMax || (id !== undefined && id !== trouble.id)) broken.delete(table);
    }
  };

  const look = async (): Promise<void> => {
    const states = (await readTableStates(sql)).filter(isOurs);
    // Before a broken table is forgotten, and its rows are written again.
    followIds(states);
    followBroken(states);
    const suspended = states.filter(({ name, isSuspended }) => isSuspended && !broken.has(name));
    const keyless = states.filter(({ deduplicates }) => !deduplicates);
    const keyed = states.filter(({ name, deduplicates }) => deduplicates && !broken.has(name));
    const fit = keyed.filter(({ isSuspended }) => !isSuspended);
    // A suspended one is not read, and keeps the keys that it had.
    const known = await otherKeysOf(fit);
    const otherKeys = keyed.filter(({ name }) => known.has(name));
    unsafe = new Map([
      ...otherKeys.map(({ name }) => [name, otherKeysWhy] as const),
      ...keyless.map(({ name }) => [name, keylessWhy] as const),
    ]);
    const problems = [
      ...listed(
        'cannot be changed any more, nothing is written to (docs/stores-in-trouble.md)',
        [...broken].map(([name, { why }]) => ({ name, why })),
      ),
      ...listed('suspended, rows are kept and not visible yet', suspended),
      ...listed('upsert keys are off, nothing is written to', keyless),
      ...listed('upsert keys are not (timestamp, uid), nothing is written to', otherKeys),
    ];
    problem = problems.length === 0 ? undefined : problems.join('; ');
    const well = fit.filter(({ name }) => !unsafe.has(name));
    onWell?.(new Set(well.map(({ name }) => name)));
    metrics.questdbTables.set({ questdb: instance, state: 'ok' }, well.length);
    metrics.questdbTables.set({ questdb: instance, state: 'broken' }, broken.size);
    metrics.questdbTables.set({ questdb: instance, state: 'suspended' }, suspended.length);
    metrics.questdbTables.set({ questdb: instance, state: 'no_upsert_keys' }, unsafe.size);
    metrics.questdbPendingCommits.set(
      { questdb: instance },
      states.reduce((most, { pendingCommits }) => Math.max(most, pendingCommits), 0),
    );
    if (durability === 'power') {
      durabilityProblem = (await commitsAreSynced(sql))
        ? undefined
        : 'TIDEMARK_DURABILITY is power, but QuestDB commits without sync: set cairo.commit.mode=sync';
    }
  };

  const rounds = startRounds(async () => {
    // A QuestDB that does not answer does not accept rows either: the writer reports it.
    await look().catch(() => undefined);
    return everyMs;
  });
  return {
    get problem() {
      return problem;
    },
    get durabilityProblem() {
      return durabilityProblem;
    },
    noteBroken,
    observed: (table) => {
      const why = broken.get(table)?.why;
      if (why !== undefined) return { state: 'broken', scope: 'table', why };
      const unsafeWhy = unsafe.get(table);
      return unsafeWhy === undefined ? undefined : { state: 'unsafe', scope: 'table', why: unsafeWhy };
    },
    stop: rounds.stop,
  };
};
