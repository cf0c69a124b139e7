import { Fault } from '../model/fault.ts';
import type { QuestdbWriter } from '../stores/questdb/writer.ts';
import { findRow } from '../wire/line-protocol.ts';
import type { HeldMessage } from './held-message.ts';

/** A row that the store will never take. */
export type RefusedRow = {
  readonly message: HeldMessage;
  readonly dataId: number;
  readonly table: string;
  readonly row: Uint8Array;
  readonly why: string;
};

/** What became of a batch: every row is stored, refused for good, or of a table that is not there. */
export type BatchResult = {
  readonly refused: readonly RefusedRow[];
  readonly missingTables: ReadonlySet<string>;
};

type Chunk = {
  readonly message: HeldMessage;
  readonly dataId: number;
  readonly table: string;
  bytes: Uint8Array;
};

/** Parts of all messages but those left out, those of one table side by side: QuestDB commits a request table by table. */
const chunksOf = (messages: readonly HeldMessage[], leftOut: ReadonlySet<number>): Chunk[] => {
  const byTable = new Map<string, Chunk[]>();
  for (const message of messages) {
    for (const [index, { dataId, table }] of message.envelope.header.parts.entries()) {
      const bytes = message.envelope.partBytes[index];
      if (bytes === undefined || leftOut.has(dataId)) continue;
      const chunk = { message, dataId, table, bytes };
      const chunks = byTable.get(table);
      if (chunks === undefined) byTable.set(table, [chunk]);
      else chunks.push(chunk);
    }
  }
  return [...byTable.values()].flat();
};

const concat = (chunks: readonly Chunk[]): Uint8Array => {
  const only = chunks[0];
  return chunks.length === 1 && only !== undefined
    ? only.bytes
    : Buffer.concat(chunks.map((chunk) => chunk.bytes));
};

/** Takes the row out of the chunk that holds it and says whose it was. Undefined when there is no such row. */
const cutRow = (chunks: Chunk[], body: Uint8Array, line: number, why: string): RefusedRow | undefined => {
  const found = findRow(body, line);
  if (found === undefined) return undefined;
  let offset = 0;
  for (const chunk of chunks) {
    const end = offset + chunk.bytes.length;
    if (found.start < end) {
      const start = found.start - offset;
      const row = chunk.bytes.subarray(start, found.end - offset);
      const rest = [chunk.bytes.subarray(0, start), chunk.bytes.subarray(found.end - offset)];
      const { message, dataId, table } = chunk;
      const refused = { message, dataId, table, row: Uint8Array.from(row), why };
      chunk.bytes = Buffer.concat(rest);
      return refused;
    }
    offset = end;
  }
  return undefined;
};

/**
 * Writes the rows of these messages, but for the data ids that are left out. Refused rows are taken out and the rest is written again; so are the rows of a table that
 * is not there. Throws the writer's transient Fault when the outcome is unknown: call again, repeats change nothing.
 */
export const writeBatch = async (
  writer: QuestdbWriter,
  messages: readonly HeldMessage[],
  onWrite: (outcome: 'stored' | 'row_refused' | 'table_missing' | 'failed', seconds: number) => void,
  leftOut: ReadonlySet<number> = new Set(),
): Promise<BatchResult> => {
  let chunks = chunksOf(messages, leftOut);
  const refused: RefusedRow[] = [];
  const missingTables = new Set<string>();
  while (chunks.length > 0) {
    const body = concat(chunks);
    if (body.length === 0) break;
    const startedAt = performance.now();
    const seconds = (): number => (performance.now() - startedAt) / 1000;
    const result = await writer.write(body).catch((error: unknown) => {
      onWrite('failed', seconds());
      throw error;
    });
    onWrite(result.kind, seconds());
    if (result.kind === 'stored') break;
    if (result.kind === 'table_missing') {
      const rest = chunks.filter((chunk) => chunk.table !== result.table);
      if (rest.length === chunks.length) {
        throw new Fault(
          'transient',
          'questdb_unavailable',
          `QuestDB misses table ${result.table}, which was not sent`,
        );
      }
      missingTables.add(result.table);
      chunks = rest;
      continue;
    }
    const row = cutRow(chunks, body, result.line, result.why);
    if (row === undefined) {
      throw new Fault(
        'transient',
        'questdb_unavailable',
        `QuestDB refused row ${result.line}, which was not sent`,
      );
    }
    refused.push(row);
  }
  return { refused, missingTables };
};
