import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';

/** A request as it goes over the wire: what is left out is not sent. */
export type PushRequest = {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text or one buffer goes with its Content-Length, several buffers as chunks. */
  readonly body?: string | Buffer | readonly Buffer[];
};

/** What came back. Header names are lower case; `json` is undefined where the body is none. */
export type PushAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly bytes: Buffer;
  readonly json: unknown;
  /** Whether the server sent 100 Continue first. */
  readonly continued: boolean;
  /** Local port of the connection it came over. */
  readonly localPort: number | undefined;
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const readAll = async (response: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
};

/** A producer with connections of its own, which it keeps between requests. */
export type PushClient = {
  /** Sends it and waits for the whole answer. Rejects when the connection ends without one. */
  send(push: PushRequest): Promise<PushAnswer>;
  close(): void;
};

/** By default Node sends the body of a GET or a DELETE without a mark of its end. */
const framingOf = (body: PushRequest['body']): Record<string, string> => {
  if (body === undefined) return {};
  if (typeof body === 'string' || Buffer.isBuffer(body))
    return { 'Content-Length': String(Buffer.byteLength(body)) };
  return { 'Transfer-Encoding': 'chunked' };
};

export const createPushClient = (port: number, connections = Number.POSITIVE_INFINITY): PushClient => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const send: PushClient['send'] = ({ method = 'POST', path = '/v2/push/', headers = {}, body }) =>
    new Promise((resolve, reject) => {
      let continued = false;
      const framing = framingOf(body);
      const outgoing = request({
        ...{ host: '127.0.0.1', port, method, path, agent },
        headers: { ...framing, ...headers },
      });
      outgoing.once('continue', () => {
        continued = true;
      });
      outgoing.once('error', reject);
      outgoing.once('response', (response) => {
        const { statusCode: status = 0, headers: received } = response;
        const { localPort } = response.socket;
        // An answer before the whole body was sent is an answer: what becomes of the connection then does not matter.
        outgoing.off('error', reject).on('error', () => {});
        readAll(response).then((bytes) => {
          const text = bytes.toString('utf8');
          resolve({ status, headers: received, text, bytes, json: parsed(text), continued, localPort });
        }, reject);
      });
      if (typeof body === 'string' || Buffer.isBuffer(body)) outgoing.end(body);
      else {
        for (const chunk of body ?? []) outgoing.write(chunk);
        outgoing.end();
      }
    });
  return { send, close: () => agent.destroy() };
};

/**
 * A connection that has announced a body of this many bytes and sends nothing of it. Resolves once it is established.
 */
export const announceBody = (port: number, bytes: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.write(`POST /v2/push/ HTTP/1.1\r\nHost: tidemark\r\nContent-Length: ${bytes}\r\n\r\n`, () => {
        socket.off('error', reject).on('error', () => {});
        resolve(socket);
      });
    });
  });

/** JSON as Python writes it: NaN and infinities stand bare. */
export const looseJson = (value: unknown): string => {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(looseJson).join(',')}]`;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${looseJson(item)}`).join(',')}}`;
};
