import { bytesIdentity } from '../../dead-letters/dead-letters.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { ledgerSubjects, ledgerTables, ledgerVersion } from '../../outcomes/rows.ts';
import type { LedgerWriter } from '../../stores/clickhouse/ledger-writer.ts';
import type { HeldMessage } from '../held-message.ts';
import type { DeadLettered, Sink, Validated, WriteOutcome } from '../sink.ts';

/** A message of LEDGER: lines of JSON, rows of the table that its subject names. */
export type LedgerLines = { readonly lines: Uint8Array; readonly rows: number };

type Held = HeldMessage<LedgerLines>;

/** Lines of one message on their way into an insert. */
type Piece = { readonly message: Held; readonly lines: Uint8Array };

const newline = 0x0a;

const tableBySubject = new Map<string, string>([
  [ledgerSubjects.outcomes, ledgerTables.outcomes],
  [ledgerSubjects.settled, ledgerTables.settled],
  [ledgerSubjects.published, ledgerTables.published],
  [ledgerSubjects.doubtful, ledgerTables.doubtful],
  [ledgerSubjects.usage, ledgerTables.usage],
  [ledgerSubjects.refusals, ledgerTables.refusals],
  [ledgerSubjects.samples, ledgerTables.samples],
]);

const countLines = (lines: Uint8Array): number => {
  let count = 0;
  for (let at = lines.indexOf(newline); at >= 0; at = lines.indexOf(newline, at + 1)) count++;
  return count;
};

/** Two halves that end with whole lines; undefined for a single line. */
const halve = (lines: Uint8Array): [Uint8Array, Uint8Array] | undefined => {
  const after = lines.indexOf(newline, Math.floor(lines.length / 2) - 1) + 1;
  const cut = after > 0 && after < lines.length ? after : lines.indexOf(newline) + 1;
  return cut > 0 && cut < lines.length ? [lines.subarray(0, cut), lines.subarray(cut)] : undefined;
};

const refusedLine = (line: Uint8Array, table: string, why: string): DeadLettered => ({
  reason: 'ledger_line_refused',
  why,
  bytes: line,
  identity: bytesIdentity(line),
  items: 1,
  place: { table },
});

/** Messages by the table of their subject; '' stands for a subject without a table. */
const byTable = (batch: readonly Held[]): Map<string, Piece[]> => {
  const tables = new Map<string, Piece[]>();
  for (const message of batch) {
    const table = tableBySubject.get(message.delivery.subject) ?? '';
    const piece = { message, lines: message.envelope.lines };
    const pieces = tables.get(table);
    if (pieces === undefined) tables.set(table, [piece]);
    else pieces.push(piece);
  }
  return tables;
};

/** The ledger's rows are about items and are no items themselves: they have no records. */
const validate = ({ rows }: LedgerLines): Validated => ({
  arrivedAt: 0,
  key: undefined,
  kept: rows,
  rows,
  dropped: new Map(),
  tally: new Map(),
  passed: [],
  unreadableItems: 0,
});

/** The two books, refusals and samples: LEDGER -> ClickHouse. Rows that are written again replace themselves, so it needs no guard. */
export const createLedgerSink = (writer: LedgerWriter): Sink<LedgerLines> => {
  /** Inserts the pieces; when the store refuses rows, halves them until the refused lines stand alone. */
  const insertOrSplit = async (
    table: string,
    pieces: readonly Piece[],
    refuse: (piece: Piece, why: string) => void,
  ): Promise<void> => {
    try {
      await writer.insert(
        table,
        pieces.map(({ lines }) => lines),
      );
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'clickhouse_rows_refused') throw error;
      const [only] = pieces;
      if (only === undefined) throw error;
      const middle = Math.ceil(pieces.length / 2);
      const halves = pieces.length > 1 ? [pieces.slice(0, middle), pieces.slice(middle)] : undefined;
      const parts = halves ?? halve(only.lines)?.map((lines) => [{ message: only.message, lines }]);
      if (parts === undefined) return refuse(only, errorText(error));
      for (const part of parts) await insertOrSplit(table, part, refuse);
    }
  };

  const writeTable = async (
    table: string,
    pieces: readonly Piece[],
    refuse: (piece: Piece, why: string) => void,
    onWrite: (outcome: WriteOutcome, seconds: number) => void,
  ): Promise<void> => {
    const startedAt = performance.now();
    const seconds = (): number => (performance.now() - startedAt) / 1000;
    try {
      await insertOrSplit(table, pieces, refuse);
    } catch (error) {
      onWrite('failed', seconds());
      throw error;
    }
    onWrite('stored', seconds());
  };

  return {
    pipeline: 'ledger',
    store: 'ClickHouse',
    isUnhurried: true,
    read: (payload, version) =>
      version !== undefined && version > ledgerVersion
        ? { kind: 'newer', version }
        : { kind: 'envelope', envelope: { lines: payload, rows: countLines(payload) } },
    rowsOf: ({ rows }) => rows,
    write: async (batch, onWrite) => {
      const deadLettered = new Map<Held, DeadLettered[]>();
      for (const [table, pieces] of byTable(batch)) {
        const refuse = ({ message, lines }: Piece, why: string): void => {
          const refused = deadLettered.get(message) ?? [];
          deadLettered.set(message, refused);
          refused.push(refusedLine(lines, table, why));
        };
        const full = pieces.filter(({ lines }) => lines.length > 0);
        if (table === '') for (const piece of full) refuse(piece, 'no table belongs to the subject');
        else if (full.length > 0) await writeTable(table, full, refuse, onWrite);
      }
      return { deadLettered, retryLater: new Set(), purged: new Set() };
    },
    validate,
  };
};
