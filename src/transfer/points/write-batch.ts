import { Fault } from '../../model/fault.ts';
import type { QuestdbSql } from '../../stores/questdb/sql.ts';
import { separateCommits } from '../../stores/questdb/table-states.ts';
import type { QuestdbWriter, WriteResult } from '../../stores/questdb/writer.ts';
import { findRow } from '../../wire/line-protocol.ts';
import type { Part } from '../../wire/metrics-envelope.ts';
import type { HeldMessage } from '../held-message.ts';
import type { WriteOutcome } from '../sink.ts';
import { piecesByDay } from './day-pieces.ts';

/** A row that the store will never take. */
export type RefusedRow = {
  readonly message: HeldMessage;
  readonly part: Part;
  readonly row: Uint8Array;
  readonly why: string;
};

/** The result of a batch: every row is stored, refused for good, or belongs to a missing table. */
export type BatchResult = {
  /** Tables that took rows. */
  readonly storedTables: ReadonlySet<string>;
  readonly refused: readonly RefusedRow[];
  readonly missingTables: ReadonlySet<string>;
  /** Tables that QuestDB cannot change any more, with its text. */
  readonly brokenTables: ReadonlyMap<string, string>;
};

type Chunk = {
  readonly message: HeldMessage;
  readonly part: Part;
  bytes: Uint8Array;
};

/** One request; `apart` is its only table, where QuestDB shall not apply it together with the one before. */
type Request = { readonly chunks: readonly Chunk[]; readonly apart?: string };

/**
 * Parts of all messages except those left out, those of one table side by side: QuestDB commits a request table by table. Rows of many
 * days go last and in pieces.
 */
const requestsOf = (messages: readonly HeldMessage[], isLeftOut: (part: Part) => boolean): Request[] => {
  const byTable = new Map<string, Chunk[]>();
  for (const message of messages) {
    for (const [index, part] of message.envelope.header.parts.entries()) {
      const bytes = message.envelope.partBytes[index];
      if (bytes === undefined || bytes.length === 0 || isLeftOut(part)) continue;
      const chunk = { message, part, bytes };
      const chunks = byTable.get(part.table);
      if (chunks === undefined) byTable.set(part.table, [chunk]);
      else chunks.push(chunk);
    }
  }
  const together: Chunk[] = [];
  const pieces: Request[] = [];
  for (const [apart, chunks] of byTable) {
    const some = piecesByDay(chunks);
    if (some.length === 1) together.push(...chunks);
    else pieces.push(...some.map((each) => ({ chunks: each, apart })));
  }
  return [{ chunks: together }, ...pieces];
};

/** Smaller chunks are sent together: each piece is a write on the socket. Larger ones are not copied. */
const pieceBytesLeast = 32 * 1024;

/** The bytes of the chunks in order, in pieces for one request. */
const piecesOf = (chunks: readonly Chunk[]): Uint8Array[] => {
  const pieces: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  let smallBytes = 0;
  const endSmall = (): void => {
    if (small.length > 0) pieces.push(small.length === 1 && small[0] ? small[0] : Buffer.concat(small));
    small = [];
    smallBytes = 0;
  };
  for (const { bytes } of chunks) {
    if (bytes.length >= pieceBytesLeast) {
      endSmall();
      pieces.push(bytes);
      continue;
    }
    small.push(bytes);
    smallBytes += bytes.length;
    if (smallBytes >= 8 * pieceBytesLeast) endSmall();
  }
  endSmall();
  return pieces;
};

/** Takes the row out of the chunk that holds it, and returns it with its part. Undefined for a missing row. */
const cutRow = (chunks: Chunk[], line: number, why: string): RefusedRow | undefined => {
  const found = findRow(Buffer.concat(chunks.map(({ bytes }) => bytes)), line);
  if (found === undefined) return undefined;
  let offset = 0;
  for (const chunk of chunks) {
    const end = offset + chunk.bytes.length;
    if (found.start < end) {
      const start = found.start - offset;
      const row = chunk.bytes.subarray(start, found.end - offset);
      const rest = [chunk.bytes.subarray(0, start), chunk.bytes.subarray(found.end - offset)];
      const { message, part } = chunk;
      const refused = { message, part, row: Uint8Array.from(row), why };
      chunk.bytes = Buffer.concat(rest);
      return refused;
    }
    offset = end;
  }
  return undefined;
};

/** Once many rows were refused, requests are this small: each further refused row costs one of them and not the whole. */
const pieceBytesMax = 32 * 1024;
const pieceRowsMax = 256;
/** This many refused rows of a request are taken out one by one; then the rest goes in pieces. */
const refusalsTogetherMax = 4;

