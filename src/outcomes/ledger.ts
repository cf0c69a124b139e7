import type { Publisher } from '../bus/publisher.ts';
import { headerBytesMax } from '../bus/too-large.ts';
import { ledgerSubjects, ledgerVersion, type SettledLine } from './rows.ts';

/** Publishes the settlers' book to stream LEDGER. */
export type Ledger = {
  /**
   * Resolves after the PubAck of every line. Rejects with the publisher's Faults: some of the lines may be recorded then, and
   * recording them again changes nothing.
   */
  record(lines: readonly SettledLine[]): Promise<void>;
};

const ledgerBytesMax = 512 * 1024;

/** Most that one message of LEDGER holds now, but for a single line that is longer: what NATS takes may change. */
export const linesBytesMax = ({ sizeMax = Infinity }: Pick<Publisher, 'sizeMax'>): number =>
  Math.min(ledgerBytesMax, sizeMax - headerBytesMax);

type Packed = { readonly payload: Buffer; readonly rows: number };

/** Rows as lines of JSON, in payloads of no more than `bytesMax`, each with the number of its rows. */
export const packLines = <R extends object>(
  rows: readonly R[],
  bytesMax: number,
  textOf: (row: R) => string = JSON.stringify,
): Packed[] => {
  const packed: Packed[] = [];
  let text = '';
  let size = 0;
  let count = 0;
  for (const row of rows) {
    const line = `${textOf(row)}\n`;
    const bytes = Buffer.byteLength(line);
    if (size > 0 && size + bytes > bytesMax) {
      packed.push({ payload: Buffer.from(text), rows: count });
      text = '';
      size = 0;
      count = 0;
    }
    text += line;
    size += bytes;
    count++;
  }
  if (size > 0) packed.push({ payload: Buffer.from(text), rows: count });
  return packed;
};

/** The same payloads alone. */
export const encodeLines = <R extends object>(
  rows: readonly R[],
  bytesMax: number,
  textOf?: (row: R) => string,
): Buffer[] => packLines(rows, bytesMax, textOf).map(({ payload }) => payload);

const numbersText = (name: string, values: readonly number[] | undefined): string =>
  values === undefined ? '' : `,"${name}":[${values.join()}]`;

/**
 * A line as JSON. There is one for each message, tens of thousands a second at full load of single points, and `JSON.stringify` would
 * take twice as long. `first` and `redrive` are left out where they are 0.
 */
export const settledLineText = (line: SettledLine): string => {
  const first = line.first === 0 ? '' : `,"first":${line.first}`;
  const redrive = line.redrive === 0 ? '' : `,"redrive":${line.redrive}`;
  const sums = line.day_sums === undefined ? '' : `,"day_sums":["${line.day_sums.join('","')}"]`;
  return (
    `{"pipeline":"${line.pipeline}","data_id":${line.data_id},"app_id":${line.app_id},"base":"${line.base}"${first}` +
    `,"ordinal":${line.ordinal}${redrive},"minute":"${line.minute}","received":${line.received}` +
    `,"outcomes":${JSON.stringify(line.outcomes)},"at":"${line.at}","stream":${JSON.stringify(line.stream)}` +
    `,"life":${line.life},"serial":${line.serial},"sent":"${line.sent}","sequence":${line.sequence}` +
    `,"owners":${line.owners},"items":${line.items}` +
    numbersText('letters', line.letters) +
    numbersText('letter_items', line.letter_items) +
    numbersText('days', line.days) +
    numbersText('day_rows', line.day_rows) +
    `${sums}}`
  );
};

/** `boot` is the process's own epoch: message ids begin with it. */
export const createLedger = (publisher: Publisher, boot: number): Ledger => {
  let count = 0;
  return {
    record: async (lines) => {
      await Promise.all(
        encodeLines(lines, linesBytesMax(publisher), settledLineText).map((payload) =>
          publisher.publish(ledgerSubjects.settled, `lo:${boot}:${++count}`, payload, ledgerVersion),
        ),
      );
    },
  };
};
