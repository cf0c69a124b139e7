import { writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

/**
 * GOAWAY with the highest stream id (RFC 9113 section 6.8): the client should begin no more calls here, and all that it has begun are
 * served. The session itself must not send it: nghttp2 drops each new call without a word once it has sent a GOAWAY.
 */
const notice = Buffer.of(0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0);

/** What the session of a connection runs on, and beside it the notice of the connection's end. */
export type Carrier = {
  readonly stream: Duplex;
  /** Writes the notice between two frames of the session, whose SETTINGS must have been sent. False: not now, try again later. */
  notify(): boolean;
};

type Handle = { readonly fd: number; readonly writeQueueSize: number };

const isHandle = (value: unknown): value is Handle =>
  typeof value === 'object' &&
  value !== null &&
  'fd' in value &&
  typeof value.fd === 'number' &&
  'writeQueueSize' in value &&
  typeof value.writeQueueSize === 'number';

/**
 * The session reads and writes a plain socket without JavaScript. A write of the socket that has to wait would end in the session, and
 * with it the process; so the notice goes to the kernel at once, when the session has nothing waiting, or not at all.
 */
const plainCarrier = (socket: Socket): Carrier => ({
  stream: socket,
  notify: () => {
    const handle: unknown = Reflect.get(socket, '_handle');
    if (!isHandle(handle) || handle.writeQueueSize > 0) return false;
    try {
      if (writeSync(handle.fd, notice) === notice.length) return true;
    } catch {
      // There is no room, or the client has gone.
      return false;
    }
    // Nothing can follow a part of a frame.
    socket.destroy();
    return false;
  },
});

/** Hands over bytes as they are. A write of the session, which is whole frames, is one write here. */
class OverTls extends Duplex {
  private readonly socket: TLSSocket;

  constructor(socket: TLSSocket) {
    super();
    this.socket = socket;
    socket.on('data', (chunk) => {
      if (!this.push(chunk)) socket.pause();
    });
    // The session sees no end by the client, only the close that follows: where Node's wrapper of a Duplex has read an end, the next
    // write of the session fails the process. And that an answer cannot be written then is no error.
    socket.on('error', (error) => this.destroy(socket.readableEnded ? undefined : error));
    socket.once('close', () => this.destroy());
  }

  override _read(): void {
    this.socket.resume();
  }

  // An error of a write is one of the socket, too.
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.socket.write(chunk, () => done());
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), () => done());
  }

  override _final(done: () => void): void {
    this.socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }
}

/** Two writers to a socket of TLS, of which one is a session, would end the process: the session writes through JavaScript. */
const tlsCarrier = (socket: TLSSocket): Carrier => {
  const stream = new OverTls(socket);
  return {
    stream,
    notify: () => {
      stream.write(notice);
      return true;
    },
  };
};

export const carrierOf = (socket: Socket): Carrier =>
  socket instanceof TLSSocket ? tlsCarrier(socket) : plainCarrier(socket);
