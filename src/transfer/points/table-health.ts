import type { AppliedCheck, Unapplied } from '../../stores/questdb/applied.ts';
import type { FailureScope } from '../../stores/questdb/table-states.ts';
import type { HeldMessage } from '../held-message.ts';
import { createRecentWrites } from './recent-writes.ts';
import type { WaitingMessages } from './waiting-messages.ts';
import type { TriedTables } from './write-tables.ts';

/**
 * Whether a table of points takes rows: one state for each, kept here and nowhere else. A table that is not kept is `ok`.
 *
 * | state     | entered when                                                        | observed by | its next batch             |
 * |-----------|---------------------------------------------------------------------|-------------|----------------------------|
 * | ok        | QuestDB took its rows and shows them                                | write       | is written with the others |
 * | proving   | it failed, and QuestDB lists it as well again                       | watch       | is written by itself       |
 * | late      | QuestDB took its rows, does not show them yet, and works on it      | applied     | is looked for, not written |
 * | suspended | … and stands still, or it refuses to be changed                     | applied     | is looked for, not written |
 * | failing   | an answer that is of no row, to its rows alone                      | write       | is written by itself       |
 * | missing   | QuestDB has no table of this name                                   | write       | is written by itself       |
 * | unsafe    | its upsert keys are off: a repeat would be there twice              | watch       | is not written             |
 * | broken    | QuestDB cannot change it any more: what it confirms may be lost     | all three   | is not written             |
 *
 * Of several observations of one report the lower line wins. Every state but `broken` becomes any other by the next observation;
 * `broken` is left when there is another table of this name (the watch knows it by its number). `next batch`: a table that is not `ok`
 * is tried once each `retryMs`, one that is unavailable once each `probeMs`; between two tries it is not looked up.
 *
 * Its rows wait in the stream (`wait`), or go to the dead letters (`set_aside`). A table is unavailable
 * - at once when it is `broken`;
 * - once it was in other states than `ok` and `late` for `waitMs`; a time that the store was away does not count;
 * - at once when the messages that wait reach `waitingMax`, those first that most wait for: NATS would deliver nothing of any table
 *   beyond that bound. One that is `late` has to be so for `waitMs`.
 * But for `broken` no table is unavailable, and no row is dead-lettered, while the store may be at fault: what was observed speaks of the server
 * or its disk; it does not say of what, and no other table takes rows; or at least three tables were written in the last minute and
 * more than half of them are in the same state. A table stays unavailable until it takes rows, or is found `late` after another state.
 */
export type TableHealth = {
  /** What to do with the rows of these tables in the next write. Asked once a write: it gives out the tries. Throws AppliedCheck's Faults. */
  plan(tables: Iterable<string>): Promise<TablePlan>;
  /**
   * Takes up what a write came to, once its rows are seen. Tables of `purged` data ids are nobody's. Throws AppliedCheck's Faults: nothing
   * is taken up then.
   */
  report(
    plan: TablePlan,
    tried: TriedTables,
    batch: readonly HeldMessage[],
    purged: ReadonlySet<number>,
  ): Promise<TableReport>;
  /** QuestDB said in the middle of a write that it cannot change this table any more. */
  noteBroken(table: string, why: string): void;
  /** A write of several tables was answered with something unknown. */
  answeredUnknown(): void;
  /** The store itself failed: how long a table has failed is counted from now on. */
  storeFailed(): void;
  /** These tables are there and can be changed. */
  seenWell(tables: ReadonlySet<string>): void;
  /** Tables that take no rows just now, those first that most messages wait for. */
  failing(): FailingTable[];
};

export type TableState =
  | 'ok'
  | 'proving'
  | 'late'
  | 'suspended'
  | 'failing'
  | 'missing'
  | 'unsafe'
  | 'broken';

/** Why a table takes no rows. `scope`: whether that speaks of the table or of the store. */
export type Observation = {
  readonly state: Exclude<TableState, 'ok' | 'proving'>;
  readonly scope: FailureScope;
  readonly why: string;
};

