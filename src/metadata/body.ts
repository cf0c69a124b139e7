import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { Fault } from '../model/fault.ts';
import { bodyTooLarge } from './problem.ts';

/** Ends a call whose body is larger with a permanent Fault `body_too_large`; of the rest nothing is read. */
export const limitBody = (bytesMax: number): MiddlewareHandler =>
  bodyLimit({
    maxSize: bytesMax,
    onError: () => {
      throw bodyTooLarge(bytesMax);
    },
  });

const utf8 = new TextDecoder('utf-8', { fatal: true });

const refused = (why: string): Fault => new Fault('permanent', 'body_not_json', `the body is not ${why}`);

/** The body as JSON; an empty one counts as `{}`, but of a change, whose caller has lost it. Permanent Fault `body_not_json`. Of a repeated field the last one counts. */
export const readJson = async ({ req }: Context): Promise<unknown> => {
  const bytes = await req.arrayBuffer();
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    // Another character in place of each wrong byte would be stored as if the caller had sent it.
    throw refused('UTF-8');
  }
  if (text.trim() === '' && req.method !== 'PATCH') return {};
  try {
    return JSON.parse(text);
  } catch {
    throw refused('valid JSON');
  }
};
