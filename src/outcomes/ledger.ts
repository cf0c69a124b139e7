import type { Publisher } from '../bus/publisher.ts';
import { envelopeVersion } from '../wire/frame.ts';
import { ledgerSubjects, type OutcomeRow } from './rows.ts';

/** Publishes outcome records to stream LEDGER. */
export type Ledger = {
  /**
   * Resolves after the PubAck of every row. Rejects with the publisher's Faults: some of the rows may be recorded then, and
   * recording them again changes nothing.
   */
  record(rows: readonly OutcomeRow[]): Promise<void>;
};

/** Most that one message of LEDGER holds, but for a single line that is longer. */
export const ledgerBytesMax = 512 * 1024;

/** Rows as lines of JSON, in payloads of no more than this. */
export const encodeLines = (rows: readonly object[], bytesMax = ledgerBytesMax): Buffer[] => {
  const payloads: Buffer[] = [];
  let text = '';
  let size = 0;
  for (const row of rows) {
    const line = `${JSON.stringify(row)}\n`;
    const bytes = Buffer.byteLength(line);
    if (size > 0 && size + bytes > bytesMax) {
      payloads.push(Buffer.from(text));
      text = '';
      size = 0;
    }
    text += line;
    size += bytes;
  }
  if (size > 0) payloads.push(Buffer.from(text));
  return payloads;
};

/** `boot` is the process's own epoch: message ids begin with it. */
export const createLedger = (publisher: Publisher, boot: number): Ledger => {
  let count = 0;
  return {
    record: async (rows) => {
      await Promise.all(
        encodeLines(rows).map((payload) =>
          publisher.publish(ledgerSubjects.outcomes, `lo:${boot}:${++count}`, payload, envelopeVersion),
        ),
      );
    },
  };
};
