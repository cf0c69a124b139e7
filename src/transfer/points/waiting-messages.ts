import type { Delivery } from '../../bus/puller.ts';

/** The messages that wait for a table: their number, and how long ago the oldest of them was received, ms. */
export type TableWaiting = { readonly messages: number; readonly oldestMs: number };

/**
 * Messages that this process returned to NATS because of their tables. They are unacknowledged, and the consumer has room for a
 * limited number.
 */
export type WaitingMessages = {
  /** Messages that wait for a table, each counted once. */
  readonly total: number;
  /** Notes the tables that a message of this age waits for; without a table it waits no longer. */
  note(delivery: Delivery, ageMs: number, tables: readonly string[]): void;
  /** Notes that no message waits for this table any more. */
  forget(table: string): void;
  byTable(): ReadonlyMap<string, TableWaiting>;
};

type Waiting = { tables: readonly string[]; readonly receivedAt: number; seenAt: number };

/** NATS redelivers a message every few seconds, to any process. After this time without it, another process has settled it. */
const unseenMsMax = 60_000;

/** Holds as many messages as a consumer delivers without an acknowledgement. */
export const createWaitingMessages = (now: () => number): WaitingMessages => {
  const waiting = new Map<string, Waiting>();
  let cleanedAt = now();

  const clean = (): void => {
    if (now() - cleanedAt < 1_000) return;
    cleanedAt = now();
    for (const [key, { seenAt }] of waiting) if (now() - seenAt > unseenMsMax) waiting.delete(key);
  };

  return {
    get total() {
      clean();
      return waiting.size;
    },
    note: ({ subject, streamSequence }, ageMs, tables) => {
      if (tables.length === 0 && waiting.size === 0) return;
      const key = `${subject} ${streamSequence}`;
      if (tables.length === 0) waiting.delete(key);
      else {
        const receivedAt = waiting.get(key)?.receivedAt ?? now() - ageMs;
        waiting.set(key, { tables, receivedAt, seenAt: now() });
      }
    },
    forget: (table) => {
      for (const [key, message] of waiting) {
        if (!message.tables.includes(table)) continue;
        message.tables = message.tables.filter((each) => each !== table);
        if (message.tables.length === 0) waiting.delete(key);
      }
    },
    byTable: () => {
      clean();
      const tables = new Map<string, { messages: number; oldestMs: number }>();
      for (const { tables: names, receivedAt } of waiting.values()) {
        const ageMs = now() - receivedAt;
        for (const name of names) {
          const known = tables.get(name);
          if (known === undefined) tables.set(name, { messages: 1, oldestMs: ageMs });
          else {
            known.messages++;
            known.oldestMs = Math.max(known.oldestMs, ageMs);
          }
        }
      }
      return tables;
    },
  };
};
