import { waitFor } from './wait.ts';

type Questdb = { query(sql: string): Promise<{ readonly dataset: readonly unknown[] }> };

/** Waits until QuestDB has applied its log: confirmed rows are visible then. */
export const untilApplied = ({ query }: Questdb): Promise<unknown> =>
  waitFor('QuestDB has applied its log', 120_000, async () => {
    const { dataset } = await query('SELECT name FROM wal_tables() WHERE sequencerTxn != writerTxn');
    return dataset.length === 0;
  });
