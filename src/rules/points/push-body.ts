import type { Piece, PushScan } from './push-scan.ts';
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
 * piece is. `scan` was fed the whole body. Throws NotJson.
 */
export const parseAround = (bytes: Buffer, { data, dataStart, dataEnd, isClosed }: PushScan): unknown => {
  if (!isClosed) throw new NotJson();
  if (data !== 'array') return parseBody(bytes);
  return parse(bytes.toString('utf8', 0, dataStart) + bytes.toString('utf8', dataEnd));
};

/** Builds the points of a piece that is not too large, bare NaN and infinities as numbers. Throws NotJson. */
export const parsePiece = (bytes: Buffer, { start, end, points }: Piece): readonly unknown[] => {
  const value = parse(`[${bytes.toString('utf8', start, end)}]`);
  // Of commas with nothing between them the scan counts two.
  if (!Array.isArray(value) || value.length !== points) throw new NotJson();
  return value;
};

/** Builds the point of this number, which a piece that was parsed before holds; undefined when there is none. */
export const pointAt = (bytes: Buffer, pieces: readonly Piece[], index: number): unknown => {
  let first = 0;
  for (const piece of pieces) {
    if (index < first + piece.points)
      return piece.isTooLarge ? undefined : parsePiece(bytes, piece)[index - first];
    first += piece.points;
  }
  return undefined;
};
