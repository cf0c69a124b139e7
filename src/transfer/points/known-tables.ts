import { setNewest } from '../../model/bounded-map.ts';
import type { FailureScope } from '../../stores/questdb/table-states.ts';
import type { HeldMessage } from '../held-message.ts';
import { createRecentWrites } from './recent-writes.ts';
import type { Observation, TableState } from './table-observations.ts';
import type { WaitingMessages } from './waiting-messages.ts';

export type TableVerdict = 'stored' | 'wait' | 'dead_letter';

/** A table that takes no rows. `messages` wait for it, the oldest of them received `oldestMs` ago. */
export type FailingTable = {
  readonly table: string;
  readonly why: string;
  readonly isUnavailable: boolean;
  readonly messages: number;
  readonly oldestMs: number;
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

/** They were written before the check of the table, which found that it does not show them. */
const unshownWhy = 'QuestDB may have confirmed these rows, and show them later: redrive, do not purge';

/** Beyond this number the oldest is forgotten: its wait restarts. */
const tablesMax = 10_000;

export type KnownTablesOptions = {
  readonly waiting: WaitingMessages;
  /** How long a table may fail before it is unavailable, ms. */
  readonly waitMs: number;
  /** Between two tries of a failing table, ms. */
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

/** The tables that take no rows, each with its state (see TableHealth). */
export class KnownTables {
  private readonly options: KnownTablesOptions;
  private readonly tables = new Map<string, Table>();
  private readonly recent: ReturnType<typeof createRecentWrites<TableState>>;
  /** When a table last accepted rows. */
  private storedAt = Number.NEGATIVE_INFINITY;

  constructor(options: KnownTablesOptions) {
    this.options = options;
    this.recent = createRecentWrites<TableState>(options.now);
  }

  has(name: string): boolean {
    return this.tables.has(name);
  }

  /** Why a table takes no rows, for their dead letters; empty for one that does. */
  why(name: string): string {
    const table = this.tables.get(name);
    if (table === undefined) return '';
    return table.state === 'suspended' || table.state === 'late' ? `${table.why}; ${unshownWhy}` : table.why;
  }

  private tellCount(): void {
    let count = 0;
    for (const { isUnavailable } of this.tables.values()) if (isUnavailable) count++;
    this.options.onCount(count);
  }

  private makeUnavailable(name: string, table: Table): void {
    if (table.isUnavailable) return;
    table.isUnavailable = true;
    this.options.onSetAside(name, table.why);
    this.tellCount();
  }

  private takeBack(table: Table): void {
    if (!table.isUnavailable) return;
    table.isUnavailable = false;
    this.tellCount();
  }

  private isOfStore({ state, scope }: Table): boolean {
    return state !== 'broken' && (scope === 'store' || this.recent.isOfMost(state));
  }

  /** Whether another table accepted rows since then, so that the store works. */
  private isAlone({ since }: Table): boolean {
    return (
      this.storedAt > since &&
      this.options.now() - this.storedAt <= Math.max(this.options.waitMs, this.options.retryMs)
    );
  }

  private isOfTable(table: Table): boolean {
    return !this.isOfStore(table) && (table.scope === 'table' || this.isAlone(table));
  }

  private hasLasted({ since }: Table): boolean {
    return this.options.now() - since >= this.options.waitMs;
  }

  /** What to do with the rows of a table that takes none. */
  verdictOf(name: string): TableVerdict | undefined {
    const table = this.tables.get(name);
    return table && this.fateOf(table);
  }

  private fateOf(table: Table): TableVerdict {
    return table.isUnavailable && !this.isOfStore(table) ? 'dead_letter' : 'wait';
  }

  private tryLater(table: Table): void {
    table.nextTryAt =
      this.options.now() + (table.isUnavailable ? this.options.probeMs : this.options.retryMs);
  }

  /** The table has accepted rows, and shows them. */
  stored(name: string): void {
    this.recent.note(name, 'ok');
    this.storedAt = this.options.now();
    const table = this.tables.get(name);
    if (table === undefined) return;
    this.tables.delete(name);
    this.options.waiting.forget(name);
    this.options.onBack(name);
    this.takeBack(table);
  }

  private begin(name: string, { state, scope, why }: Observation): Table {
    const [since, observedAt] = [this.options.now(), this.options.now()];
    const table: Table = { state, scope, why, since, observedAt, nextTryAt: 0, isUnavailable: false };
    setNewest(this.tables, name, table, tablesMax);
    this.options.onWait(name, why);
    return table;
  }

  /** Notes why a table takes no rows. */
  observe(name: string, observation: Observation): void {
    this.recent.note(name, observation.state);
    const table = this.tables.get(name) ?? this.begin(name, observation);
    const [isLate, wasLate] = [observation.state === 'late', table.state === 'late'];
    // A table that is late does not fail: a later failure begins then.
    if (isLate !== wasLate) table.since = this.options.now();
    if (isLate && !wasLate) this.takeBack(table);
    Object.assign(table, observation, { observedAt: this.options.now() });
    const isDue =
      observation.state === 'broken' || (!isLate && this.hasLasted(table) && this.isOfTable(table));
    if (isDue) this.makeUnavailable(name, table);
    this.tryLater(table);
  }

  /** What to do with a table now: 'write' is a try. */
  nextOf(name: string): TableVerdict | 'write' {
    const table = this.tables.get(name);
    if (table === undefined) return 'write';
    if (this.options.now() < table.nextTryAt) return this.fateOf(table);
    this.tryLater(table);
    return 'write';
  }

  /** Notes which messages wait for which tables. */
  noteWaiting(
    batch: readonly HeldMessage[],
    purged: ReadonlySet<number>,
    verdicts: ReadonlyMap<string, TableVerdict>,
  ): void {
    if (this.options.waiting.total === 0 && ![...verdicts.values()].includes('wait')) return;
    for (const { delivery, envelope, takenAt } of batch) {
      const { parts, arrivedAt } = envelope.header;
      const waitsFor = parts.flatMap(({ table, dataId }) =>
        verdicts.get(table) === 'wait' && !purged.has(dataId) ? [table] : [],
      );
      this.options.waiting.note(delivery, Math.max(0, takenAt - arrivedAt), waitsFor);
    }
  }

  /** Makes tables unavailable until fewer messages wait than the limit. Returns those tables. */
  makeRoom(): string[] {
    if (this.options.waiting.total < this.options.waitingMax) return [];
    const made: string[] = [];
    const most = [...this.options.waiting.byTable()].toSorted(([, a], [, b]) => b.messages - a.messages);
    for (const [name] of most) {
      const table = this.tables.get(name);
      if (this.options.waiting.total < this.options.waitingMax) break;
      // After a start of QuestDB a table may be late for a while without harm.
      if (table === undefined || !this.isOfTable(table) || (table.state === 'late' && !this.hasLasted(table)))
        continue;
      this.makeUnavailable(name, table);
      this.tryLater(table);
      this.options.waiting.forget(name);
      made.push(name);
    }
    return made;
  }

  /** Reports a failure of the store itself: the time for which a table has failed restarts now. */
  storeFailed(): void {
    for (const table of this.tables.values()) table.since = this.options.now();
  }

  /** Reports that these tables exist and can be changed. */
  seenWell(names: ReadonlySet<string>): void {
    for (const [name, table] of this.tables) {
      if (table.state === 'failing' || table.state === 'late' || !names.has(name)) continue;
      table.state = 'proving';
      table.nextTryAt = 0;
    }
  }

  /** Tables that take no rows now, in descending order of waiting messages. */
  failing(): FailingTable[] {
    const { waiting, now, probeMs } = this.options;
    const byTable = waiting.byTable();
    return [...this.tables]
      .map(([table, { why, isUnavailable, observedAt }]) => {
        const { messages, oldestMs } = byTable.get(table) ?? { messages: 0, oldestMs: 0 };
        return { table, why, isUnavailable, observedAt, messages, oldestMs };
      })
      .filter(({ messages, observedAt }) => messages > 0 || now() - observedAt <= 2 * probeMs)
      .toSorted((a, b) => b.messages - a.messages);
  }
}