export type TableVerdict = 'stored' | 'wait' | 'dead_letter';

export type TablePlan = {
  /** Tables to write in one request. */
  readonly together: ReadonlySet<string>;
  /** Tables to write each by itself. */
  readonly apart: readonly string[];
  /** What is known of tables without a write. */
  readonly observed: ReadonlyMap<string, Observation>;
  /** What becomes of the rows of those that are not to be tried yet. */
  readonly verdicts: ReadonlyMap<string, TableVerdict>;
};

export type TableReport = {
  readonly verdicts: ReadonlyMap<string, TableVerdict>;
  /** Why a table takes no rows. */
  why(table: string): string;
  /** Why no table of the batch takes rows; undefined when one does, and where all are missing or broken. */
  readonly problem: string | undefined;
};

/** A table that takes no rows. `messages` wait for it, the oldest of them received `oldestMs` ago. */
export type FailingTable = {
  readonly table: string;
  readonly why: string;
  readonly isUnavailable: boolean;
  readonly messages: number;
  readonly oldestMs: number;
};

export type TableHealthOptions = {
  readonly applied: Pick<AppliedCheck, 'unapplied' | 'stillUnapplied'>;
  /** What the watch has seen of a table that must not be written to, and where it hears of broken ones. */
  readonly watch: {
    observed(table: string): Observation | undefined;
    noteBroken(table: string, why: string): void;
  };
  readonly waiting: WaitingMessages;
  /** How long a table may fail before it is unavailable, ms. */
  readonly waitMs: number;
  /** Between two tries of a table that is waited for, ms. */
  readonly retryMs: number;
  /** Between two tries of an unavailable table, ms. */
  readonly probeMs: number;
  /** This many messages may wait. */
  readonly waitingMax: number;
  readonly now: () => number;
  readonly onWait: (table: string, why: string) => void;
  readonly onSetAside: (table: string, why: string) => void;
  readonly onBack: (table: string) => void;
  /** Called with the number of unavailable tables. */
  readonly onCount: (unavailable: number) => void;
};

type Table = {
  state: Exclude<TableState, 'ok'>;
  scope: FailureScope;
  why: string;
  since: number;
  observedAt: number;
  nextTryAt: number;
  isUnavailable: boolean;
};

/** Of several observations the last of these counts. */
const precedence: readonly TableState[] = ['late', 'suspended', 'failing', 'missing', 'unsafe', 'broken'];

const joined = (...all: readonly ReadonlyMap<string, Observation>[]): Map<string, Observation> => {
  const observed = new Map<string, Observation>();
  for (const [table, each] of all.flatMap((some) => [...some])) {
    const known = observed.get(table);
    if (known === undefined || precedence.indexOf(each.state) >= precedence.indexOf(known.state))
      observed.set(table, each);
  }
  return observed;
};

/** Answers to whole batches with something unknown before each table is written by itself, to find the one that it is of. */
const unknownAnswersMax = 2;

/** Beyond this number the oldest is forgotten: its wait begins again. */
const tablesMax = 10_000;

const ofApplied = ({ late, held, broken }: Unapplied): Map<string, Observation> => {
  const observed = new Map<string, Observation>();
  for (const [table, why] of late) observed.set(table, { state: 'late', scope: 'table', why });
  for (const [table, { why, scope }] of held) observed.set(table, { state: 'suspended', scope, why });
  for (const [table, why] of broken) observed.set(table, { state: 'broken', scope: 'table', why });
  return observed;
};

const ofWrite = ({ failing, missingTables, brokenTables }: TriedTables): Map<string, Observation> => {
  const observed = new Map<string, Observation>();
  for (const [table, { why, scope }] of failing) observed.set(table, { state: 'failing', scope, why });
  for (const table of missingTables)
    observed.set(table, { state: 'missing', scope: 'table', why: 'the table is not there' });
  for (const [table, why] of brokenTables) observed.set(table, { state: 'broken', scope: 'table', why });
  return observed;
};

