import type { PushScan } from './push-scan.ts';
import { parseTolerantJson } from './tolerant-json.ts';

/** A body, or a part of it, is not JSON. */
export class NotJson extends Error {}

const byteOrderMark = '\uFEFF';

/** JSON, or what Python takes for it. Throws NotJson. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    try {
      return parseTolerantJson(text.startsWith(byteOrderMark) ? text.slice(1) : text);
    } catch {
      throw new NotJson();
    }
  }
};

/** Parses a body whole, for what is small or has no list of points. Throws NotJson. */
export const parseBody = (bytes: Buffer): unknown => parse(bytes.toString('utf8'));

/**
 * Parses all of a body but its points, which stay bytes: in their place is an empty list. Bodies are JSON when this and every
 * point is. `scan` was fed the whole body. Throws NotJson.
 */
export const parseAround = (bytes: Buffer, { data, dataStart, dataEnd, isClosed }: PushScan): unknown => {
  if (!isClosed) throw new NotJson();
  if (data !== 'array') return parseBody(bytes);
  return parse(bytes.toString('utf8', 0, dataStart) + bytes.toString('utf8', dataEnd));
};

/** Where a point was found valid: bytes [start, end) of its body, maybe with a bare NaN or infinity. */
export type PointPlace = { readonly start: number; readonly end: number; readonly hasNumberWords: boolean };

/** Builds one point. */
export const parsePoint = (bytes: Buffer, { start, end, hasNumberWords }: PointPlace): unknown => {
  const text = bytes.toString('utf8', start, end);
  return hasNumberWords ? parseTolerantJson(text) : JSON.parse(text);
};
