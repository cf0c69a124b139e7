import { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { errorText, Fault } from '../../model/fault.ts';
import { oneLine, patternTextMax } from '../../model/text-forms.ts';
import { answerText, noAnswerText } from '../answer-text.ts';
import { authorization } from './sql.ts';
import type { FailureScope } from './table-states.ts';

/**
 * The result of a write: `stored` = every row is committed; `row_refused` = no row is known to be stored and the row with this
 * number (from 1) never will be, as this connection sees its table; `table_missing` = this table does not exist (or not yet);
 * `table_broken` = QuestDB cannot change this table any more, and rows that it confirms from now on may never be visible.
 */
export type WriteResult =
  | { readonly kind: 'stored' }
  | { readonly kind: 'row_refused'; readonly line: number; readonly why: string }
  | { readonly kind: 'table_missing'; readonly table: string }
  | { readonly kind: 'table_broken'; readonly table: string; readonly why: string };

/** Writes line protocol with millisecond timestamps. Writing the same rows again changes nothing (upsert on timestamp, uid). */
export type QuestdbWriter = {
  /**
   * Rows in pieces, one request. Throws a transient Fault when the outcome is unknown: write again. `questdb_unavailable`: away, late, busy;
   * `questdb_unclassified`: its answer about these rows or their tables is unknown to Tidemark.
   */
  write(pieces: readonly Uint8Array[]): Promise<WriteResult>;
  /**
   * Closes the connections once they have answered; the next write uses a new one. QuestDB keeps a picture of a table's columns for
   * each connection, and refuses rows by it after the table was changed by another way (9.3.4). It keeps a writer of a dropped table,
   * too: the next rows for its name are confirmed, and are gone with it.
   */
  renew(): void;
  /** Connections made until now, and writes that broke: an equal number means the same server as before. */
  readonly connections: number;
  close(): Promise<void>;
};

/**
 * QuestDB has one code for all its 400s, so its texts are matched here and nowhere else (version 9.3.4). A text that matches none
 * of these and names a line is that row's fault; a text without a line is unknown, and the write is retried.
 */
const refusalTexts: readonly (readonly ['table_missing' | 'unknown', RegExp])[] = [
  ['table_missing', /table: (.+); table does not exist, creating new tables is disabled/],
  // Never a row's fault: a connection with an earlier write keeps an old picture of the columns.
  ['unknown', /column: .*(?:does not exist|creating new columns is disabled)/],
];

/**
 * The log of a table's changes is damaged, by a kill while columns were added (9.3.4). QuestDB answers 500 and names
 * the table's folder, which is its name and its number.
 */
const brokenTable = /possible corruption in transaction metadata \[table=(.+)~\d+,/;

/** The meaning of a 500; undefined when it names no broken table. */
export const readBrokenTable = (body: string): Extract<WriteResult, { kind: 'table_broken' }> | undefined => {
  const { message } = parseError(body);
  const table = brokenTable.exec(message)?.[1];
  return table === undefined ? undefined : { kind: 'table_broken', table, why: oneLine(message, 500) };
};

/** Statuses that do not concern the rows or their table: the server is busy, or refuses the credentials. */
const statusesOfServer: readonly number[] = [401, 403, 404, 408, 429, 502, 503, 504];

type QuestdbError = { message: string; line: number | undefined };

const parseError = (body: string): QuestdbError => {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== 'object' || value === null) return { message: body.slice(0, 500), line: undefined };
    const message: unknown = Reflect.get(value, 'message');
    const line: unknown = Reflect.get(value, 'line');
    return {
      // It may quote a sender's text. The patterns match its beginning.
      message: typeof message === 'string' ? message.slice(0, patternTextMax) : '',
      line: typeof line === 'number' && Number.isInteger(line) && line > 0 ? line : undefined,
    };
  } catch {
    return { message: body.slice(0, 500), line: undefined };
  }
};

/** The meaning of a 400; undefined for an unknown text. */
export const readRefusal = (
  body: string,
): Extract<WriteResult, { kind: 'row_refused' | 'table_missing' }> | undefined => {
  const { message, line } = parseError(body);
  for (const [kind, pattern] of refusalTexts) {
    const found = pattern.exec(message);
    if (found === null) continue;
    return kind === 'table_missing' ? { kind, table: found[1] ?? '' } : undefined;
  }
  if (line === undefined) return undefined;
  return { kind: 'row_refused', line, why: oneLine(message, 500) };
};

