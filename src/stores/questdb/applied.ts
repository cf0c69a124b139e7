import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { backOffMs } from '../../runtime/back-off.ts';
import { type QuestdbSql, quoteLiteral } from './sql.ts';
import { type FailureScope, isBeyondResuming, listed, tryChange, whyOf } from './table-states.ts';

/** Why a table stands still. QuestDB says it of the server where it suspended it for want of room, memory or files. */
export type Held = { readonly why: string; readonly scope: FailureScope };

/**
 * Tables whose confirmed rows are not to be seen, and why: `late` ones are behind others in QuestDB's work, `held` ones stand still until
 * somebody resumes them, `broken` ones never will show them.
 */
export type Unapplied = {
  readonly late: ReadonlyMap<string, string>;
  readonly held: ReadonlyMap<string, Held>;
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
   * To be called with the tables of a write after it is confirmed and before anything is acknowledged. The first time it waits while
   * their logs are applied. Without a new connection and a new table it asks nothing. Throws a transient Fault when nothing is known.
   */
  unapplied(tables: Iterable<string>): Promise<Unapplied>;
  /** Those of the tables that were not to be seen at their last write, and are not now: writing them again would only delay them. */
  stillUnapplied(tables: readonly string[]): Promise<Unapplied>;
  /** Tables whose messages wait until their rows are to be seen, for `/readyz`; undefined when there are none. */
  readonly problem: string | undefined;
};

export type AppliedCheckOptions = {
  readonly sql: Pick<QuestdbSql, 'exec'>;
  /** Connections that writes have made until now: a server that was started anew is met on another one. */
  readonly connections: () => number;
  /** A log that does not move for so long is not waited for, ms. */
  readonly stalledMsMax?: number;
  /** One call waits no longer than this, ms. */
  readonly waitMsMax?: number;
  /** A log that does not move for so long stands still, ms. */
  readonly stillMsMax?: number;
  readonly now?: () => number;
  readonly pause?: (ms: number) => Promise<void>;
};

type LogState = {
  readonly confirmed: number;
  readonly applied: number;
  readonly isSuspended: boolean;
  readonly why: string;
  readonly scope: FailureScope;
};

const looks = { firstMs: 5, mostMs: 200 };
const changesAtOnce = 8;
/** So many tables are named in one statement. */
const tablesPerLook = 200;
/** Beyond so many all tables are looked at once more. */
const provenMax = 100_000;

const startSchema = z.array(z.tuple([z.string()])).length(1);
const rowSchema = z.tuple([
  z.string(),
  z.number(),
  z.number(),
  z.boolean(),
  z.string().nullable(),
  z.string().nullable(),
]);

/** Which start of the server answers. */
const readStart = async (sql: Pick<QuestdbSql, 'exec'>): Promise<string> => {
  const { dataset } = await sql.exec('SELECT pg_postmaster_start_time()::string');
  return startSchema.parse(dataset)[0]?.[0] ?? '';
};

const readStates = async (
  sql: Pick<QuestdbSql, 'exec'>,
  tables: readonly string[],
): Promise<Map<string, LogState>> => {
  const states = new Map<string, LogState>();
  for (let from = 0; from < tables.length; from += tablesPerLook) {
    const names = tables.slice(from, from + tablesPerLook).map(quoteLiteral);
    const { dataset } = await sql.exec(
      `SELECT name, sequencerTxn, writerTxn, suspended, errorTag, errorMessage
        FROM wal_tables() WHERE name IN (${names.join(', ')})`,
    );
    for (const row of dataset) {
      const [name, confirmed, applied, isSuspended, tag, message] = rowSchema.parse(row);
      const scope = isSuspended && (tag ?? '') !== '' ? 'store' : 'table';
      states.set(name, { confirmed, applied, isSuspended, why: whyOf(tag, message), scope });
    }
  }
  return states;
};

/** A table that took the change: the transaction that has to be applied, once it was seen, and how far its log was when it last moved. */
type Awaited = { target: number | undefined; applied: number; movedAt: number; isGivenUp: boolean };

type Answer = { late: Map<string, string>; held: Map<string, Held>; broken: Map<string, string> };

const newAnswer = (): Answer => ({ late: new Map(), held: new Map(), broken: new Map() });

const restarted = (): Fault =>
  new Fault('transient', 'questdb_unavailable', 'QuestDB was started anew before its rows were seen');

