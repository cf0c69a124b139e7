import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { text as textOf } from 'node:stream/consumers';
import { parseJson } from '../../../src/model/json.ts';

/** An answer as a browser sees it. */
export type Seen = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly body: unknown;
};

/** A client that behaves as a page of the console does, with a cookie jar; every field of its requests can be changed. */
export type Visitor = {
  /** The Cookie field of its requests; empty without a session. */
  cookie: string;
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Seen>;
  /** Begins an answer without an end: its status, and when it has ended. */
  open(path: string): Promise<{ status: number; ended: Promise<void> }>;
  logIn(proof: { token: string } | { code: string }): Promise<Seen>;
};

/** The fields that a browser sends with a fetch of the console; an empty text leaves one out. */
const fieldsOfPage = { 'sec-fetch-site': 'same-origin', 'x-tidemark-console': '1' };

/** Not fetch: it would not send these fields as they are. `ca` for a server with a certificate. */
export const createVisitor = (url: string, ca?: string): Visitor => {
  const begin = (
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const fields = Object.entries({ ...fieldsOfPage, cookie: visitor.cookie, ...headers });
      const options = { method, headers: Object.fromEntries(fields.filter(([, value]) => value !== '')) };
      const address = new URL(path, url);
      const sent =
        ca === undefined ? plainRequest(address, options) : tlsRequest(address, { ...options, ca });
      sent.once('error', reject).once('response', resolve);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const visitor: Visitor = {
    cookie: '',
    ask: async (method, path, body, headers = {}) => {
      const response = await begin(method, path, body, headers);
      const text = await textOf(response);
      return { status: response.statusCode ?? 0, headers: response.headers, text, body: parseJson(text) };
    },
    open: async (path) => {
      const response = await begin('GET', path, undefined, {});
      const ended = textOf(response).then(() => undefined);
      return { status: response.statusCode ?? 0, ended };
    },
    logIn: async (proof) => {
      const seen = await visitor.ask('POST', '/console/session', proof);
      const [cookie = ''] = seen.headers['set-cookie'] ?? [];
      if (seen.status === 200) visitor.cookie = cookie.split(';')[0] ?? '';
      return seen;
    },
  };
  return visitor;
};
