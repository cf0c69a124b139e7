import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { backOffMs } from '../../runtime/back-off.ts';
import { type QuestdbSql, quoteLiteral } from './sql.ts';
import { type FailureScope, isBeyondResuming, listed, tryChange, whyOf } from './table-states.ts';

/** Why a table is stalled. The scope is the server where QuestDB suspended the table for lack of space, memory or files. */
export type Held = { readonly why: string; readonly scope: FailureScope };

/**
 * Tables with acknowledged rows that queries do not see yet, and why: `late` ones wait for their turn in QuestDB, `held` ones are
 * stalled until they are resumed, `broken` ones never show them.
 */
export type Unapplied = {
  readonly late: ReadonlyMap<string, string>;
  readonly held: ReadonlyMap<string, Held>;
  readonly broken: ReadonlyMap<string, string>;
};

/**
 * Whether rows that QuestDB has confirmed are visible. QuestDB 9.3.4 that was killed while it added columns may confirm rows of a
 * table later and show none of them (docs/stores-in-trouble.md). So after each start of the server each table has to prove itself
 * once: after its first write the check changes its structure, which a damaged table refuses or never applies, and the write counts
 * once that change is applied. Every later write to that table is trusted.
 */
export type AppliedCheck = {
  /**
   * Call it with the tables of a write after the write is confirmed and before any message of it is acknowledged. The first time it
   * waits while QuestDB applies their logs. Without a new connection and a new table it sends no query. Throws a transient Fault
   * when QuestDB does not answer.
   */
  unapplied(tables: Iterable<string>): Promise<Unapplied>;
  /** The tables whose rows were not visible at their last write, and still are not: another write would only delay them. */
  stillUnapplied(tables: readonly string[]): Promise<Unapplied>;
  /** Tables whose messages wait until their rows are visible, for `/readyz`; undefined without any. */
  readonly problem: string | undefined;
};

