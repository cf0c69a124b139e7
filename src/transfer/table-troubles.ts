import type { FailureScope } from '../stores/questdb/table-states.ts';
import type { Part } from '../wire/envelope.ts';
import { findRow, uidOfRow } from '../wire/line-protocol.ts';
import type { HeldMessage } from './held-message.ts';
import type { SetAside } from './lane.ts';
import type { WaitingMessages } from './waiting-messages.ts';

/** What to do with the rows of a table just now: write them, leave them for later, or put them into the dead letters. */
export type TablePlan = 'write' | 'wait' | 'set_aside';

/** How a table failed. Tables that fail alike have the same. */
export type FailureKind = 'missing' | 'unsafe' | 'held' | 'unknown';

/** Why a table took no rows. */
export type TableFailure = {
  readonly kind: FailureKind;
  readonly scope: FailureScope;
  readonly why: string;
};

/** A table that takes no rows. `messages` wait for it, the oldest of them received `oldestMs` ago. */
export type FailingTable = {
  readonly table: string;
  readonly why: string;
  readonly isSetAside: boolean;
  readonly messages: number;
  readonly oldestMs: number;
};

/**
 * Tables that fail alone (design section 7.6): their messages wait without holding up the others. A table is set aside once it has
 * failed for `waitMs`, or at once when the messages that wait reach `waitingMax`, for then nothing else would be delivered; one batch
 * now and then finds out whether it is back. Nothing is set aside while it may be the store that fails: its answer does not name the
 * table and no other table takes rows, or at least three tables were written in the last minute and more than half of them fail alike.
 */
export type TableTroubles = {
  /** What to do with a table's rows in the next write. Asked once a write: it gives out the tries. */
  plan(table: string): TablePlan;
  /** A write to this table failed. Answers what becomes of the rows. */
  failed(table: string, failure: TableFailure): 'wait' | 'set_aside';
  /** QuestDB has this table's rows and does not show them yet: its messages wait for as long as there is room for them. */
  late(table: string, why: string): 'wait' | 'set_aside';
  /** Nothing but a new table will take these rows: it is set aside at once. */
  broken(table: string, why: string): 'set_aside';
  /** These tables took their rows. */
  stored(tables: Iterable<string>): void;
  /** These tables are there again and can be changed: the next batch finds out whether they take rows. */
  seenWell(tables: ReadonlySet<string>): void;
  /** The store itself failed: how long a table has failed is counted from now on. */
  storeFailed(): void;
  /** Takes up which messages of a batch wait for which tables. Answers the tables that are set aside to make room. */
  settle(
    batch: readonly HeldMessage[],
    waits: ReadonlyMap<HeldMessage, readonly string[]>,
  ): ReadonlySet<string>;
  /** Why a table fails; undefined when it does not. */
  why(table: string): string | undefined;
  /** Tables that take no rows just now, those first that most messages wait for. */
  failing(): FailingTable[];
};

export type TableTroublesOptions = {
  /** How long a table may fail before it is set aside, ms. */
  readonly waitMs: number;
  /** Between two tries of a table that is waited for, ms. */
  readonly retryMs: number;
  /** Between two tries of a table that is set aside, ms. */
  readonly probeMs: number;
  /** So many messages may wait. */
  readonly waitingMax: number;
  readonly waiting: WaitingMessages;
  readonly now: () => number;
  readonly onWait: (table: string, why: string) => void;
  readonly onSetAside: (table: string, why: string) => void;
  readonly onBack: (table: string) => void;
  /** Hears how many tables are set aside. */
  readonly onCount: (setAside: number) => void;
};

type TroubleKind = FailureKind | 'late' | 'broken';
type Trouble = {
  kind: TroubleKind;
  scope: FailureScope;
  why: string;
  since: number;
  failedAt: number;
  nextTryAt: number;
  isSetAside: boolean;
};

/** The oldest is forgotten beyond so many: its wait begins anew. */
const tablesMax = 10_000;
/** What became of the tables that were written so long ago and since tells whether it is the store that fails. */
const recentMs = 60_000;
const recentTablesMin = 3;

/** What became of each table that was written in the last minute. */
const createRecentWrites = (now: () => number) => {
  const writes = new Map<string, { readonly at: number; readonly kind: TroubleKind | 'stored' }>();
  const counts = new Map<TroubleKind | 'stored', number>();
  const drop = (table: string): void => {
    const write = writes.get(table);
    if (write === undefined) return;
    writes.delete(table);
    counts.set(write.kind, (counts.get(write.kind) ?? 0) - 1);
  };
  return {
    note: (table: string, kind: TroubleKind | 'stored'): void => {
      drop(table);
      writes.set(table, { at: now(), kind });
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    },
    /** At least three tables, of which more than half fail like this. */
    isOfMost: (kind: TroubleKind): boolean => {
      for (const [table, { at }] of writes) {
        if (now() - at <= recentMs) break;
        drop(table);
      }
      return writes.size >= recentTablesMin && (counts.get(kind) ?? 0) * 2 > writes.size;
    },
  };
};

