import type { ByteSource } from '../native/bytes.ts';
import { idIs } from './any-value.ts';
import type { ProtobufCursor } from './protobuf-cursor.ts';

/** Two hexadecimal digits for each byte, in the order in which they are stored. */
const hexPairs = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, '0')).readUInt16LE(),
);

const hexForm = /^[0-9A-Fa-f]+$/;

/** The error of an id of this length in bytes. */
export const idProblem = (length: number, expected: number): string =>
  length === 0 ? idIs.absent : `expected ${expected} bytes, got ${length}`;

/** Reads an id of this length in bytes up to `stop` into `target`, in hexadecimal; returns its problem, see `idIs`. */
export const readId = (
  cursor: ProtobufCursor,
  stop: number,
  bytes: number,
  target: ByteSource,
  place: number,
): string => {
  const { body } = cursor;
  const from = cursor.at;
  cursor.at = stop;
  if (stop - from !== bytes) return problemOf(body.subarray(from, stop), bytes);
  let any = 0;
  let to = place;
  for (let at = from; at < stop; at++) {
    const byte = body[at] ?? 0;
    any |= byte;
    target.view.setUint16(to, hexPairs[byte] ?? 0, true);
    to += 2;
  }
  return any === 0 ? idIs.zero : idIs.valid;
};

/** Protobuf with the ids of JSON in it is a frequent mistake. */
const problemOf = (id: Uint8Array, bytes: number): string => {
  const problem = idProblem(id.length, bytes);
  const isHex = id.length === 2 * bytes && hexForm.test(Buffer.from(id).toString('latin1'));
  return isHex
    ? `${problem}, which look like hexadecimal text: send the bytes themselves in protobuf`
    : problem;
};
