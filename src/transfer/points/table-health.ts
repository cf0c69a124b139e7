import type { AppliedCheck, Unapplied } from '../../stores/questdb/applied.ts';
import type { HeldMessage } from '../held-message.ts';
import {
  type FailingTable,
  KnownTables,
  type KnownTablesOptions,
  type TableVerdict,
} from './known-tables.ts';
import { joined, type Observation, ofApplied, ofWrite } from './table-observations.ts';
import type { TriedTables } from './write-tables.ts';

/**
 * Whether a table of points takes rows: one state for each, kept here and nowhere else. A table that is not kept is `ok`.
 *
 * | state     | entered when                                                        | observed by | its next batch             |
 * |-----------|---------------------------------------------------------------------|-------------|----------------------------|
 * | ok        | QuestDB took its rows and shows them                                | write       | is written with the others |
 * | proving   | it failed, and QuestDB lists it as well again                       | watch       | is written by itself       |
 * | late      | QuestDB took its rows, does not show them yet, and works on it      | applied     | is checked, not written    |
 * | suspended | … but makes no progress, or QuestDB refuses to change it            | applied     | is checked, not written    |
 * | failing   | an answer to its rows alone that concerns none of them              | write       | is written by itself       |
 * | missing   | QuestDB has no table of this name                                   | write       | is written by itself       |
 * | unsafe    | its upsert keys are off: a repeat would be stored twice             | watch       | is not written             |
 * | broken    | QuestDB cannot change it any more: confirmed rows may be lost       | all three   | is not written             |
 *
 * Of several observations of one report the lower line wins. Every state but `broken` becomes any other by the next observation;
 * `broken` ends when another table has this name (the watch recognises it by its number). `next batch`: a table that is not `ok`
 * is tried once each `retryMs`, one that is unavailable once each `probeMs`; between two tries it is not checked.
 *
 * Its rows wait in the stream (`wait`), or go to the dead letters (`dead_letter`). A table is unavailable
 * - at once when it is `broken`;
 * - once it was in other states than `ok` and `late` for `waitMs`; a time that the store was away does not count;
 * - at once when the waiting messages reach `waitingMax`, in descending order of waiting messages: NATS would deliver nothing of any
 *   table beyond that limit. A `late` table has to be late for `waitMs` first.
 * Except for `broken`, no table is unavailable, and no row is dead-lettered, while the store may be at fault: the observation names the
 * server or its disk; or it names neither, and no other table takes rows; or at least three tables were written in the last minute
 * and more than half of them are in the same state. A table stays unavailable until it takes rows, or is found `late` after another
 * state.
 */
export type TableHealth = {
  /**
   * The plan of the next write for these tables. Call it once per write: it hands out the tries. Throws the Faults of AppliedCheck.
   */
  plan(tables: Iterable<string>): Promise<TablePlan>;
  /**
   * Notes the result of a write, once its rows are visible. Tables of `purged` data ids are left out. Throws the Faults of AppliedCheck, and notes
   * nothing then.
   */
  report(
    plan: TablePlan,
    tried: TriedTables,
    batch: readonly HeldMessage[],
    purged: ReadonlySet<number>,
  ): Promise<TableReport>;
  /** QuestDB reported in the middle of a write that it cannot change this table any more. */
  noteBroken(table: string, why: string): void;
  /** Reports an unknown answer to a write of several tables. */
  answeredUnknown(): void;
  /** Reports a failure of the store itself: the time for which a table has failed restarts now. */
  storeFailed(): void;
  /** Reports that these tables exist and can be changed. */
  seenWell(tables: ReadonlySet<string>): void;
  /** Tables that take no rows now, in descending order of waiting messages. */
  failing(): FailingTable[];
};

export type TablePlan = {
  /** Tables to write in one request. */
  readonly together: ReadonlySet<string>;
  /** Tables to write each by itself. */
  readonly apart: readonly string[];
  /** Observations of tables that are not written. */
  readonly observed: ReadonlyMap<string, Observation>;
  /** What to do with the rows of tables that are not due for a try. */
  readonly verdicts: ReadonlyMap<string, TableVerdict>;
};

