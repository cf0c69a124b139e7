import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { z } from 'zod';
import { adminTokenPath, type Settings, settingFault } from '../config/settings.ts';
import { whyUnreadable } from '../config/unreadable.ts';
import { errorText, Fault } from '../model/fault.ts';
import { parseJson } from '../model/json.ts';
import { firstCauseText, tlsTroubleOf } from '../model/tls-trouble.ts';
import { visible } from '../model/visible-text.ts';
import { certificatesIn } from '../runtime/certificates.ts';
import { readAnswer } from './read-answer.ts';
import { loadAdminSettings } from './running-stack.ts';
import { adminToken, usableToken } from './usable-token.ts';

/** An answer: the parts that a command needs, and the whole body. */
export type Answered<T> = { readonly value: T; readonly json: unknown };

type Request = { readonly body?: unknown; readonly timeoutMs?: number };

/** The admin API as the commands use it: JSON in, checked JSON out. */
export type AdminClient = {
  /**
   * Throws a Fault whose message is for the user: `admin_unreachable`, `admin_timeout`, `admin_token_missing`, `admin_token_invalid`, or the
   * error of the API.
   */
  ask<T>(
    schema: z.ZodType<T>,
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    request?: Request,
  ): Promise<Answered<T>>;
  /**
   * Reads an endless answer of lines, until the API ends it. `onOpen` is called once it has begun. Throws the same
   * Faults; `admin_unreachable` also where the connection is lost, or silent for 30 s.
   */
  follow(path: string, onOpen: () => void, onLine: (line: string) => void): Promise<void>;
};

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable() });

const problemSchema = z.object({ code: z.string(), detail: z.string(), remedy: z.string().optional() });

const requestTimeoutMs = 30_000;
/** The API writes at least every 10 s into an endless answer. */
const silenceMs = 30_000;

/** The message for the user about an answer that is not a success. */
const faultOf = (status: number, text: string, url: string): Fault => {
  const kind = status >= 500 ? 'transient' : 'permanent';
  const problem = problemSchema.safeParse(parseJson(text));
  if (!problem.success) {
    return new Fault(
      kind,
      'admin_api_failed',
      `unexpected status ${status} from ${url}; is it the admin API of metadata?`,
    );
  }
  // It may quote foreign text: it is made a single line.
  const { code, detail: given, remedy } = problem.data;
  const detail = visible(given);
  const sentence = '.!?'.includes(detail.at(-1) ?? ' ') ? detail : `${detail}.`;
  return new Fault(kind, code, remedy === undefined ? detail : `${sentence} ${visible(remedy)}`);
};

/** Trusts the authorities of a file beside those of the system. Throws a permanent Fault for an unusable file. */
export const trust = (caFile: string): void => {
  try {
    const own = certificatesIn(readFileSync(caFile, 'utf8'), 'authorities').map(String);
    setDefaultCACertificates([...getCACertificates('default'), ...own]);
  } catch (error) {
    throw settingFault('TIDEMARK_ADMIN_CA_FILE', errorText(error), 'Use a PEM file with certificates');
  }
};

const unreachable = (url: string, error: unknown): Fault => {
  const remedy =
    tlsTroubleOf(error) === 'untrusted'
      ? 'set TIDEMARK_ADMIN_CA_FILE to the certificate of its authority'
      : 'start tidemark metadata, or set TIDEMARK_ADMIN_URL';
  return new Fault(
    'transient',
    'admin_unreachable',
    `the admin API is not reachable at ${url} (${firstCauseText(error)}): ${remedy}`,
    error,
  );
};

const silent = (url: string): Fault =>
  new Fault(
    'transient',
    'admin_unreachable',
    `the admin API at ${url} sent nothing for ${silenceMs / 1_000} s: look at the process of metadata, and at the network`,
  );

type Init = {
  readonly method?: string;
  readonly signal: AbortSignal;
  readonly body?: string;
  readonly headers?: Record<string, string>;
};

type Answer = Pick<Response, 'status' | 'text'>;

/** Node's fetch gives up by itself after so long, and with it a call that may take longer. */
const nodeTimeoutMs = 300_000;

/** A fetch that waits until its signal ends it. */
const patientFetch = async (url: string, { body, ...options }: Init): Promise<Answer> => {
  const { request } = await (url.startsWith('https:') ? import('node:https') : import('node:http'));
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, options, resolve).on('error', reject).end(body);
  });
  return { status: response.statusCode ?? 0, text: () => text(response) };
};

/** The call had no answer in this time: what it does may go on. */
const late = (url: string, method: string, afterMs: number): Fault => {
  const remedy =
    method === 'GET'
      ? 'ask for a shorter period, or look at the load of metadata'
      : 'the call may still take effect; look at its result before you repeat it';
  return new Fault(
    'transient',
    'admin_timeout',
    `no answer of the admin API at ${url} within ${afterMs / 1_000} s: ${remedy}`,
  );
};

/** A client of the admin API at `settings.admin.url`. */
export const createAdminClient = (settings: Settings): AdminClient => {
  const { url, token, caFile } = settings.admin;
  if (caFile !== undefined) trust(caFile);

  const call = <T>(path: string, init: Init, using: (url: string, init: Init) => Promise<T>): Promise<T> => {
    if (token === undefined) {
      const file = adminTokenPath(settings.dataFolder);
      const why =
        whyUnreadable(file) ??
        `set TIDEMARK_ADMIN_TOKEN, or TIDEMARK_DATA to the data folder of metadata (there is no ${file})`;
      throw new Fault('permanent', 'admin_token_missing', `no admin token: ${why}`);
    }
    return using(`${url.replace(/\/$/, '')}${path}`, {
      ...init,
      headers: {
        Authorization: `Bearer ${usableToken(token, adminToken)}`,
        'Content-Type': 'application/json',
      },
    });
  };

  return {
    ask: async (schema, method, path, { body, timeoutMs = requestTimeoutMs } = {}) => {
      const init = {
        method,
        signal: AbortSignal.timeout(timeoutMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      };
      const reply = await call<Answer>(path, init, timeoutMs < nodeTimeoutMs ? fetch : patientFetch)
        .then(async (response) => ({ status: response.status, text: await response.text() }))
        .catch((error: unknown) => {
          if (error instanceof Fault) throw error;
          throw init.signal.aborted ? late(url, method, timeoutMs) : unreachable(url, error);
        });
      if (reply.status !== 200) throw faultOf(reply.status, reply.text, url);
      const json = parseJson(reply.text);
      const answer = readAnswer(schema, json);
      if (answer.success) return { value: answer.data, json };
      throw new Fault('internal', 'admin_api_failed', `unexpected answer from ${url} at ${path}`);
    },
    follow: async (path, onOpen, onLine) => {
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(silent(url)), silenceMs);
      try {
        const response = await call(path, { signal: abort.signal }, fetch);
        if (response.status !== 200) throw faultOf(response.status, await response.text(), url);
        onOpen();
        let rest = '';
        for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(
          new TextDecoderStream(),
        )) {
          timer.refresh();
          const lines = `${rest}${chunk}`.split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) if (line !== '') onLine(line);
        }
      } catch (error) {
        throw error instanceof Fault ? error : unreachable(url, error);
      } finally {
        clearTimeout(timer);
      }
    },
  };
};

export const adminClient = (): AdminClient => createAdminClient(loadAdminSettings());
