import { setTimeout as delay } from 'node:timers/promises';
import { connectGrpc, type GrpcClient } from '../support/grpc/client.ts';

/** An answer in the words of HTTP; status 0 when no whole answer came. */
export type GrpcAnswer = { readonly status: number; readonly text: string };

/** Sends exports over gRPC, on a connection to each receiver that is made again when it has ended. */
export type GrpcSender = {
  /** `path` names the method, `body` is protobuf, compressed with gzip where `isPacked`. Never rejects. */
  send(port: number, path: string, body: Buffer, token: string, isPacked: boolean): Promise<GrpcAnswer>;
  close(): void;
};

/** The status of the same answer over HTTP, by the code of gRPC; every other code has none. */
const statusOfCode: Readonly<Record<number, number>> = { 0: 200, 3: 400, 7: 403, 8: 429, 14: 503, 16: 401 };
/** DEADLINE_EXCEEDED: the call had not arrived whole, as where no answer comes. */
const deadlineExceeded = 4;
const otherStatus = 500;

export const createGrpcSender = (timeoutMs: number): GrpcSender => {
  const open = new Map<number, GrpcClient>();

  const connected = async (port: number): Promise<GrpcClient> => {
    const known = open.get(port);
    if (known !== undefined && !known.session.closed && !known.session.destroyed) return known;
    const client = await connectGrpc(`http://127.0.0.1:${port}`);
    open.set(port, client);
    return client;
  };

  const forget = (port: number): void => {
    open.get(port)?.close();
    open.delete(port);
  };

  const call = async (
    port: number,
    path: string,
    body: Buffer,
    token: string,
    isPacked: boolean,
  ): Promise<GrpcAnswer | undefined> => {
    const client = await connected(port);
    const metadata = { 'x-mon-token': token, ...(isPacked ? { 'grpc-encoding': 'gzip' } : {}) };
    const { code, message, messages } = await client.call(path, body, { metadata, flags: isPacked ? 1 : 0 });
    if (code === undefined || code === deadlineExceeded) return undefined;
    const text = code === 0 ? Buffer.concat(messages).toString('utf8') : message;
    return { status: statusOfCode[code] ?? otherStatus, text };
  };

  return {
    send: async (port, path, body, token, isPacked) => {
      const timer = new AbortController();
      const late = delay(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined);
      const answer = await Promise.race([
        call(port, path, body, token, isPacked).catch(() => undefined),
        late,
      ]);
      timer.abort();
      if (answer === undefined) forget(port);
      return answer ?? { status: 0, text: '' };
    },
    close: () => {
      for (const port of [...open.keys()]) forget(port);
    },
  };
};