export type TableReport = {
  readonly verdicts: ReadonlyMap<string, TableVerdict>;
  /** Why a table takes no rows. */
  why(table: string): string;
  /** Why no table of the batch takes rows; undefined when one does, and where all are missing or broken. */
  readonly problem: string | undefined;
};

export type TableHealthOptions = KnownTablesOptions & {
  readonly applied: Pick<AppliedCheck, 'unapplied' | 'stillUnapplied'>;
  /** The observation of a table that must not be written to; it also receives reports of broken ones. */
  readonly watch: {
    observed(table: string): Observation | undefined;
    noteBroken(table: string, why: string): void;
  };
};

/** After this many unclassified answers to whole batches each table is written by itself, to find the one that fails. */
const unknownAnswersMax = 2;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: plan and report stand side by side: one answers the other.
export const createTableHealth = (options: TableHealthOptions): TableHealth => {
  const { applied, watch } = options;
  const tables = new KnownTables(options);
  let unknownAnswers = 0;

  /** Tables with rows that QuestDB confirmed and does not show. */
  const unshownOf = (unapplied: Unapplied): Map<string, Observation> => {
    const unshown = ofApplied(unapplied);
    for (const [name, { state, why }] of unshown) if (state === 'broken') watch.noteBroken(name, why);
    return unshown;
  };

  const plan: TableHealth['plan'] = async (names) => {
    const verdicts = new Map<string, TableVerdict>();
    const observed = new Map<string, Observation>();
    const fit: string[] = [];
    for (const name of names) {
      const next = tables.nextOf(name);
      const seen = next === 'write' ? watch.observed(name) : undefined;
      if (next !== 'write') verdicts.set(name, next);
      else if (seen !== undefined) observed.set(name, seen);
      else fit.push(name);
    }
    const unshown = unshownOf(await applied.stillUnapplied(fit));
    const written = fit.filter((name) => !unshown.has(name));
    const isApart = (name: string): boolean => tables.has(name) || unknownAnswers >= unknownAnswersMax;
    return {
      together: new Set(written.filter((name) => !isApart(name))),
      apart: written.filter(isApart),
      observed: joined(observed, unshown),
      verdicts,
    };
  };

  const report: TableHealth['report'] = async (plan, tried, batch, purged) => {
    unknownAnswers = 0;
    const unshown = unshownOf(await applied.unapplied(tried.storedTables));
    const observed = joined(plan.observed, unshown, ofWrite(tried));
    const verdicts = new Map(plan.verdicts);
    // The stored ones first: rows that other tables accept prove that the store is alive.
    for (const name of tried.storedTables) {
      if (observed.has(name)) continue;
      verdicts.set(name, 'stored');
      tables.stored(name);
    }
    const isStored = [...verdicts.values()].includes('stored');
    for (const [name, observation] of observed) tables.observe(name, observation);
    for (const name of observed.keys()) {
      const verdict = tables.verdictOf(name);
      if (verdict !== undefined) verdicts.set(name, verdict);
    }
    tables.noteWaiting(batch, purged, verdicts);
    for (const name of tables.makeRoom()) verdicts.set(name, 'dead_letter');
    const first = [...observed.values()].find(({ state }) => state !== 'missing' && state !== 'broken');
    return {
      verdicts,
      why: (name) => tables.why(name),
      problem: isStored || tried.refused.length > 0 ? undefined : first?.why,
    };
  };

  return {
    plan,
    report,
    noteBroken: watch.noteBroken,
    answeredUnknown: () => {
      unknownAnswers++;
    },
    storeFailed: () => {
      unknownAnswers = 0;
      tables.storeFailed();
    },
    seenWell: (names) => tables.seenWell(names),
    failing: () => tables.failing(),
  };
};
