import { connect, type Socket } from 'node:net';
import { flags, frame, preface, settings, types, windowUpdate } from '../test/support/grpc/frames.ts';
import type { Connection } from './connection.ts';

const messagePrefixBytes = 5;
const frameHeadBytes = 9;
/** What a frame carries at most before a server says otherwise (RFC 9113 section 4.2), as most clients send them. */
const frameBytesMax = 16_384;
const defaultWindowBytes = 65_535;
/** Room for answers that never ends. */
const answersWindowBytes = 2 ** 31 - 1 - defaultWindowBytes;
/** A connection without any bytes for this long is closed. */
const answerMsMax = 60_000;
const lastStream = 2 ** 31 - 3;

const settingIds = { headerTableBytes: 1, initialWindowBytes: 4 } as const;

/** An integer with a prefix of 7 bits, and the text (RFC 7541 section 5). */
const text = (value: string): Buffer => {
  const { length } = value;
  if (length < 127) return Buffer.concat([Buffer.of(length), Buffer.from(value)]);
  const rest = length - 127;
  return Buffer.concat([Buffer.of(127, 0x80 | (rest & 127), rest >> 7), Buffer.from(value)]);
};

/** A field that the server's table takes: later calls name it by its place there, as clients do. */
const kept = ([name, value]: readonly [string, string]): Buffer =>
  Buffer.concat([Buffer.of(0x40), text(name), text(value)]);

const firstOfTable = 62;

/** The fields of the first call of a connection, and of every later one. */
const fieldsOf = (
  url: URL,
  headers: Readonly<Record<string, string>>,
): { readonly first: Buffer; readonly later: Buffer } => {
  const own: [string, string][] = [
    [':path', url.pathname],
    [':authority', url.host],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ...Object.entries(headers),
  ];
  // :method POST and :scheme http are in the static table.
  const fixed = Buffer.of(0x83, 0x86);
  return {
    first: Buffer.concat([fixed, ...own.map(kept)]),
    later: Buffer.concat([
      fixed,
      Buffer.from(own.map((_, at) => 0x80 | (firstOfTable + own.length - 1 - at))),
    ]),
  };
};

/** grpc-status: 0 without the table, each of both texts plain or in Huffman's code (RFC 7541 appendix B). */
const good = ['0b677270632d737461747573', '889acac8b21234da8f'].flatMap((name) =>
  ['0130', '8107'].map((value) => Buffer.from(name + value, 'hex')),
);

/** The parts of one message of the body in DATA frames, at most this long in all. */
const writeData = (socket: Socket, stream: number, message: Buffer, from: number, to: number): void => {
  for (let at = from; at < to; at += frameBytesMax) {
    const end = Math.min(to, at + frameBytesMax);
    const head = Buffer.allocUnsafe(frameHeadBytes);
    head.writeUIntBE(end - at, 0, 3);
    head.writeUInt8(types.data, 3);
    head.writeUInt8(end === message.length ? flags.endStream : 0, 4);
    head.writeUInt32BE(stream, 5);
    socket.write(head);
    socket.write(message.subarray(at, end));
  }
};

/** A connection that is open, with one call at a time. */
class OpenConnection {
  private readonly socket: Socket;
  private readonly fields: ReturnType<typeof fieldsOf>;
  private readonly onGone: () => void;
  private received: Buffer = Buffer.alloc(0);
  private stream = -1;
  private message: Buffer = Buffer.alloc(0);
  private sent = 0;
  private initialWindow = defaultWindowBytes;
  private window = defaultWindowBytes;
  private callWindow = 0;
  private isLast = false;
  private settle: ((isGood: boolean) => void) | undefined;

  constructor(url: URL, headers: Readonly<Record<string, string>>, onGone: () => void) {
    this.onGone = onGone;
    this.fields = fieldsOf(url, headers);
    this.socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    this.socket.on('error', () => this.end());
    this.socket.on('close', () => this.end());
    this.socket.setTimeout(answerMsMax, () => this.end());
    this.socket.on('data', (piece: Buffer) => this.receive(piece));
    const opening = [
      preface,
      settings([settingIds.headerTableBytes, 0]),
      windowUpdate(0, answersWindowBytes),
    ];
    this.socket.write(Buffer.concat(opening));
  }