export const createAppliedCheck = ({
  sql,
  connections,
  stalledMsMax = 3_000,
  waitMsMax = 30_000,
  stillMsMax = 60_000,
  now = Date.now,
  pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}: AppliedCheckOptions): AppliedCheck => {
  let startedAt = '';
  let seenConnections = -1;
  /** Tables that this start of the server has shown to apply what it confirms. */
  const proven = new Set<string>();
  const awaited = new Map<string, Awaited>();

  /** Learns which start of the server it is; what another one has shown counts no more. */
  const followStart = async (): Promise<string> => {
    const connectionsBefore = connections();
    const start = await readStart(sql);
    if (start !== startedAt || proven.size > provenMax) {
      proven.clear();
      awaited.clear();
      startedAt = start;
    }
    seenConnections = connectionsBefore;
    return start;
  };

  /** Takes up a look; answers why a table is not proven by it, or undefined. */
  const judge = (table: string, known: Awaited, state: LogState | undefined): string | undefined => {
    if (state === undefined) return 'QuestDB confirms rows of it and does not list it';
    if (known.target !== undefined && state.confirmed < known.target) {
      // Another table under the same name: it has to prove itself from the beginning.
      awaited.delete(table);
      return 'the table was made anew';
    }
    known.target ??= state.confirmed;
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

  /** One look at tables that took the change in this start; answers those that may move soon. */
  const lookOnce = async (tables: readonly string[], start: string, answer: Answer): Promise<string[]> => {
    const states = await readStates(sql, tables);
    if ((await followStart()) !== start) throw restarted();
    const pending: string[] = [];
    for (const table of tables) {
      const known = awaited.get(table);
      const state = states.get(table);
      if (known === undefined) continue;
      const why = judge(table, known, state);
      if (why === undefined) continue;
      if (state !== undefined && isBeyondResuming(state)) {
        answer.broken.set(table, state.why);
        awaited.delete(table);
      } else if (state === undefined || state.isSuspended || now() - known.movedAt >= stillMsMax) {
        answer.held.set(table, { why, scope: state?.scope ?? 'table' });
      } else {
        answer.late.set(table, why);
        pending.push(table);
      }
    }
    return pending;
  };

  /** Changes the tables that took no change in this start. Those that do not take it are held or broken. */
  const changeAll = async (tables: readonly string[], start: string, answer: Answer): Promise<void> => {
    for (let from = 0; from < tables.length; from += changesAtOnce) {
      const some = tables.slice(from, from + changesAtOnce);
      const replies = await Promise.all(some.map((table) => tryChange(sql, table)));
      if (startedAt !== start) throw restarted();
      for (const [index, table] of some.entries()) {
        const reply = replies[index];
        if (reply?.kind === 'damaged') answer.broken.set(table, reply.why);
        else if (reply?.kind === 'refused') answer.held.set(table, { why: reply.why, scope: 'table' });
        else if (reply?.kind === 'unanswered') answer.held.set(table, { why: reply.why, scope: 'unclear' });
        else awaited.set(table, { target: undefined, applied: -1, movedAt: now(), isGivenUp: false });
      }
    }
  };

  /** Of tables whose writes went over another connection than those before, or that are new here. */
  const prove = async (tables: readonly string[]): Promise<Unapplied> => {
    const answer = newAnswer();
    const start = await followStart();
    const unproven = tables.filter((table) => !proven.has(table));
    await changeAll(
      unproven.filter((table) => !awaited.has(table)),
      start,
      answer,
    );
    const begunAt = now();
    let left = unproven.filter((table) => awaited.has(table));
    for (let count = 1; left.length > 0; count++) {
      for (const table of left) answer.late.delete(table);
      const pending = await lookOnce(left, start, answer);
      // Each is waited for once; later it is only looked at.
      left = pending.filter((table) => {
        const known = awaited.get(table);
        return known?.isGivenUp === false && now() - Math.max(known.movedAt, begunAt) < stalledMsMax;
      });
      if (left.length === 0 || now() - begunAt >= waitMsMax) break;
      await pause(backOffMs(looks, count));
    }
    for (const table of [...answer.late.keys(), ...answer.held.keys()]) {
      const known = awaited.get(table);
      if (known !== undefined) known.isGivenUp = true;
    }
    return answer;
  };

  return {
    get problem() {
      const waiting = [...awaited].flatMap(([name, { isGivenUp }]) => (isGivenUp ? [{ name, why: '' }] : []));
      return listed('wait until QuestDB shows what it confirmed', waiting)[0];
    },
    unapplied: async (tables) => {
      const isElsewhere = connections() !== seenConnections;
      const doubtful = [...tables].filter((table) => isElsewhere || !proven.has(table));
      return doubtful.length === 0 ? newAnswer() : prove(doubtful);
    },
    stillUnapplied: async (tables) => {
      const doubtful = tables.filter((table) => awaited.get(table)?.isGivenUp === true);
      const answer = newAnswer();
      if (doubtful.length === 0) return answer;
      const start = await followStart();
      await lookOnce(
        doubtful.filter((table) => awaited.has(table)),
        start,
        answer,
      );
      return answer;
    },
  };
};