const bytesIn = (chunks: readonly Chunk[]): number =>
  chunks.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** The chunks in small requests. */
const inPieces = (chunks: readonly Chunk[]): Chunk[][] => {
  const pieces: Chunk[][] = [];
  let room = 0;
  const add = (chunk: Chunk, bytes: Uint8Array): void => {
    if (bytes.length > room) {
      pieces.push([]);
      room = pieceBytesMax;
    }
    room -= bytes.length;
    pieces.at(-1)?.push({ ...chunk, bytes });
  };
  for (const chunk of chunks) {
    let rest = chunk.bytes;
    while (rest.length > pieceBytesMax) {
      const cut = findRow(rest, pieceRowsMax)?.end ?? rest.length;
      add(chunk, rest.subarray(0, cut));
      rest = rest.subarray(cut);
    }
    if (rest.length > 0) add(chunk, rest);
  }
  return pieces;
};

/** What a batch is written with; `separate` as `separateCommits`. */
export type BatchWriter = Pick<QuestdbWriter, 'write' | 'renew'> & {
  separate(table: string): Promise<boolean>;
};

/** The writer and the SQL of one store together. */
export const batchWriterOf = (
  { write, renew }: Pick<QuestdbWriter, 'write' | 'renew'>,
  sql: Pick<QuestdbSql, 'exec'>,
): BatchWriter => ({ write, renew, separate: (table) => separateCommits(sql, table) });

const notSent = (what: string): Fault =>
  new Fault('transient', 'questdb_unavailable', `QuestDB ${what}, which was not sent`);

/**
 * Writes the rows of these messages, except the parts that are left out. Refused rows are taken out and the rest is written again;
 * the same holds for the rows of a missing table. No row is refused for good by a connection that is older than this call.
 * `onBroken` is called at once for a table, regardless of the others. Throws the writer's transient Fault when the outcome is
 * unknown: call again, repeats change nothing.
 */
export const writeBatch = async (
  writer: BatchWriter,
  messages: readonly HeldMessage[],
  onWrite: (outcome: WriteOutcome, seconds: number) => void,
  isLeftOut: (part: Part) => boolean = () => false,
  onBroken: (table: string, why: string) => void = () => {},
): Promise<BatchResult> => {
  const refused: RefusedRow[] = [];
  const missingTables = new Set<string>();
  const brokenTables = new Map<string, string>();
  const storedTables = new Set<string>();
  let isRenewed = false;

  const send = async (pieces: readonly Uint8Array[]): Promise<WriteResult> => {
    const startedAt = performance.now();
    const seconds = (): number => (performance.now() - startedAt) / 1000;
    const result = await writer.write(pieces).catch((error: unknown) => {
      onWrite('failed', seconds());
      throw error;
    });
    onWrite(result.kind, seconds());
    return result;
  };

  /** Writes the chunks of one request; returns the rest in pieces when too many of its rows are refused. */
  const writeChunks = async (sent: readonly Chunk[]): Promise<Chunk[][]> => {
    let chunks = sent.filter(({ part }) => !missingTables.has(part.table) && !brokenTables.has(part.table));
    for (let refusals = 0; chunks.length > 0; ) {
      if (bytesIn(chunks) === 0) return [];
      const result = await send(piecesOf(chunks));
      if (result.kind === 'stored') {
        for (const { part } of chunks) storedTables.add(part.table);
        return [];
      }
      if (result.kind === 'table_missing' || result.kind === 'table_broken') {
        const rest = chunks.filter(({ part }) => part.table !== result.table);
        if (rest.length === chunks.length) throw notSent(`names table ${result.table}`);
        if (result.kind === 'table_missing') missingTables.add(result.table);
        else {
          brokenTables.set(result.table, result.why);
          onBroken(result.table, result.why);
        }
        chunks = rest;
        continue;
      }
      if (!isRenewed) {
        isRenewed = true;
        writer.renew();
        continue;
      }
      const row = cutRow(chunks, result.line, result.why);
      if (row === undefined) throw notSent(`refused row ${result.line}`);
      refused.push(row);
      chunks = chunks.filter(({ bytes }) => bytes.length > 0);
      if (++refusals > refusalsTogetherMax && bytesIn(chunks) > pieceBytesMax) return inPieces(chunks);
    }
    return [];
  };

  const todo = requestsOf(messages, isLeftOut);
  let isSeparated = true;
  for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
    const { apart } = next;
    if (isSeparated && apart !== undefined && !missingTables.has(apart) && !brokenTables.has(apart))
      isSeparated = await writer.separate(apart);
    todo.unshift(...(await writeChunks(next.chunks)).map((chunks) => ({ chunks })));
  }
  return { storedTables, refused, missingTables, brokenTables };
};
