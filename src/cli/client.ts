import { join } from 'node:path';
import { z } from 'zod';
import type { Settings } from '../config/settings.ts';
import { Fault, messageOf } from '../model/fault.ts';

/** The admin API as the commands use it: JSON in, checked JSON out. */
export type AdminClient = {
  /**
   * Throws a Fault whose message is for the user: `admin_unreachable`, `admin_token_missing`, or what the API answered.
   */
  ask<T>(schema: z.ZodType<T>, method: 'GET' | 'POST' | 'PATCH', path: string, body?: object): Promise<T>;
};

const problemSchema = z.object({ code: z.string(), detail: z.string(), remedy: z.string().optional() });

const requestTimeoutMs = 30_000;

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** What an answer that is no success means to the user. */
const faultOf = (status: number, text: string, url: string): Fault => {
  const kind = status >= 500 ? 'transient' : 'permanent';
  const problem = problemSchema.safeParse(parseJson(text));
  if (!problem.success) {
    return new Fault(kind, 'admin_api_failed', `${url} answered ${status}; is it the admin API of metadata?`);
  }
  const { code, detail, remedy } = problem.data;
  const sentence = /[.!?]$/.test(detail) ? detail : `${detail}.`;
  return new Fault(kind, code, remedy === undefined ? detail : `${sentence} ${remedy}`);
};

/** A client of the admin API at `settings.admin.url`. */
export const createAdminClient = (settings: Settings): AdminClient => {
  const { url, token } = settings.admin;
  return {
    ask: async (schema, method, path, body) => {
      if (token === undefined) {
        throw new Fault(
          'permanent',
          'admin_token_missing',
          `no admin token: set TIDEMARK_ADMIN_TOKEN, or TIDEMARK_DATA to the data folder of metadata (there is no ${join(settings.dataFolder, 'admin.token')})`,
        );
      }
      const reply = await fetch(`${url.replace(/\/$/, '')}${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        signal: AbortSignal.timeout(requestTimeoutMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
        .then(async (response) => ({ status: response.status, text: await response.text() }))
        .catch((error: unknown) => {
          const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
          throw new Fault(
            'transient',
            'admin_unreachable',
            `the admin API is not reachable at ${url} (${messageOf(cause)}): start tidemark metadata, or set TIDEMARK_ADMIN_URL`,
            error,
          );
        });
      if (reply.status !== 200) throw faultOf(reply.status, reply.text, url);
      const answer = schema.safeParse(parseJson(reply.text));
      if (answer.success) return answer.data;
      throw new Fault(
        'internal',
        'admin_api_failed',
        `${url} answered something else than expected at ${path}`,
      );
    },
  };
};
