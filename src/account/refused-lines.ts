import type { StreamReader } from '../bus/stream-reader.ts';
import { deadLetterStream, readLetter } from '../dead-letters/dead-letter.ts';
import { Fault } from '../model/fault.ts';
import { ledgerTables } from '../outcomes/rows.ts';

const booksTables: ReadonlySet<string> = new Set([
  ledgerTables.settled,
  ledgerTables.published,
  ledgerTables.doubtful,
]);

const pageMax = 256;
const pagesMax = 40;

export type RefusedLinesDependencies = {
  readonly reader: Pick<StreamReader, 'readForwards'>;
  /** Identifies DEADLETTER, and its last sequence: another one begins with other sequences. Throws the Faults of NATS. */
  readonly readEnd: () => Promise<{ readonly created: string; readonly last: number }>;
};

/**
 * Tells whether a line of either book is a dead letter, because ClickHouse refuses it: the books are not whole then. Each call goes on
 * where the one before saw no such line: dead letters do not change. Throws as the reader does, and where more dead letters of
 * LEDGER came than one call reads.
 */
export const createRefusedLines = ({
  reader,
  readEnd,
}: RefusedLinesDependencies): (() => Promise<boolean>) => {
  let before = { created: '', last: 0 };
  let from = 1;

  return async () => {
    const end = await readEnd();
    // One that went back, as an older copy does, gives its sequences again.
    if (end.created !== before.created || end.last < before.last) from = 1;
    before = end;
    for (let page = 0; page < pagesMax; page++) {
      const { entries, next } = await reader.readForwards(deadLetterStream, {
        ...{ fromSequence: from, subject: 'deadletter.ledger', limit: pageMax },
      });
      for (const entry of entries) {
        if (booksTables.has(readLetter(entry)?.header.table ?? '')) return true;
        from = entry.sequence + 1;
      }
      if (next === undefined) return false;
      from = next;
    }
    throw new Fault(
      'transient',
      'ledger_letters_unread',
      `${deadLetterStream} has more than ${pageMax * pagesMax} dead letters of LEDGER that were not read yet; the next look goes on from sequence ${from}`,
    );
  };
};