export const createTableTroubles = (options: TableTroublesOptions): TableTroubles => {
  const { waitMs, retryMs, probeMs, waitingMax, waiting, now } = options;
  const troubles = new Map<string, Trouble>();
  const recent = createRecentWrites(now);
  /** When a table without trouble last took rows. */
  let othersStoredAt = Number.NEGATIVE_INFINITY;

  const tellCount = (): void => {
    let count = 0;
    for (const { isSetAside } of troubles.values()) if (isSetAside) count++;
    options.onCount(count);
  };

  const begin = (table: string, why: string): Trouble => {
    const trouble: Trouble = {
      kind: 'unknown',
      scope: 'table',
      why,
      since: now(),
      failedAt: now(),
      nextTryAt: 0,
      isSetAside: false,
    };
    troubles.set(table, trouble);
    const oldest = troubles.size > tablesMax ? troubles.keys().next().value : undefined;
    if (oldest !== undefined) troubles.delete(oldest);
    options.onWait(table, why);
    return trouble;
  };

  const note = (table: string, why: string, kind: TroubleKind, scope: FailureScope): Trouble => {
    recent.note(table, kind);
    const trouble = troubles.get(table) ?? begin(table, why);
    // A table that is late does not fail: what fails later begins then.
    if ((trouble.kind === 'late') !== (kind === 'late')) trouble.since = now();
    Object.assign(trouble, { kind, scope, why, failedAt: now() });
    return trouble;
  };

  /** Not when everything fails: then it is the store, and the stream keeps the rows. */
  const isAlone = ({ since }: Trouble): boolean =>
    othersStoredAt > since && now() - othersStoredAt <= Math.max(waitMs, retryMs);

  const isOfStore = ({ kind, scope }: Trouble): boolean =>
    kind !== 'broken' && (scope === 'store' || recent.isOfMost(kind));

  const isOfTable = (trouble: Trouble): boolean =>
    !isOfStore(trouble) && (trouble.scope === 'table' || isAlone(trouble));

  const hasFailedLong = ({ since }: Trouble): boolean => now() - since >= waitMs;

  const setAside = (table: string, trouble: Trouble): void => {
    if (trouble.isSetAside) return;
    trouble.isSetAside = true;
    trouble.nextTryAt = now() + probeMs;
    options.onSetAside(table, trouble.why);
    tellCount();
  };

  /** When the next try is due, and what becomes of the rows until then. */
  const retryLater = (trouble: Trouble): 'wait' | 'set_aside' => {
    trouble.nextTryAt = now() + (trouble.isSetAside ? probeMs : retryMs);
    return fateOf(trouble);
  };

  const fateOf = (trouble: Trouble): 'wait' | 'set_aside' =>
    trouble.isSetAside && !isOfStore(trouble) ? 'set_aside' : 'wait';

  return {
    plan: (table) => {
      const trouble = troubles.get(table);
      if (trouble === undefined) return 'write';
      if (now() < trouble.nextTryAt) return fateOf(trouble);
      retryLater(trouble);
      return 'write';
    },
    failed: (table, { kind, scope, why }) => {
      const trouble = note(table, why, kind, scope);
      if (hasFailedLong(trouble) && isOfTable(trouble)) setAside(table, trouble);
      return retryLater(trouble);
    },
    late: (table, why) => {
      const wasLate = troubles.get(table)?.kind === 'late';
      const trouble = note(table, why, 'late', 'table');
      if (trouble.isSetAside && !wasLate) {
        trouble.isSetAside = false;
        tellCount();
      }
      return retryLater(trouble);
    },
    broken: (table, why) => {
      const trouble = note(table, why, 'broken', 'table');
      setAside(table, trouble);
      retryLater(trouble);
      return 'set_aside';
    },
    stored: (tables) => {
      let hasStored = false;
      for (const table of tables) {
        hasStored = true;
        recent.note(table, 'stored');
        const trouble = troubles.get(table);
        if (trouble === undefined) continue;
        troubles.delete(table);
        waiting.forget(table);
        options.onBack(table);
        if (trouble.isSetAside) tellCount();
      }
      if (hasStored) othersStoredAt = now();
    },
    seenWell: (tables) => {
      for (const [table, trouble] of troubles)
        if (trouble.kind !== 'unknown' && trouble.kind !== 'late' && tables.has(table)) trouble.nextTryAt = 0;
    },
    storeFailed: () => {
      for (const trouble of troubles.values()) trouble.since = now();
    },
    settle: (batch, waits) => {
      for (const message of batch)
        waiting.note(
          message.delivery,
          Math.max(0, message.takenAt - message.envelope.header.arrivedAt),
          waits.get(message) ?? [],
        );
      const relieved = new Set<string>();
      if (waiting.total < waitingMax) return relieved;
      const most = [...waiting.byTable()].toSorted(([, a], [, b]) => b.messages - a.messages);
      for (const [table] of most) {
        if (waiting.total < waitingMax) break;
        const trouble = troubles.get(table);
        if (trouble === undefined || !isOfTable(trouble)) continue;
        // After a start of QuestDB a table may be late for a while that is of no trouble to anybody.
        if (trouble.kind === 'late' && !hasFailedLong(trouble)) continue;
        setAside(table, trouble);
        waiting.forget(table);
        relieved.add(table);
      }
      return relieved;
    },
    why: (table) => troubles.get(table)?.why,
    failing: () => {
      const byTable = waiting.byTable();
      return [...troubles]
        .map(([table, { why, isSetAside, failedAt }]) => {
          const waits = byTable.get(table);
          return {
            table,
            why,
            isSetAside,
            failedAt,
            messages: waits?.messages ?? 0,
            oldestMs: waits?.oldestMs ?? 0,
          };
        })
        .filter(({ messages, failedAt }) => messages > 0 || now() - failedAt <= 2 * probeMs)
        .toSorted((a, b) => b.messages - a.messages);
    },
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
