import type { Part } from '../wire/envelope.ts';
import { findRow, uidOfRow } from '../wire/line-protocol.ts';
import type { SetAside } from './lane.ts';

/** What to do with the rows of a table just now: write them, leave them for later, or put them into the dead letters. */
export type TablePlan = 'write' | 'wait' | 'set_aside';

/**
 * Tables that fail alone (architecture 6.6): their messages wait without holding up the others; a table that has failed for
 * `waitMs` while others took rows is set aside, and one batch now and then finds out whether it is back.
 */
export type TableTroubles = {
  /** What to do with a table's rows in the next write. Asked once a write: it gives out the tries. */
  plan(table: string): TablePlan;
  /** A write to this table failed. Answers what becomes of the rows. */
  failed(table: string, why: string): 'wait' | 'set_aside';
  /** QuestDB has this table's rows and does not show them yet: its messages wait, however long that is. */
  late(table: string, why: string): 'wait';
  /** Nothing but a new table will take these rows: it is set aside at once. */
  broken(table: string, why: string): 'set_aside';
  /** These tables took their rows. */
  stored(tables: Iterable<string>): void;
  /** Why a table fails; undefined when it does not. */
  why(table: string): string | undefined;
};

export type TableTroublesOptions = {
  /** How long a table may fail before it is set aside, ms. */
  readonly waitMs: number;
  /** Between two tries of a table that is waited for, ms. */
  readonly retryMs: number;
  /** Between two tries of a table that is set aside, ms. */
  readonly probeMs: number;
  readonly now: () => number;
  readonly onWait: (table: string, why: string) => void;
  readonly onSetAside: (table: string, why: string) => void;
  readonly onBack: (table: string) => void;
  /** Hears how many tables are set aside. */
  readonly onCount: (setAside: number) => void;
};

type Trouble = { why: string; since: number; nextTryAt: number; isSetAside: boolean };

/** The oldest is forgotten beyond so many: its wait begins anew. */
const tablesMax = 10_000;

export const createTableTroubles = (options: TableTroublesOptions): TableTroubles => {
  const { waitMs, retryMs, probeMs, now } = options;
  const troubles = new Map<string, Trouble>();
  /** When a table without trouble last took rows. */
  let othersStoredAt = Number.NEGATIVE_INFINITY;

  const tellCount = (): void => {
    let count = 0;
    for (const { isSetAside } of troubles.values()) if (isSetAside) count++;
    options.onCount(count);
  };

  const begin = (table: string, why: string): Trouble => {
    const trouble = { why, since: now(), nextTryAt: 0, isSetAside: false };
    troubles.set(table, trouble);
    const oldest = troubles.size > tablesMax ? troubles.keys().next().value : undefined;
    if (oldest !== undefined) troubles.delete(oldest);
    options.onWait(table, why);
    return trouble;
  };

  /** Not when everything fails: then it is the store, and the stream keeps the rows. */
  const isAlone = ({ since }: Trouble): boolean =>
    othersStoredAt > since && now() - othersStoredAt <= Math.max(waitMs, retryMs);

  const setAside = (table: string, trouble: Trouble): void => {
    if (trouble.isSetAside) return;
    trouble.isSetAside = true;
    options.onSetAside(table, trouble.why);
    tellCount();
  };

  const setAsideIfDue = (table: string, trouble: Trouble): void => {
    if (now() - trouble.since >= waitMs && isAlone(trouble)) setAside(table, trouble);
  };

  return {
    plan: (table) => {
      const trouble = troubles.get(table);
      if (trouble === undefined) return 'write';
      if (now() >= trouble.nextTryAt) {
        trouble.nextTryAt = now() + (trouble.isSetAside ? probeMs : retryMs);
        return 'write';
      }
      return trouble.isSetAside ? 'set_aside' : 'wait';
    },
    failed: (table, why) => {
      const trouble = troubles.get(table) ?? begin(table, why);
      trouble.why = why;
      setAsideIfDue(table, trouble);
      trouble.nextTryAt = now() + (trouble.isSetAside ? probeMs : retryMs);
      return trouble.isSetAside ? 'set_aside' : 'wait';
    },
    late: (table, why) => {
      const trouble = troubles.get(table) ?? begin(table, why);
      trouble.why = why;
      // It does not fail: what fails later begins then.
      trouble.since = now();
      trouble.nextTryAt = now() + retryMs;
      if (trouble.isSetAside) {
        trouble.isSetAside = false;
        tellCount();
      }
      return 'wait';
    },
    broken: (table, why) => {
      const trouble = troubles.get(table) ?? begin(table, why);
      trouble.why = why;
      setAside(table, trouble);
      trouble.nextTryAt = now() + probeMs;
      return 'set_aside';
    },
    stored: (tables) => {
      let hasStored = false;
      for (const table of tables) {
        hasStored = true;
        const trouble = troubles.get(table);
        if (trouble === undefined) continue;
        troubles.delete(table);
        options.onBack(table);
        if (trouble.isSetAside) tellCount();
      }
      if (hasStored) othersStoredAt = now();
    },
    why: (table) => troubles.get(table)?.why,
  };
};

/**
 * Rows of a part whose table is set aside, for the dead letters. They are named by their first row: the part's first place may be that
 * of an item which is put off in the same message, and a dead letter of its own.
 */
export const unavailablePart = (part: Part, bytes: Uint8Array, why: string): SetAside => {
  const row = Buffer.from(bytes.subarray(0, findRow(bytes, 1)?.end)).toString('utf8');
  const uid = uidOfRow(row) ?? String(BigInt(part.base) + BigInt(part.first));
  return {
    reason: 'table_unavailable',
    why,
    bytes,
    identity: `${uid}:${part.dataId}`,
    items: part.points,
    place: { dataId: part.dataId, table: part.table, uid },
    uid: BigInt(uid),
    part: { ...part, bytes: bytes.length },
  };
};
