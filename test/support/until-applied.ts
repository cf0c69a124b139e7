import type { Stack } from './stack/stack.ts';
import { waitFor } from './wait.ts';

/** Waits until QuestDB has applied its log: confirmed rows are visible then. */
export const untilApplied = (stack: Stack): Promise<unknown> =>
  waitFor('QuestDB has applied its log', 120_000, async () => {
    const { dataset } = await stack.query('SELECT name FROM wal_tables() WHERE sequencerTxn != writerTxn');
    return dataset.length === 0;
  });
