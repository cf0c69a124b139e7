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

export type Breaker = {
  readonly state: BreakerState;
  /** Why it is not closed; undefined when it is. */
  readonly why: string | undefined;
  /** Counts the items of a settled message. Do not count dead letters of a redrive: an operator wanted it. */
  note(items: number, deadLettered: number): void;
  /** Evaluates the test batch before its dead letters are stored: true closes the breaker, false opens it again. */
  tried(items: number, deadLettered: number): boolean;
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
  let items = 0;
  let deadLettered = 0;
  for (const message of batch) {
    if (written.retryLater.has(message) || message.delivery.redrive > 0) continue;
    const rows = refusedRows(written.deadLettered.get(message) ?? []);
    refused.set(message, rows);
    items += message.rows;
    deadLettered += rows;
  }
  if (breaker.state === 'trial' && items > 0) breaker.tried(items, deadLettered);
  const retryLater = new Set(written.retryLater);
  for (const [message, rows] of refused) {
    if (rows > 0 && breaker.state !== 'closed') retryLater.add(message);
    else breaker.note(message.rows, rows);
  }
  return { ...written, retryLater };
};

export type BreakerEvents = {
  readonly onChange: (state: BreakerState, why: string | undefined) => void;
};

type Tally = { items: number; deadLettered: number };

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one state machine, its transitions side by side.
export const createBreaker = (limits: BreakerDefinition, { onChange }: BreakerEvents): Breaker => {
  let state: BreakerState = 'closed';
  let why: string | undefined;
  let inARow = 0;
  /** The share covers this number of items up to twice as many: the older tally is dropped when the newer one is full. */
  let older: Tally = { items: 0, deadLettered: 0 };
  let newer: Tally = { items: 0, deadLettered: 0 };
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
    inARow = 0;
    older = { items: 0, deadLettered: 0 };
    newer = { items: 0, deadLettered: 0 };
  };

  const count = (items: number, deadLettered: number): void => {
    inARow = deadLettered < items ? 0 : inARow + deadLettered;
    if (newer.items >= limits.shareItemsMin) {
      older = newer;
      newer = { items: 0, deadLettered: 0 };
    }
    newer.items += items;
    newer.deadLettered += deadLettered;
  };

  const verdict = (): string | undefined => {
    if (inARow > limits.inARowMax) return `${counted(inARow, 'item')} in a row went to the dead letters`;
    const items = older.items + newer.items;
    const share = items === 0 ? 0 : (older.deadLettered + newer.deadLettered) / items;
    if (items >= limits.shareItemsMin && share > limits.shareMax)
      return `${percent(share)} of the last ${items} items went to the dead letters`;
    return undefined;
  };

  return {
    get state() {
      return state;
    },
    get why() {
      return why;
    },
    note: (items, deadLettered) => {
      if (items === 0 && deadLettered === 0) return;
      count(items, deadLettered);
      const reason = state === 'closed' ? verdict() : undefined;
      if (reason !== undefined) open(reason);
    },
    tried: (items, deadLettered) => {
      if (items > 0 && deadLettered < items && deadLettered <= items * limits.shareMax) {
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
