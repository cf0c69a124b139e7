import type { BreakerDefinition } from '../config/pipelines.ts';
import { counted } from '../model/counted.ts';
import type { HeldMessage } from './held-message.ts';
import type { DeadLettered, Written } from './sink.ts';

/**
 * Stops a consumer whose items go to the dead letters one after the other: that many refused rows come from a bad deployment, not
 * from bad rows, and an emptied stream would have to be redriven. `open`: nothing is taken; `trial`: after the pause one batch is
 * taken, and settled only if it is fit.
 */
export type BreakerState = 'closed' | 'open' | 'trial';

/** Refused rows by table, and tables that took rows of the same batch; empty where the store has no tables that fail alone. */
export type TableRefusals = {
  readonly refused: ReadonlyMap<string, number>;
  readonly stored: ReadonlySet<string>;
};

const noTables: TableRefusals = { refused: new Map(), stored: new Set() };

export type Breaker = {
  readonly state: BreakerState;
  /** Why it is not closed; undefined when it is. */
  readonly why: string | undefined;
  /**
   * Counts the items of a settled message. Do not count dead letters of a redrive: an operator wanted it. While other tables take
   * rows, those that the table with the most refusals refuses do not open the breaker: they would stop all others.
   */
  note(items: number, deadLettered: number, tables?: TableRefusals): void;
  /** Evaluates the test batch before its dead letters are stored: true closes the breaker, false opens it again. */
  tried(items: number, deadLettered: number, tables?: TableRefusals): boolean;
  /** Closes the breaker by hand and resets its counts. */
  reset(): void;
  stop(): void;
};

/** Rows of a message that are dead-lettered for their content; not those of an unavailable table. */
const refusedRows = (deadLettered: readonly DeadLettered[]): number => {
  let rows = 0;
  for (const { reason, part, items } of deadLettered)
    if (reason !== 'table_unavailable') rows += part?.rows ?? items;
  return rows;
};

const addAll = (to: Map<string, number>, from: ReadonlyMap<string, number>): void => {
  for (const [table, rows] of from) to.set(table, (to.get(table) ?? 0) + rows);
};

/** The rows of these dead letters by the table that refused them. */
const refusedByTable = (deadLettered: readonly DeadLettered[]): Map<string, number> => {
  const byTable = new Map<string, number>();
  for (const { reason, part, items, place } of deadLettered)
    if (reason === 'row_refused' && place.table !== undefined)
      addAll(byTable, new Map([[place.table, part?.rows ?? items]]));
  return byTable;
};

/** The dead-lettered items without those of the one table that refuses the most, while others take rows. */
const withoutOne = (deadLettered: number, { refused, stored }: TableRefusals): number => {
  const [table, rows] = [...refused].toSorted(([, a], [, b]) => b - a)[0] ?? ['', 0];
  return [...stored].some((other) => other !== table) ? deadLettered - rows : deadLettered;
};

/**
 * The part of a written batch that may be settled: while the breaker is not closed, messages that bring dead letters are returned
 * to NATS. A redriven message is not counted: its dead letter exists already.
 */
export const fitToSettle = <E>(
  breaker: Breaker,
  batch: readonly HeldMessage<E>[],
  written: Written<E>,
): Written<E> => {
  const refused = new Map<HeldMessage<E>, number>();
  const stored = written.storedTables ?? noTables.stored;
  const ofTables = new Map<string, number>();
  let items = 0;
  let deadLettered = 0;
  for (const message of batch) {
    if (written.retryLater.has(message) || message.delivery.redrive > 0) continue;
    const letters = written.deadLettered.get(message) ?? [];
    const rows = refusedRows(letters);
    refused.set(message, rows);
    items += message.rows;
    deadLettered += rows;
    if (rows > 0) addAll(ofTables, refusedByTable(letters));
  }
  if (breaker.state === 'trial' && items > 0)
    breaker.tried(items, deadLettered, { refused: ofTables, stored });
  const retryLater = new Set(written.retryLater);
  for (const [message, rows] of refused) {
    if (rows > 0 && breaker.state !== 'closed') retryLater.add(message);
    else {
      const byTable = rows > 0 ? refusedByTable(written.deadLettered.get(message) ?? []) : noTables.refused;
      breaker.note(message.rows, rows, { refused: byTable, stored });
    }
  }
  return { ...written, retryLater };
};

