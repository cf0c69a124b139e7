import { PushCursor } from './push-cursor.ts';
import type { PushScan } from './push-scan.ts';
import { NotJson, readValue } from './push-value.ts';

const byteOrderMark = Buffer.from('\uFEFF');

// One cursor for all: a body has room for many thousand points.
const cursor = new PushCursor();

/** Builds the value that begins at this byte; `isWhole` demands that nothing follows it. Throws NotJson. */
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

/** Parses a whole body, for a small body or one without a list of points. Throws NotJson. */
export const parseBody = (bytes: Buffer): unknown => {
  const hasMark = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  return readFrom(bytes, hasMark ? byteOrderMark.length : 0, true);
};

/**
 * Parses a body without its points, which stay bytes: an empty list stands in their place. The body is JSON when this text and
 * every point is. `scan` was fed the whole body. Throws NotJson.
 */
export const parseAround = (bytes: Buffer, { data, dataStart, dataEnd, isClosed }: PushScan): unknown => {
  if (!isClosed) throw new NotJson();
  if (data !== 'array') return parseBody(bytes);
  return parseBody(Buffer.concat([bytes.subarray(0, dataStart), bytes.subarray(dataEnd)]));
};

/** Builds the value that begins at this byte of a body, and was found valid. */
export const parseAt = (bytes: Buffer, start: number): unknown => readFrom(bytes, start, false);

/**
 * The same for a value with nothing but JSON in it, up to `end`: a fraction of the time. No name may have an escape: V8 compares its
 * bytes with a name that it met before, so that behind `{"c\\":1}` it reads `{"c\/":1}` as the same.
 */
export const parseStrict = (bytes: Buffer, start: number, end: number): unknown =>
  JSON.parse(bytes.toString('utf8', start, end));