export const createTableHealth = (options: TableHealthOptions): TableHealth => {
  const { applied, watch, waiting, waitMs, retryMs, probeMs, waitingMax, now } = options;
  const tables = new Map<string, Table>();
  const recent = createRecentWrites<TableState>(now);
  /** When a table last took rows. */
  let storedAt = Number.NEGATIVE_INFINITY;
  let unknownAnswers = 0;

  const tellCount = (): void => {
    let count = 0;
    for (const { isUnavailable } of tables.values()) if (isUnavailable) count++;
    options.onCount(count);
  };

  const makeUnavailable = (name: string, table: Table): void => {
    if (table.isUnavailable) return;
    table.isUnavailable = true;
    options.onSetAside(name, table.why);
    tellCount();
  };

  const takeBack = (table: Table): void => {
    if (!table.isUnavailable) return;
    table.isUnavailable = false;
    tellCount();
  };

  const isOfStore = ({ state, scope }: Table): boolean =>
    state !== 'broken' && (scope === 'store' || recent.isOfMost(state));

  /** Whether another table showed since then that the store lives. */
  const isAlone = ({ since }: Table): boolean =>
    storedAt > since && now() - storedAt <= Math.max(waitMs, retryMs);

  const isOfTable = (table: Table): boolean =>
    !isOfStore(table) && (table.scope === 'table' || isAlone(table));

  const hasLasted = ({ since }: Table): boolean => now() - since >= waitMs;

  const fateOf = (table: Table): TableVerdict =>
    table.isUnavailable && !isOfStore(table) ? 'dead_letter' : 'wait';

  const tryLater = (table: Table): void => {
    table.nextTryAt = now() + (table.isUnavailable ? probeMs : retryMs);
  };

  const stored = (name: string): void => {
    recent.note(name, 'ok');
    storedAt = now();
    const table = tables.get(name);
    if (table === undefined) return;
    tables.delete(name);
    waiting.forget(name);
    options.onBack(name);
    takeBack(table);
  };

  const begin = (name: string, { state, scope, why }: Observation): Table => {
    const [since, observedAt] = [now(), now()];
    const table: Table = { state, scope, why, since, observedAt, nextTryAt: 0, isUnavailable: false };
    tables.set(name, table);
    const oldest = tables.size > tablesMax ? tables.keys().next().value : undefined;
    if (oldest !== undefined) tables.delete(oldest);
    options.onWait(name, why);
    return table;
  };

  const observe = (name: string, observation: Observation): void => {
    recent.note(name, observation.state);
    const table = tables.get(name) ?? begin(name, observation);
    const [isLate, wasLate] = [observation.state === 'late', table.state === 'late'];
    // A table that is late does not fail: what fails later begins then.
    if (isLate !== wasLate) table.since = now();
    if (isLate && !wasLate) takeBack(table);
    Object.assign(table, observation, { observedAt: now() });
    const isDue = observation.state === 'broken' || (!isLate && hasLasted(table) && isOfTable(table));
    if (isDue) makeUnavailable(name, table);
    tryLater(table);
  };

  /** What to do with a table now: 'write' is a try. */
  const nextOf = (name: string): TableVerdict | 'write' => {
    const table = tables.get(name);
    if (table === undefined) return 'write';
    if (now() < table.nextTryAt) return fateOf(table);
    tryLater(table);
    return 'write';
  };

  const tellBroken = (observed: ReadonlyMap<string, Observation>): void => {
    for (const [name, { state, why }] of observed) if (state === 'broken') watch.noteBroken(name, why);
  };

  /** Takes up which messages wait for which tables. */
  const noteWaiting = (
    batch: readonly HeldMessage[],
    purged: ReadonlySet<number>,
    verdicts: ReadonlyMap<string, TableVerdict>,
  ): void => {
    if (waiting.total === 0 && ![...verdicts.values()].includes('wait')) return;
    for (const { delivery, envelope, takenAt } of batch) {
      const { parts, arrivedAt } = envelope.header;
      const waitsFor = parts.flatMap(({ table, dataId }) =>
        verdicts.get(table) === 'wait' && !purged.has(dataId) ? [table] : [],
      );
      waiting.note(delivery, Math.max(0, takenAt - arrivedAt), waitsFor);
    }
  };

  /** Sets tables aside until fewer messages wait than may. Answers those tables. */
  const makeRoom = (): string[] => {
    if (waiting.total < waitingMax) return [];
    const made: string[] = [];
    const most = [...waiting.byTable()].toSorted(([, a], [, b]) => b.messages - a.messages);
    for (const [name] of most) {
      const table = tables.get(name);
      if (waiting.total < waitingMax) break;
      // After a start of QuestDB a table may be late for a while that is of no trouble to anybody.
      if (table === undefined || !isOfTable(table) || (table.state === 'late' && !hasLasted(table))) continue;
      makeUnavailable(name, table);
      tryLater(table);
      waiting.forget(name);
      made.push(name);
    }
    return made;
  };

  return {
    plan: async (names) => {
      const verdicts = new Map<string, TableVerdict>();
      const observed = new Map<string, Observation>();
      const fit: string[] = [];
      for (const name of names) {
        const next = nextOf(name);
        const seen = next === 'write' ? watch.observed(name) : undefined;
        if (next !== 'write') verdicts.set(name, next);
        else if (seen !== undefined) observed.set(name, seen);
        else fit.push(name);
      }
      const unshown = ofApplied(await applied.stillUnapplied(fit));
      tellBroken(unshown);
      const written = fit.filter((name) => !unshown.has(name));
      const isApart = (name: string): boolean => tables.has(name) || unknownAnswers >= unknownAnswersMax;
      return {
        together: new Set(written.filter((name) => !isApart(name))),
        apart: written.filter(isApart),
        observed: joined(observed, unshown),
        verdicts,
      };
    },
    report: async (plan, tried, batch, purged) => {
      unknownAnswers = 0;
      const unshown = ofApplied(await applied.unapplied(tried.storedTables));
      tellBroken(unshown);
      const observed = joined(plan.observed, unshown, ofWrite(tried));
      const verdicts = new Map(plan.verdicts);
      // The stored ones first: that others take rows shows that the store lives.
      for (const name of tried.storedTables) {
        if (observed.has(name)) continue;
        verdicts.set(name, 'stored');
        stored(name);
      }
      const isStored = [...verdicts.values()].includes('stored');
      for (const [name, observation] of observed) observe(name, observation);
      for (const name of observed.keys()) {
        const table = tables.get(name);
        if (table !== undefined) verdicts.set(name, fateOf(table));
      }
      noteWaiting(batch, purged, verdicts);
      for (const name of makeRoom()) verdicts.set(name, 'dead_letter');
      const first = [...observed.values()].find(({ state }) => state !== 'missing' && state !== 'broken');
      return {
        verdicts,
        why: (name) => tables.get(name)?.why ?? '',
        problem: isStored || tried.refused.length > 0 ? undefined : first?.why,
      };
    },
    noteBroken: watch.noteBroken,
    answeredUnknown: () => {
      unknownAnswers++;
    },
    storeFailed: () => {
      unknownAnswers = 0;
      for (const table of tables.values()) table.since = now();
    },
    seenWell: (names) => {
      for (const [name, table] of tables) {
        if (table.state === 'failing' || table.state === 'late' || !names.has(name)) continue;
        table.state = 'proving';
        table.nextTryAt = 0;
      }
    },
    failing: () => {
      const byTable = waiting.byTable();
      return [...tables]
        .map(([table, { why, isUnavailable, observedAt }]) => {
          const { messages, oldestMs } = byTable.get(table) ?? { messages: 0, oldestMs: 0 };
          return { table, why, isUnavailable, observedAt, messages, oldestMs };
        })
        .filter(({ messages, observedAt }) => messages > 0 || now() - observedAt <= 2 * probeMs)
        .toSorted((a, b) => b.messages - a.messages);
    },
  };
};
