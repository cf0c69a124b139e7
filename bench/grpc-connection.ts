import { type ClientHttp2Session, connect } from 'node:http2';
import type { Connection } from './connection.ts';

const frameHeadBytes = 5;
const windowBytes = 8 * 2 ** 20;

/** The body as one message that is not compressed (gRPC over HTTP/2, Length-Prefixed-Message). */
const messageOf = (body: Uint8Array): Buffer => {
  const message = Buffer.allocUnsafe(frameHeadBytes + body.length);
  message[0] = 0;
  message.writeUInt32BE(body.length, 1);
  message.set(body, frameHeadBytes);
  return message;
};

/** One connection over HTTP/2 without TLS that makes one unary call after another; `url` has the path of the method. */
export const openGrpcConnection = (url: string, headers: Readonly<Record<string, string>>): Connection => {
  const { host, pathname } = new URL(url.replace(/^grpc:/, 'http:'));
  const fields = {
    ...headers,
    ':method': 'POST',
    ':path': pathname,
    'content-type': 'application/grpc',
    te: 'trailers',
  };
  let session: ClientHttp2Session | undefined;
  const open = (): ClientHttp2Session => {
    const fresh = connect(`http://${host}`, { settings: { initialWindowSize: windowBytes } });
    const forget = (): void => {
      if (session === fresh) session = undefined;
    };
    fresh.on('error', forget);
    fresh.on('goaway', forget);
    fresh.on('close', forget);
    return fresh;
  };
  return {
    post: (body) =>
      new Promise((resolve) => {
        session ??= open();
        let isGood = false;
        const call = session.request(fields);
        call.on('response', (answer) => {
          if (answer['grpc-status'] === '0') isGood = true;
        });
        call.on('trailers', (trailers) => {
          if (trailers['grpc-status'] === '0') isGood = true;
        });
        call.on('error', () => resolve(false));
        call.on('close', () => resolve(isGood));
        call.resume();
        call.end(messageOf(body));
      }),
    close: () => {
      session?.close();
      session = undefined;
    },
  };
};
