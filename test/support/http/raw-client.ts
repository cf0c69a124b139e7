import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** How a connection is made: from this address, over TLS with these options, or plain from anywhere. */
export type RawOptions = {
  readonly host?: string;
  readonly from?: string;
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string };
};

/** A connection that sends exactly the given bytes, and records all received ones. */
export type RawConnection = {
  readonly socket: Socket;
  /** What came so far, a character a byte. */
  readonly text: string;
  /** Resolves with all that came once the server has ended the connection, or cut it. */
  readonly ended: Promise<string>;
  send(bytes: string | Buffer): void;
  /** Resolves with all received bytes once they contain this; rejects when the connection ends before. */
  until(mark: string | RegExp): Promise<string>;
  destroy(): void;
};

/** Resolves once the connection, and TLS over it, is established. */
export const openRaw = async (port: number, options: RawOptions = {}): Promise<RawConnection> => {
  const where = {
    port,
    host: options.host ?? '127.0.0.1',
    allowHalfOpen: true,
    ...(options.from === undefined ? {} : { localAddress: options.from }),
  };
  const socket =
    options.tls === undefined
      ? connect(where)
      : connectTls({ ...where, servername: 'localhost', ...options.tls });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once(options.tls === undefined ? 'connect' : 'secureConnect', () => {
      socket.off('error', reject).on('error', () => {});
      resolve();
    });
  });
  let text = '';
  const ended = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(text));
  });
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  socket.on('end', () => socket.end());
  const has = (mark: string | RegExp): boolean =>
    typeof mark === 'string' ? text.includes(mark) : mark.test(text);
  return {
    socket,
    get text() {
      return text;
    },
    ended,
    send: (bytes) => {
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    },
    until: (mark) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!has(mark)) return;
          socket.off('data', look);
          resolve(text);
        };
        socket.on('data', look);
        socket.once('close', () => reject(new Error(`ended without ${mark}: ${text}`)));
        look();
      }),
    destroy: () => socket.destroy(),
  };
};

/** Sends this and answers all that comes back until the server ends the connection. */
export const exchange = async (port: number, bytes: string, options: RawOptions = {}): Promise<string> => {
  const connection = await openRaw(port, options);
  connection.send(bytes);
  return connection.ended;
};

/** One answer of HTTP/1.1, names of fields in lower case. */
export type RawAnswer = { status: number; headers: Record<string, string>; body: string };

/** The answers in what came back, of which each has a Content-Length. */
export const answersIn = (text: string): RawAnswer[] => {
  const answers: RawAnswer[] = [];
  for (let rest = text; rest !== ''; ) {
    const [head = '', ...others] = rest.split('\r\n\r\n');
    const [line = '', ...fields] = head.split('\r\n');
    const headers = Object.fromEntries(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 2),
      ]),
    );
    const after = others.join('\r\n\r\n');
    const length = Number(headers['content-length'] ?? 0);
    answers.push({ status: Number(line.split(' ')[1]), headers, body: after.slice(0, length) });
    rest = after.slice(length);
  }
  return answers;
};
