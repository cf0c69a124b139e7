import { connect, type Socket } from 'node:net';

/**
 * One HTTP/1.1 connection that posts one request after another: the generator's cost is taken from the measured machine, and a
 * client library costs twice as much as the receiver spends on a point. For answers with a Content-Length; every other one counts
 * as a failure.
 */
export type Connection = {
  /** True for an answer 200; false for every other answer, and for none: the next request has a new connection. */
  post(body: Uint8Array): Promise<boolean>;
  close(): void;
};

/** Bodies below are copied behind their head, so that a request is one write. */
const oneWriteBytesMax = 16 * 1024;
/** A connection without any bytes for this long is closed. */
const answerMsMax = 60_000;
const headersEnd = '\r\n\r\n';
const lengthHeader = /\r\ncontent-length: *(\d+)/i;
const closing = /\r\nconnection: *close/i;

type Answer = { readonly isGood: boolean; readonly isLast: boolean };

/** The answer once all of it has arrived, undefined before. */
const readAnswer = (received: Buffer): Answer | undefined => {
  const end = received.indexOf(headersEnd);
  if (end === -1) return undefined;
  const head = received.toString('latin1', 0, end);
  const status = Number(head.slice(9, 12));
  const isLast = closing.test(head);
  const length = lengthHeader.exec(head)?.[1];
  if (length === undefined) return { isGood: false, isLast: true };
  if (received.length < end + headersEnd.length + Number(length)) return undefined;
  return { isGood: status === 200, isLast };
};

export const openConnection = (url: string, headers: Readonly<Record<string, string>>): Connection => {
  const { hostname, port, host, pathname, search } = new URL(url);
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\n${fields.join('')}content-length: `;
  let socket: Socket | undefined;
  let received: Buffer = Buffer.alloc(0);
  let settle: ((isGood: boolean) => void) | undefined;

  const finish = (isGood: boolean): void => {
    const settled = settle;
    settle = undefined;
    received = Buffer.alloc(0);
    settled?.(isGood);
  };
  const drop = (of: Socket): void => {
    if (socket !== of) return;
    socket = undefined;
    of.destroy();
    finish(false);
  };
  const open = (): Socket => {
    const fresh = connect({ host: hostname, port: Number(port), noDelay: true });
    fresh.on('error', () => drop(fresh));
    fresh.on('close', () => drop(fresh));
    fresh.setTimeout(answerMsMax, () => drop(fresh));
    fresh.on('data', (piece) => {
      if (socket !== fresh || typeof piece === 'string') return;
      received = received.length === 0 ? piece : Buffer.concat([received, piece]);
      const answer = readAnswer(received);
      if (answer === undefined) return;
      if (answer.isLast) {
        socket = undefined;
        fresh.end();
      }
      finish(answer.isGood);
    });
    return fresh;
  };
  return {
    post: (body) =>
      new Promise((resolve) => {
        settle = resolve;
        socket ??= open();
        const start = Buffer.from(`${head}${body.length}${headersEnd}`, 'latin1');
        if (body.length < oneWriteBytesMax) {
          socket.write(Buffer.concat([start, body]));
          return;
        }
        socket.cork();
        socket.write(start);
        socket.write(body);
        socket.uncork();
      }),
    close: () => {
      socket?.end();
      socket = undefined;
    },
  };
};
