import type { StreamReader } from '../bus/stream-reader.ts';
import { deadLetterStream, readLetter } from '../dead-letters/dead-letter.ts';
import { ledgerTables } from '../outcomes/rows.ts';

const booksTables: ReadonlySet<string> = new Set([
  ledgerTables.settled,
  ledgerTables.published,
  ledgerTables.doubtful,
]);

const pageMax = 256;

/**
 * Whether a line of either book is a dead letter, because ClickHouse refuses it: the books are not whole then. Reads up to 256 dead
 * letters of LEDGER. Throws as the reader does.
 */
export const hasRefusedLines = async (reader: StreamReader): Promise<boolean> => {
  const { entries } = await reader.readForwards(deadLetterStream, {
    subject: 'deadletter.ledger',
    limit: pageMax,
  });
  return entries.some((entry) => booksTables.has(readLetter(entry)?.header.table ?? ''));
};