export type AppliedCheckOptions = {
  readonly sql: Pick<QuestdbSql, 'exec'>;
  /** Connections that writes have made until now: a restarted server has a new one. */
  readonly connections: () => number;
  /** The longest wait of one call, ms: writes of all other tables wait as long. */
  readonly waitMsMax?: number;
  /** A log without progress for this time is stalled, ms. */
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
/** This many tables are named in one statement. */
const tablesPerLook = 200;
/** Beyond this number all tables are checked once more. */
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

/** The start time of the server: it differs after a restart. */
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

/**
 * A table that accepted the change: the transaction that has to be applied, once it is known, and the state of its log at its last
 * progress.
 */
type Awaited = { target: number | undefined; applied: number; movedAt: number; isGivenUp: boolean };

type Answer = { late: Map<string, string>; held: Map<string, Held>; broken: Map<string, string> };

const newAnswer = (): Answer => ({ late: new Map(), held: new Map(), broken: new Map() });

const restarted = (): Fault =>
  new Fault('transient', 'questdb_unavailable', 'QuestDB was restarted before its rows were visible');

const defaults = {
  waitMsMax: 3_000,
  stillMsMax: 60_000,
  /** Never set back: a wait would last as long. */
  now: () => performance.now(),
  pause: (ms: number): Promise<void> => delay(ms),
};

class Proofs implements AppliedCheck {
  private readonly options: AppliedCheckOptions & typeof defaults;
  private startedAt = '';
  private seenConnections = -1;
  /** Tables that have shown, in this start of the server, that they apply confirmed rows. */
  private readonly proven = new Set<string>();
  private readonly awaited = new Map<string, Awaited>();

  constructor(options: AppliedCheckOptions) {
    this.options = { ...defaults, ...options };
  }

  get problem(): string | undefined {
    const waiting = [...this.awaited].flatMap(([name, { isGivenUp }]) =>
      isGivenUp ? [{ name, why: '' }] : [],
    );
    return listed('wait until QuestDB shows what it confirmed', waiting)[0];
  }

  async unapplied(tables: Iterable<string>): Promise<Unapplied> {
    const isElsewhere = this.options.connections() !== this.seenConnections;
    const doubtful = [...tables].filter((table) => isElsewhere || !this.proven.has(table));
    return doubtful.length === 0 ? newAnswer() : this.prove(doubtful);
  }

  async stillUnapplied(tables: readonly string[]): Promise<Unapplied> {
    const doubtful = tables.filter((table) => this.awaited.get(table)?.isGivenUp === true);
    const answer = newAnswer();
    if (doubtful.length === 0) return answer;
    const start = await this.followStart();
    const left = doubtful.filter((table) => this.awaited.has(table));
    await this.lookOnce(left, start, answer);
    return answer;
  }

  /** Reads the start of the server; proofs of an earlier start are void. */
  private async followStart(): Promise<string> {
    const connectionsBefore = this.options.connections();
    const start = await readStart(this.options.sql);
    if (start !== this.startedAt || this.proven.size > provenMax) {
      this.proven.clear();
      this.awaited.clear();
      this.startedAt = start;
    }
    this.seenConnections = connectionsBefore;
    return start;
  }

  /** Notes a look; returns why a table is not proven by it, or undefined. */
  private follow(table: string, known: Awaited, state: LogState | undefined): string | undefined {
    if (state === undefined) return 'QuestDB confirms rows of it and does not list it';
    if (known.target !== undefined && state.confirmed < known.target) {
      // Another table under the same name: it has to prove itself from the beginning.
      this.awaited.delete(table);
      return 'the table was recreated';
    }
    known.target ??= state.confirmed;
    if (state.applied > known.applied) {
      known.applied = state.applied;
      known.movedAt = this.options.now();
    }
    if (state.applied >= known.target) {
      this.proven.add(table);
      this.awaited.delete(table);
      return undefined;
    }
    return state.isSuspended
      ? `suspended: ${state.why}`
      : `QuestDB has confirmed up to ${known.target} and shows up to ${state.applied}`;
  }

  /** One look at tables that accepted the change in this start; returns those that may make progress soon. */
  private async lookOnce(tables: readonly string[], start: string, answer: Answer): Promise<string[]> {
    const states = await readStates(this.options.sql, tables);
    if ((await this.followStart()) !== start) throw restarted();
    const pending: string[] = [];
    for (const table of tables) {
      const known = this.awaited.get(table);
      const state = states.get(table);
      if (known === undefined) continue;
      const why = this.follow(table, known, state);
      if (why === undefined) continue;
      if (state !== undefined && isBeyondResuming(state)) {
        answer.broken.set(table, state.why);
        this.awaited.delete(table);
      } else if (
        state === undefined ||
        state.isSuspended ||
        this.options.now() - known.movedAt >= this.options.stillMsMax
      ) {
        answer.held.set(table, { why, scope: state?.scope ?? 'table' });
      } else {
        answer.late.set(table, why);
        pending.push(table);
      }
    }
    return pending;
  }

  /** Changes the tables that accepted no change in this start. Those that refuse it are held or broken. */
  private async changeAll(tables: readonly string[], start: string, answer: Answer): Promise<void> {
    for (let from = 0; from < tables.length; from += changesAtOnce) {
      const some = tables.slice(from, from + changesAtOnce);
      const replies = await Promise.all(some.map((table) => tryChange(this.options.sql, table)));
      if (this.startedAt !== start) throw restarted();
      for (const [index, table] of some.entries()) {
        const reply = replies[index];
        if (reply?.kind === 'damaged') answer.broken.set(table, reply.why);
        else if (reply?.kind === 'refused') answer.held.set(table, { why: reply.why, scope: 'table' });
        else if (reply?.kind === 'unanswered') answer.held.set(table, { why: reply.why, scope: 'unclear' });
        else
          this.awaited.set(table, {
            target: undefined,
            applied: -1,
            movedAt: this.options.now(),
            isGivenUp: false,
          });
      }
    }
  }

  /** Checks tables whose writes used another connection than those before, or that are new here. */
  private async prove(tables: readonly string[]): Promise<Unapplied> {
    const answer = newAnswer();
    const start = await this.followStart();
    const unproven = tables.filter((table) => !this.proven.has(table));
    await this.changeAll(
      unproven.filter((table) => !this.awaited.has(table)),
      start,
      answer,
    );
    const begunAt = this.options.now();
    let left = unproven.filter((table) => this.awaited.has(table));
    for (let count = 1; left.length > 0; count++) {
      for (const table of left) answer.late.delete(table);
      const pending = await this.lookOnce(left, start, answer);
      // Each is awaited once; later it is only checked.
      left = pending.filter((table) => this.awaited.get(table)?.isGivenUp === false);
      if (left.length === 0 || this.options.now() - begunAt >= this.options.waitMsMax) break;
      await this.options.pause(backOffMs(looks, count));
    }
    for (const table of [...answer.late.keys(), ...answer.held.keys()]) {
      const known = this.awaited.get(table);
      if (known !== undefined) known.isGivenUp = true;
    }
    return answer;
  }
}

export const createAppliedCheck = (options: AppliedCheckOptions): AppliedCheck => new Proofs(options);
