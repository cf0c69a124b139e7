import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

/** An answer as it goes out: header names and values in turn. */
export type RawReply = {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string | Uint8Array;
};

export type HotRoute = {
  /** Request targets, exactly as they stand in the request line. */
  readonly targets: readonly string[];
  /** Answers a POST to one of them; never rejects. */
  readonly answer: (request: IncomingMessage) => Promise<RawReply>;
};

const plainHost = /^[a-z0-9._:-]+$/i;
/** The longest name (RFC 1035) and a port. */
const hostLengthMax = 261;
const hostsMax = 1_000;

/** Whether the routes would take a Host, too. The few that are used are remembered. */
const createHostCheck = (): ((host: string) => boolean) => {
  const known = new Map<string, boolean>();
  return (host) => {
    const answer = known.get(host);
    if (answer !== undefined) return answer;
    if (host.length > hostLengthMax) return false;
    if (known.size >= hostsMax) known.clear();
    const isGood = plainHost.test(host) && URL.canParse(`http://${host}/`);
    known.set(host, isGood);
    return isGood;
  };
};

/** How long the rest of a body is read that is refused before its end. */
const restMs = 10_000;

/**
 * Resolves once the body is there, or its sender has gone or takes too long. A connection that is to be closed is closed with the
 * answer: in mid-body, that would cost the sender the answer.
 */
const bodyIsThere = (request: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(done, restMs);
    function done(): void {
      clearTimeout(timer);
      request.off('end', done).off('close', done);
      resolve();
    }
    request.once('end', done).once('close', done).resume();
  });

const send = (response: ServerResponse, { status, headers, body }: RawReply): void => {
  response.writeHead(status, [...headers, 'Content-Length', String(Buffer.byteLength(body))]);
  // Without a body the head goes out by itself, not as one of two pieces.
  if (body.length === 0) response.end();
  else response.end(body);
};

/**
 * Answers the requests that a receiver is there for without a web Request and Response, which cost as much as all the rest of a small
 * request. Any other target goes to the routes.
 */
export const withHotRoute = ({ targets, answer }: HotRoute, routes: RequestListener): RequestListener => {
  const isGoodHost = createHostCheck();
  return (request, response) => {
    const { method, url = '', headers } = request;
    if (method !== 'POST' || !targets.includes(url) || !isGoodHost(headers.host ?? '')) {
      routes(request, response);
      return;
    }
    void answer(request).then((reply) => {
      if (request.complete || response.shouldKeepAlive) send(response, reply);
      else void bodyIsThere(request).then(() => send(response, reply));
    });
  };
};