  call(message: Buffer, settle: (isGood: boolean) => void): void {
    this.settle = settle;
    this.stream += 2;
    this.message = message;
    this.sent = 0;
    this.callWindow = this.initialWindow;
    const { first, later } = this.fields;
    this.socket.cork();
    this.socket.write(frame(types.headers, flags.endHeaders, this.stream, this.stream === 1 ? first : later));
    this.send();
    this.socket.uncork();
  }

  /** Ends it with the call that it has. */
  end(): void {
    this.isLast = true;
    this.socket.destroy();
    this.finish(false);
  }

  private finish(isGood: boolean): void {
    const { settle } = this;
    this.settle = undefined;
    if (this.isLast || this.stream >= lastStream) {
      this.onGone();
      this.socket.end();
    }
    settle?.(isGood);
  }

  /** As much of the message as the windows allow. */
  private send(): void {
    if (this.settle === undefined) return;
    const bytes = Math.min(this.message.length - this.sent, this.window, this.callWindow);
    if (bytes <= 0) return;
    writeData(this.socket, this.stream, this.message, this.sent, this.sent + bytes);
    this.sent += bytes;
    this.window -= bytes;
    this.callWindow -= bytes;
  }

  private receive(piece: Buffer): void {
    const bytes = this.received.length === 0 ? piece : Buffer.concat([this.received, piece]);
    let at = 0;
    while (bytes.length - at >= frameHeadBytes) {
      const end = at + frameHeadBytes + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const payload = bytes.subarray(at + frameHeadBytes, end);
      this.take(bytes.readUInt8(at + 3), bytes.readUInt8(at + 4), bytes.readUInt32BE(at + 5), payload);
      at = end;
    }
    this.received = bytes.subarray(at);
  }

  private take(type: number, bits: number, stream: number, payload: Buffer): void {
    switch (type) {
      case types.headers:
        if ((bits & flags.endStream) > 0 && stream === this.stream)
          this.finish(good.some((field) => payload.includes(field)));
        break;
      case types.reset:
        if (stream === this.stream) this.finish(false);
        break;
      case types.settings:
        if ((bits & flags.ack) === 0) this.obey(payload);
        break;
      case types.ping:
        if ((bits & flags.ack) === 0) this.socket.write(frame(types.ping, flags.ack, 0, payload));
        break;
      case types.goaway:
        this.isLast = true;
        if (this.settle === undefined) this.finish(false);
        break;
      case types.windowUpdate:
        if (stream === 0) this.window += payload.readUInt32BE(0);
        else if (stream === this.stream) this.callWindow += payload.readUInt32BE(0);
        this.send();
        break;
      default:
    }
  }

  private obey(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== settingIds.initialWindowBytes) continue;
      const bytes = payload.readUInt32BE(at + 2);
      this.callWindow += bytes - this.initialWindow;
      this.initialWindow = bytes;
    }
    this.socket.write(frame(types.settings, flags.ack, 0));
    this.send();
  }
}

/** The body as one message that is not compressed (gRPC over HTTP/2, Length-Prefixed-Message). */
const messageOf = (body: Uint8Array): Buffer => {
  const message = Buffer.allocUnsafe(messagePrefixBytes + body.length);
  message[0] = 0;
  message.writeUInt32BE(body.length, 1);
  message.set(body, messagePrefixBytes);
  return message;
};

/**
 * One connection over HTTP/2 without TLS that makes one unary call after another; `url` has the path of the method. Frames are written
 * as they are: the client of `node:http2` costs more CPU than a receiver spends on a call, and its pace would be what is measured.
 */
export const openGrpcConnection = (url: string, headers: Readonly<Record<string, string>>): Connection => {
  const target = new URL(url.replace(/^grpc:/, 'http:'));
  let open: OpenConnection | undefined;
  return {
    post: (body) =>
      new Promise((resolve) => {
        if (open === undefined) {
          const fresh = new OpenConnection(target, headers, () => {
            if (open === fresh) open = undefined;
          });
          open = fresh;
        }
        open.call(messageOf(body), resolve);
      }),
    close: () => {
      open?.end();
      open = undefined;
    },
  };
};
