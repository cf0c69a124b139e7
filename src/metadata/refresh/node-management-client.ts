import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { tokenInFile } from '../../config/node-management.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { parseJson } from '../../model/json.ts';
import { readBounded } from '../../runtime/read-bounded.ts';
import { tlsRemedy } from '../../stores/answer-text.ts';

export type ClientOptions = {
  /** Up to the path before `/subscription/`. */
  readonly url: string;
  readonly token: string | undefined;
  /** Read at each call, so that a new token needs no restart; wins over `token`. */
  readonly tokenFile: string | undefined;
  readonly tokenHeader: string;
  readonly timeoutMs: number;
  /** Before the second try, and twice as long before the third. */
  readonly backOffMs: number;
  readonly signal: AbortSignal;
};

/** Posts JSON to `<url>/subscription/<action>/` and answers the `data` of the envelope. */
type Attempt = (action: string, body: object, headers?: Record<string, string>) => Promise<unknown>;

/** The same, with up to `tries` tries. */
export type Call = (...call: [...Parameters<Attempt>, tries?: number]) => Promise<unknown>;

const triesDefault = 3;
const answerBytesMax = 1024 * 1024;

const envelopeSchema = z.object({
  result: z.boolean(),
  code: z.union([z.int(), z.string()]).optional(),
  message: z.string().nullish(),
  data: z.unknown().optional(),
});

/** An API may repeat the request in its errors. */
const withoutSecrets = (text: string, token: string | undefined): string =>
  (token === undefined || token === '' ? text : text.replaceAll(token, '*'))
    .replaceAll(/[0-9a-f]{32,}/gi, '*'.repeat(32))
    .replaceAll(/\s+/g, ' ')
    .slice(0, 200);

/** The error of `fetch` only says that it failed; its cause has the reason. */
const whyOf = (error: unknown): string => {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause === undefined) return errorText(error);
  // Node's hint at an option of its own, which no role has.
  const text = errorText(cause).split('; if the root CA is installed locally')[0] ?? '';
  return `${errorText(error)}, ${text}`;
};

const unavailable = (what: string, cause?: unknown): Fault =>
  new Fault('transient', 'node_management_unavailable', what, cause);

const isRetriable = (status: number): boolean => status === 408 || status === 429 || status >= 500;

const tokenOf = async ({ token, tokenFile }: ClientOptions): Promise<string | undefined> => {
  if (tokenFile === undefined) return token;
  const text = await readFile(tokenFile, 'utf8').catch((error: unknown) => {
    throw unavailable('the token file of node management cannot be read', error);
  });
  return tokenInFile(text);
};

const tooLarge = (): Error => new Error(`the answer is larger than ${answerBytesMax} bytes`);

const textOf = async ({ body }: Response): Promise<string> =>
  body === null ? '' : readBounded(body, answerBytesMax, tooLarge);

/**
 * A client that tries a call three times, unless told otherwise, where it may work later (no answer in time, no connection, 408, 429, 5xx, an
 * answer of another form). A refusal after a try with an unknown result is transient too: the first try may have
 * succeeded. Permanent Fault `config_invalid` where no header may have the token in the file. No error shows a token.
 */
export const createClient = (options: ClientOptions): Call => {
  const base = options.url.replace(/\/+$/, '');

  const attempt: Attempt = async (action, body, headers = {}) => {
    const token = await tokenOf(options);
    const name = options.tokenHeader;
    const credential = name.toLowerCase() === 'authorization' ? `Bearer ${token}` : token;
    const answer = await fetch(`${base}/subscription/${action}/`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(credential === undefined || token === undefined ? {} : { [name]: credential }),
        ...headers,
      },
      body: JSON.stringify(body),
      // A redirect would take the token elsewhere.
      redirect: 'error',
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
    })
      .then(async (response) => ({ status: response.status, text: await textOf(response) }))
      .catch((error: unknown) => {
        const isLate = error instanceof Error && error.name === 'TimeoutError';
        throw unavailable(
          isLate
            ? `${action}: no answer within ${options.timeoutMs} ms`
            : `${action}: ${withoutSecrets(whyOf(error), token)}${tlsRemedy(error)}`,
          error,
        );
      });
    const { status, text } = answer;
    const envelope = envelopeSchema.safeParse(parseJson(text)).data;
    const said = withoutSecrets(envelope?.message ?? '', token);
    if (isRetriable(status)) throw unavailable(`${action}: HTTP ${status} ${said}`);
    if (status < 200 || status > 299) {
      const text = `${action}: HTTP ${status} ${said}`;
      throw new Fault('permanent', 'node_management_refused', text, undefined, { status });
    }
    if (envelope === undefined) throw unavailable(`${action}: the answer is not from a node management API`);
    if (!envelope.result) {
      throw new Fault(
        'permanent',
        'node_management_refused',
        `${action}: code ${envelope.code ?? 'none'} ${said}`,
      );
    }
    return envelope.data;
  };

  return async (action, body, headers, triesMax = triesDefault) => {
    let isUnknown = false;
    for (let tries = 1; ; tries++) {
      try {
        return await attempt(action, body, headers);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        if (error.kind === 'permanent' && isUnknown) throw unavailable(error.message, error);
        if (error.kind !== 'transient' || tries === triesMax || options.signal.aborted) throw error;
        isUnknown = true;
        await delay(options.backOffMs * tries * (0.5 + Math.random()), undefined, {
          signal: options.signal,
        }).catch(() => undefined);
      }
    }
  };
};
