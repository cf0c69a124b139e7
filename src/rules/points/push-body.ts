import { PushCursor } from './push-cursor.ts';
import type { PushScan } from './push-scan.ts';
import { NotJson, readValue } from './push-value.ts';

const byteOrderMark = Buffer.from('\uFEFF');

// One for all: a body has room for many thousand points.
const cursor = new PushCursor();

/** Builds the value that begins at this byte, which `isWhole` tells to be the last one. Throws NotJson. */
const readFrom = (bytes: Buffer, start: number, isWhole: boolean): unknown => {
  cursor.open(bytes, start);
  try {
    const value = readValue(cursor);
    cursor.peek();
    if (isWhole && cursor.at < bytes.length) throw new NotJson();
    return value;
  } finally {
    cursor.close();
  }
};

/** Parses a body whole, for what is small or has no list of points. Throws NotJson. */
export const parseBody = (bytes: Buffer): unknown => {
  const hasMark = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  return readFrom(bytes, hasMark ? byteOrderMark.length : 0, true);
};

/**
 * Parses all of a body but its points, which stay bytes: in their place is an empty list. Bodies are JSON when this and every
 * point is. `scan` was fed the whole body. Throws NotJson.
 */
export const parseAround = (bytes: Buffer, { data, dataStart, dataEnd, isClosed }: PushScan): unknown => {
  if (!isClosed) throw new NotJson();
  if (data !== 'array') return parseBody(bytes);
  return parseBody(Buffer.concat([bytes.subarray(0, dataStart), bytes.subarray(dataEnd)]));
};

/** Builds the value that begins at this byte of a body, and was found valid. */
export const parseAt = (bytes: Buffer, start: number): unknown => readFrom(bytes, start, false);