export type BreakerEvents = {
  readonly onChange: (state: BreakerState, why: string | undefined) => void;
};

type Tally = {
  items: number;
  deadLettered: number;
  readonly refused: Map<string, number>;
  /** Two names at most: enough to know whether another table than a given one takes rows. */
  readonly stored: Set<string>;
};

const newTally = (): Tally => ({ items: 0, deadLettered: 0, refused: new Map(), stored: new Set() });

const addTo = (tally: Tally, items: number, deadLettered: number, tables: TableRefusals): void => {
  tally.items += items;
  tally.deadLettered += deadLettered;
  addAll(tally.refused, tables.refused);
  for (const table of tables.stored) {
    if (tally.stored.size > 1) break;
    tally.stored.add(table);
  }
};

/** Both as one. */
const sumOf = (a: Tally, b: Tally): Tally => {
  const sum = newTally();
  for (const { items, deadLettered, ...tables } of [a, b]) addTo(sum, items, deadLettered, tables);
  return sum;
};

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one state machine, its transitions side by side.
export const createBreaker = (limits: BreakerDefinition, { onChange }: BreakerEvents): Breaker => {
  let state: BreakerState = 'closed';
  let why: string | undefined;
  /** Items since the last one that was stored. */
  let inARow = newTally();
  /** The share covers this number of items up to twice as many: the older tally is dropped when the newer one is full. */
  let older = newTally();
  let newer = newTally();
  let timer: NodeJS.Timeout | undefined;

  const change = (to: BreakerState, reason: string | undefined): void => {
    state = to;
    why = reason;
    onChange(to, reason);
  };

  const open = (reason: string): void => {
    clearTimeout(timer);
    timer = setTimeout(() => change('trial', `${reason}; one batch is written as a test`), limits.pauseMs);
    timer.unref();
    change('open', reason);
  };

  const forget = (): void => {
    clearTimeout(timer);
    inARow = newTally();
    older = newTally();
    newer = newTally();
  };

  const count = (items: number, deadLettered: number, tables: TableRefusals): void => {
    if (deadLettered < items) inARow = newTally();
    else addTo(inARow, items, deadLettered, tables);
    if (newer.items >= limits.shareItemsMin) {
      older = newer;
      newer = newTally();
    }
    addTo(newer, items, deadLettered, tables);
  };

  const verdict = (): string | undefined => {
    const items = older.items + newer.items;
    const isDue = items >= limits.shareItemsMin;
    const most = isDue ? items * limits.shareMax : Number.POSITIVE_INFINITY;
    if (inARow.deadLettered <= limits.inARowMax && older.deadLettered + newer.deadLettered <= most)
      return undefined;
    const { deadLettered, refused, stored } = sumOf(older, newer);
    const row = withoutOne(inARow.deadLettered, { refused: inARow.refused, stored });
    if (row > limits.inARowMax) return `${counted(row, 'item')} in a row went to the dead letters`;
    const counting = withoutOne(deadLettered, { refused, stored });
    return counting > most
      ? `${percent(counting / items)} of the last ${items} items went to the dead letters`
      : undefined;
  };

  return {
    get state() {
      return state;
    },
    get why() {
      return why;
    },
    note: (items, deadLettered, tables = noTables) => {
      if (items === 0 && deadLettered === 0) return;
      count(items, deadLettered, tables);
      const reason = state === 'closed' ? verdict() : undefined;
      if (reason !== undefined) open(reason);
    },
    tried: (items, deadLettered, tables = noTables) => {
      const refused = withoutOne(deadLettered, tables);
      if (items > 0 && refused < items && refused <= items * limits.shareMax) {
        forget();
        change('closed', undefined);
        return true;
      }
      open(`of ${counted(items, 'item')} in the test batch, ${deadLettered} would go to the dead letters`);
      return false;
    },
    reset: () => {
      forget();
      if (state !== 'closed') change('closed', undefined);
    },
    stop: () => clearTimeout(timer),
  };
};
