import { traceExportPath } from '../otlp/export-paths.ts';

/** What a client of HTTP/2 sends first (RFC 9113 section 3.4). */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Bits of a frame's flags. */
export const flags = { endStream: 1, ack: 1, endHeaders: 4, padded: 8 } as const;

/** A frame of HTTP/2 (RFC 9113 section 4.1). */
export const frame = (
  type: number,
  bits: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(bits, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** SETTINGS with one parameter (RFC 9113 section 6.5.1), or none. */
export const settings = (parameter?: readonly [id: number, value: number]): Buffer => {
  if (parameter === undefined) return frame(types.settings, 0, 0);
  const [id, value] = parameter;
  return frame(types.settings, 0, 0, Buffer.concat([Buffer.of(0, id), uint32(value)]));
};

export const windowUpdate = (stream: number, increment: number): Buffer =>
  frame(types.windowUpdate, 0, stream, uint32(increment));

/** With CANCEL, unless the code is another one (RFC 9113 section 7). */
export const reset = (stream: number, code = 8): Buffer => frame(types.reset, 0, stream, uint32(code));

/** A field in literals of HPACK, each shorter than 127 bytes (RFC 7541 section 6.2.2). */
export const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);

/** A field with a value of 127 to 16,383 bytes that the table of fields takes (RFC 7541 section 6.2.1). */
export const indexedLiteral = (name: string, value: string): Buffer => {
  const rest = value.length - 127;
  return Buffer.concat([
    Buffer.of(0x40, name.length),
    Buffer.from(name),
    Buffer.of(127, 0x80 | (rest & 127), rest >> 7),
    Buffer.from(value),
  ]);
};

/** The fields of a call of this method, in literals. */
export const callFields = (path: string = traceExportPath): Buffer =>
  Buffer.concat([
    literal(':method', 'POST'),
    literal(':scheme', 'http'),
    literal(':authority', 'x'),
    literal(':path', path),
    literal('content-type', 'application/grpc'),
  ]);

/** The frames of a whole call with an empty message. */
export const callFrames = (stream: number, fields: Buffer = callFields()): Buffer =>
  Buffer.concat([
    frame(types.headers, flags.endHeaders, stream, fields),
    frame(types.data, flags.endStream, stream, Buffer.alloc(5)),
  ]);

/** The id of the call with this number, from 0. */
export const streamOf = (index: number): number => 2 * index + 1;

/** A frame as received. */
export type Frame = {
  readonly type: number;
  readonly bits: number;
  readonly stream: number;
  readonly payload: Buffer;
};

/** What each GOAWAY of a connection says. */
export const goawaysIn = (text: string): { code: number; debugData: string }[] =>
  framesIn(text)
    .filter(({ type }) => type === types.goaway)
    .map(({ payload }) => ({ code: payload.readUInt32BE(4), debugData: payload.toString('latin1', 8) }));

/** The whole frames in what a connection has received, a character a byte. */
export const framesIn = (text: string): Frame[] => {
  const bytes = Buffer.from(text, 'latin1');
  const frames: Frame[] = [];
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    frames.push({
      type: bytes.readUInt8(at + 3),
      bits: bytes.readUInt8(at + 4),
      stream: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + 9, end),
    });
    at = end;
  }
  return frames;
};
