import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { type QuestdbSql, quoteLiteral } from './sql.ts';
import { isBeyondResuming, tryChange, whyOf } from './table-states.ts';

/**
 * Tables whose confirmed rows are not to be seen, and why: `late` ones are behind others in QuestDB's work, `held` ones stand still until
 * somebody resumes them, `broken` ones never will show them.
 */
export type Unapplied = {
  readonly late: ReadonlyMap<string, string>;
  readonly held: ReadonlyMap<string, string>;
  readonly broken: ReadonlyMap<string, string>;
};

/**
 * Whether rows that QuestDB has confirmed are to be seen. QuestDB 9.3.4 that was killed while it added columns may confirm rows of a table
 * later and show none of them (docs/stores-in-trouble.md). So after each start of the server each table has to prove itself once: after its
 * first write its structure is changed, which a damaged table refuses or never applies, and the write counts once that change
 * is applied. Every later write to that table is believed.
 */
export type AppliedCheck = {
  /**
   * To be called with the tables of a write after it is confirmed and before anything is acknowledged. Waits while their logs are
   * applied. Without a new connection and a new table it asks nothing. Throws the Faults of QuestdbSql: nothing is known then.
   */
  unapplied(tables: Iterable<string>): Promise<Unapplied>;
};

export type AppliedCheckOptions = {
  readonly sql: Pick<QuestdbSql, 'exec'>;
  /** Connections that writes have made until now: a server that was started anew is met on another one. */
  readonly connections: () => number;
  /** A log that does not move for so long is not waited for, ms. */
  readonly stalledMsMax?: number;
  /** One call waits no longer than this, ms. */
  readonly waitMsMax?: number;
  readonly now?: () => number;
  readonly pause?: (ms: number) => Promise<void>;
};

type LogState = {
  readonly confirmed: number;
  readonly applied: number;
  readonly isSuspended: boolean;
  readonly why: string;
};
type Look = { readonly startedAt: string; readonly states: ReadonlyMap<string, LogState> };

const none: Unapplied = { late: new Map(), held: new Map(), broken: new Map() };
const pauseMs = { first: 5, most: 200 };
const changesAtOnce = 8;
/** So many tables are named in one statement. */
const tablesPerLook = 200;
/** Beyond so many all tables are looked at once more. */
const provenMax = 100_000;

const rowSchema = z.tuple([
  z.string(),
  z.string(),
  z.number(),
  z.number(),
  z.boolean(),
  z.string().nullable(),
  z.string().nullable(),
]);

const lookAt = async (sql: Pick<QuestdbSql, 'exec'>, tables: readonly string[]): Promise<Look> => {
  let startedAt = '';
  const states = new Map<string, LogState>();
  for (let from = 0; from < tables.length; from += tablesPerLook) {
    const names = tables.slice(from, from + tablesPerLook).map(quoteLiteral);
    const { dataset } = await sql.exec(
      `SELECT pg_postmaster_start_time()::string, name, sequencerTxn, writerTxn, suspended, errorTag, errorMessage
        FROM wal_tables() WHERE name IN (${names.join(', ')})`,
    );
    for (const row of dataset) {
      const [start, name, confirmed, applied, isSuspended, tag, message] = rowSchema.parse(row);
      startedAt = start;
      states.set(name, { confirmed, applied, isSuspended, why: whyOf(tag, message) });
    }
  }
  return { startedAt, states };
};

/** Changes the tables that did not take a change in this start; answers why others cannot be changed. */
const changeAll = async (
  sql: Pick<QuestdbSql, 'exec'>,
  tables: readonly string[],
): Promise<Map<string, string>> => {
  const broken = new Map<string, string>();
  for (let from = 0; from < tables.length; from += changesAtOnce) {
    const some = tables.slice(from, from + changesAtOnce);
    const whys = await Promise.all(some.map((table) => tryChange(sql, table)));
    for (const [index, table] of some.entries()) {
      const why = whys[index];
      if (why !== undefined) broken.set(table, why);
    }
  }
  return broken;
};

