import type { Publisher } from '../bus/publisher.ts';
import { ledgerSubjects, ledgerVersion, type SettledLine } from './rows.ts';

/** Publishes the settlers' book to stream LEDGER. */
export type Ledger = {
  /**
   * Resolves after the PubAck of every line. Rejects with the publisher's Faults: some of the lines may be recorded then, and
   * recording them again changes nothing.
   */
  record(lines: readonly SettledLine[]): Promise<void>;
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
    record: async (lines) => {
      await Promise.all(
        encodeLines(lines).map((payload) =>
          publisher.publish(ledgerSubjects.settled, `lo:${boot}:${++count}`, payload, ledgerVersion),
        ),
      );
    },
  };
};
