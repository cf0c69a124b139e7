import { type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** What a receiver says to bytes that are no request of its own: body and headers of a status. */
export type ProtocolAnswer = (status: 400 | 408 | 417 | 431) => {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
};

const statusOf = (code: string | undefined): 400 | 408 | 431 => {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
};

const writeRaw = (socket: Duplex, status: 400 | 408 | 431, answer: ProtocolAnswer): void => {
  const { body, headers } = answer(status);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries({
      ...headers,
      'Content-Length': String(Buffer.byteLength(body)),
      Connection: 'close',
    }).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
};

/**
 * Gives a body to what Node refuses before any route is asked: broken requests, header fields beyond the limit, slow headers and
 * unknown expectations.
 */
export const answerProtocolErrors = (server: Server, answer: ProtocolAnswer): void => {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else writeRaw(socket, statusOf(error.code), answer);
  });
  const refuseExpectation: RequestListener = (_request, response) => {
    const { body, headers } = answer(417);
    response.writeHead(417, { ...headers, 'Content-Length': Buffer.byteLength(body) }).end(body);
  };
  server.on('checkExpectation', refuseExpectation);
};

/** The answer to a request whose Host is missing or none, for the adapter's error handler. */
export const hostResponse = (answer: ProtocolAnswer): Response => {
  const { body, headers } = answer(400);
  return new Response(body, { status: 400, headers });
};
