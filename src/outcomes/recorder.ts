/** What became of one message's items in transfer. The receiver's drops are in the message and counted there. */
export type MessageOutcome = {
  readonly stored: number;
  readonly rows: number;
  /** Items dropped in transfer by reason. */
  readonly dropped: ReadonlyMap<string, number>;
  readonly deadLettered: number;
};

/**
 * Takes the outcome of a message before the message is acknowledged (design decision D4: store confirmed, outcome recorded,
 * ack). A promise, because a recorder may have to wait for a confirmation of its own.
 */
export type OutcomeRecorder = { record(outcome: MessageOutcome): Promise<void> };

export type OutcomeCounters = {
  stored(items: number): void;
  rows(rows: number): void;
  dropped(reason: string, items: number): void;
};

/** Counts outcomes in the process's metrics. */
export const createCountingRecorder = (counters: OutcomeCounters): OutcomeRecorder => ({
  record: async ({ stored, rows, dropped }) => {
    counters.stored(stored);
    counters.rows(rows);
    for (const [reason, items] of dropped) counters.dropped(reason, items);
  },
});