/** What is waited for of a table that is not proven yet. */
type Awaited = { readonly target: number; applied: number; movedAt: number };

export const createAppliedCheck = ({
  sql,
  connections,
  stalledMsMax = 3_000,
  waitMsMax = 30_000,
  now = Date.now,
  pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}: AppliedCheckOptions): AppliedCheck => {
  let startedAt = '';
  let seenConnections = -1;
  /** Tables that this start of the server has shown to apply what it confirms. */
  const proven = new Set<string>();
  /** Tables that took the change, with the transaction that has to be applied. */
  const awaited = new Map<string, Awaited>();
  const changed = new Set<string>();

  const forgetAll = (): void => {
    proven.clear();
    changed.clear();
    awaited.clear();
  };

  /** Takes up a look; answers why a table is not proven by it, or undefined. */
  const judge = (table: string, state: LogState | undefined): string | undefined => {
    if (state === undefined) return 'QuestDB confirms rows of it and does not list it';
    const known = awaited.get(table) ?? { target: state.confirmed, applied: -1, movedAt: now() };
    awaited.set(table, known);
    if (state.applied > known.applied) {
      known.applied = state.applied;
      known.movedAt = now();
    }
    if (state.applied >= known.target) {
      proven.add(table);
      awaited.delete(table);
      return undefined;
    }
    return state.isSuspended
      ? `suspended: ${state.why}`
      : `QuestDB has confirmed up to ${known.target} and shows up to ${state.applied}`;
  };

  const isStalled = (table: string, begunAt: number): boolean =>
    now() - Math.max(awaited.get(table)?.movedAt ?? begunAt, begunAt) >= stalledMsMax;

  /** Learns which start of the server it is, and how far each of the tables is. */
  const look = async (tables: readonly string[]): Promise<Look> => {
    const connectionsBefore = connections();
    const seen = await lookAt(sql, tables);
    if (seen.startedAt !== '' && seen.startedAt !== startedAt) {
      forgetAll();
      startedAt = seen.startedAt;
    }
    seenConnections = connectionsBefore;
    return seen;
  };

  /** Looks until each table is proven, broken or given up. */
  const untilApplied = async (tables: readonly string[], broken: Map<string, string>): Promise<Unapplied> => {
    const [late, held] = [new Map<string, string>(), new Map<string, string>()];
    const [begunAt, begunIn] = [now(), startedAt];
    let left = tables;
    for (let ms = pauseMs.first; left.length > 0; ms = Math.min(ms * 2, pauseMs.most)) {
      const { states } = await look(left);
      if (startedAt !== begunIn)
        throw new Fault(
          'transient',
          'questdb_unavailable',
          'QuestDB was started anew before its rows were seen',
        );
      const pending: string[] = [];
      for (const table of left) {
        const state = states.get(table);
        const why = judge(table, state);
        if (why === undefined) continue;
        if (state !== undefined && isBeyondResuming(state)) broken.set(table, state.why);
        else if (state?.isSuspended === true) held.set(table, why);
        else if (isStalled(table, begunAt) || now() - begunAt >= waitMsMax)
          (state === undefined ? held : late).set(table, why);
        else pending.push(table);
      }
      left = pending;
      if (left.length > 0) await pause(ms);
    }
    if (proven.size > provenMax) forgetAll();
    return { late, held, broken };
  };

  /** Of tables whose writes went over another connection than those before, or that are new here. */
  const prove = async (tables: readonly string[]): Promise<Unapplied> => {
    await look(tables);
    const unproven = tables.filter((table) => !proven.has(table));
    const broken = await changeAll(
      sql,
      unproven.filter((table) => !changed.has(table)),
    );
    for (const table of unproven) if (!broken.has(table)) changed.add(table);
    return untilApplied(
      unproven.filter((table) => !broken.has(table)),
      broken,
    );
  };

  return {
    unapplied: async (tables) => {
      const isElsewhere = connections() !== seenConnections;
      const doubtful = [...tables].filter((table) => isElsewhere || !proven.has(table));
      return doubtful.length === 0 ? none : prove(doubtful);
    },
  };
};