/** True where QuestDB is alive and answered with an unknown text: other tables may accept their rows. */
export const isUnclassifiedAnswer = (error: unknown): boolean =>
  error instanceof Fault && error.code === 'questdb_unclassified';

/** The HTTP status of such an answer; undefined for every other error. */
export const unclassifiedStatus = (error: unknown): number | undefined =>
  error instanceof Fault && error.code === 'questdb_unclassified' ? error.detail.status : undefined;

/** Errors of the machine on Linux: I/O, memory, files of the system and of the process, space, read-only, quota. */
const machineErrnos: ReadonlySet<number | undefined> = new Set([5, 12, 23, 24, 28, 30, 122]);

/** Whether such an answer to rows of this table alone concerns the machine or the table. */
export const scopeOfAnswer = (error: unknown, table: string): FailureScope => {
  if (error instanceof Fault && machineErrnos.has(error.detail.errno)) return 'store';
  return errorText(error).includes(table) ? 'table' : 'unclear';
};

/** The number of an error of the machine: QuestDB writes it into its texts alone (9.3.4). */
const errnoOf = (text: string): number | undefined => {
  const number = /(?:^\[|\berrno[=:] ?)(\d{1,3})\b/.exec(text)?.[1];
  if (number !== undefined) return Number(number);
  if (text.includes('No space left')) return 28;
  return text.includes('Read-only file system') ? 30 : undefined;
};

/** An answer that concerns no row: of the server, or unclassified. */
export const answerFault = (status: number, body: string): Fault => {
  const text = answerText(parseError(body).message, 500);
  return new Fault(
    'transient',
    statusesOfServer.includes(status) ? 'questdb_unavailable' : 'questdb_unclassified',
    `QuestDB answered ${status}: ${text}`,
    undefined,
    { status, errno: errnoOf(text) },
  );
};

const lengthOf = (pieces: readonly Uint8Array[]): number =>
  pieces.reduce((sum, { length }) => sum + length, 0);

export type QuestdbWriterOptions = {
  /** `http://[user:password@]host:port` */
  readonly url: string;
  /** A write that takes longer counts as unknown, ms. */
  readonly timeoutMs: number;
};

export const createQuestdbWriter = ({ url, timeoutMs }: QuestdbWriterOptions): QuestdbWriter => {
  const target = new URL(url);
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', ...authorization(target) };
  const endpoint = new URL('/write?precision=ms', target.origin);
  let connections = 0;
  const newAgent = (): Agent => {
    const fresh = new Agent({ connections: 4, pipelining: 1, connect: { timeout: 2_000 } });
    fresh.on('connect', () => {
      connections++;
    });
    return fresh;
  };
  let agent = newAgent();
  const renew = (): void => {
    const old = agent;
    agent = newAgent();
    void old.close();
  };
  return {
    renew,
    get connections() {
      return connections;
    },
    write: async (pieces) => {
      let status: number;
      let body: string;
      try {
        const response = await request(endpoint, {
          method: 'POST',
          // Without the length the body goes in chunks.
          headers: { ...headers, 'Content-Length': String(lengthOf(pieces)) },
          body: pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Readable.from(pieces),
          dispatcher: agent,
          signal: AbortSignal.timeout(timeoutMs),
        });
        status = response.statusCode;
        body = await response.body.text();
      } catch (error) {
        // A proxy may keep its end of a connection while the server behind it changes.
        connections++;
        throw new Fault('transient', 'questdb_unavailable', `QuestDB: ${noAnswerText(error)}`, error);
      }
      if (status === 204 || status === 200) return { kind: 'stored' };
      const refusal = status === 400 ? readRefusal(body) : undefined;
      if (refusal !== undefined && refusal.kind === 'row_refused') return refusal;
      // The next try must not use an old picture of the tables.
      renew();
      if (refusal !== undefined) return refusal;
      const broken = status === 500 ? readBrokenTable(body) : undefined;
      if (broken !== undefined) return broken;
      throw answerFault(status, body);
    },
    close: () => agent.close(),
  };
};
