import { Pool } from 'undici';
import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import { parseJson } from '../../model/json.ts';
import { patternTextMax } from '../../model/text-forms.ts';
import { answerText, noAnswerText } from '../answer-text.ts';

/** The result of a statement; both are empty for DDL. Rows are in the order of `columns`. */
export type SqlResult = { readonly columns: readonly string[]; readonly dataset: readonly unknown[][] };

/** SQL over QuestDB's HTTP interface. */
export type QuestdbSql = {
  /**
   * Runs one statement. Throws a transient Fault `questdb_unavailable` when the server is away, late or failing, and a
   * permanent `questdb_rejected` when it refuses the statement or the credentials. A query that takes longer than
   * `timeoutMs` (default 10 s) is given up: its connection is closed, and the server ends it.
   */
  exec(sql: string, timeoutMs?: number): Promise<SqlResult>;
  close(): Promise<void>;
};

const answerSchema = z.object({
  columns: z.array(z.object({ name: z.string() })).default([]),
  dataset: z.array(z.array(z.unknown())).default([]),
});
const refusalSchema = z.object({ error: z.string() });

const requestTimeoutMs = 10_000;
/** Characters of an answer in a Fault. */
const answerMax = 300;

/** An identifier in double quotes. Throws a permanent Fault for a name that quotes cannot hold. */
export const quoteIdentifier = (name: string): string => {
  const hasForm = name !== '' && name.length <= patternTextMax;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused here.
  if (!hasForm || /["\u0000-\u001f\u007f\ufeff]/.test(name)) {
    throw new Fault('permanent', 'questdb_rejected', `${JSON.stringify(name)} cannot be a name in QuestDB`);
  }
  return `"${name}"`;
};

/** A text literal in single quotes. */
export const quoteLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A transient Fault `questdb_unavailable`; `status` of an answer. */
export const unavailable = (reason: string, cause?: unknown, status?: number): Fault =>
  new Fault('transient', 'questdb_unavailable', `QuestDB ${reason}`, cause, { status });

/** The one place where QuestDB's SQL answers become results or Faults. */
export const toResult = (status: number, text: string): SqlResult => {
  if (status >= 500 || status === 429)
    throw unavailable(`answered ${status}: ${answerText(text, answerMax)}`, undefined, status);
  const body = parseJson(text);
  const refusal = refusalSchema.safeParse(body);
  if (status !== 200 || refusal.success) {
    const why = refusal.success ? refusal.data.error.trim() : `${status} ${answerText(text, answerMax)}`;
    throw new Fault('permanent', 'questdb_rejected', `QuestDB refused: ${why}`);
  }
  const answer = answerSchema.safeParse(body);
  if (!answer.success) throw unavailable('answered something other than a result');
  return { columns: answer.data.columns.map((column) => column.name), dataset: answer.data.dataset };
};

/** The header of the user and the password of an address. */
export const authorization = ({ username, password }: URL): Record<string, string> => {
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return username === '' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
};

export type QuestdbSqlOptions = {
  /** `http://[user:password@]host:port`; a password in it is sent as basic auth. */
  readonly url: string;
  /** How long a statement without a time of its own may take. */
  readonly timeoutMs?: number;
};

/** A client for one server. */
export const createQuestdbSql = ({
  url,
  timeoutMs: usualMs = requestTimeoutMs,
}: QuestdbSqlOptions): QuestdbSql => {
  const address = new URL(url);
  const pool = new Pool(address.origin, {
    connections: 8,
    connectTimeout: 2_000,
    headersTimeout: usualMs,
    bodyTimeout: usualMs,
  });
  const headers = authorization(address);
  return {
    exec: async (sql, timeoutMs) => {
      // No Statement-Timeout: QuestDB 9.3.4 keeps it for later queries of others. A closed connection ends the query, too.
      const bound =
        timeoutMs === undefined
          ? {}
          : { signal: AbortSignal.timeout(timeoutMs), headersTimeout: 0, bodyTimeout: 0 };
      const reply = await pool
        .request({ method: 'GET', path: `/exec?query=${encodeURIComponent(sql)}`, headers, ...bound })
        .then(async ({ statusCode, body }) => ({ status: statusCode, text: await body.text() }))
        .catch((error: unknown) => {
          throw unavailable(`does not answer at ${address.host}: ${noAnswerText(error)}`, error);
        });
      return toResult(reply.status, reply.text);
    },
    close: () => pool.close(),
  };
};
