import { patternTextMax } from '../model/text-forms.ts';

/**
 * InfluxDB line protocol as QuestDB 9 reads it over /write. Its escapes in table names, tag values and names are a backslash
 * before space, comma, equals sign, backslash and line ends; quoted text escapes quote and backslash. U+0000 it refuses.
 */

const needsEscape = /[ ,=\\\n\r]/;
const escapes = /[ ,=\\\n\r]/g;
const textEscapes = /["\\]/g;

/** Each character is escaped for itself, so a text may be looked through in pieces. */
const inPieces = (text: string, escapePiece: (piece: string) => string): string => {
  let escaped = '';
  for (let at = 0; at < text.length; at += patternTextMax)
    escaped += escapePiece(text.slice(at, at + patternTextMax));
  return escaped;
};

/** A table name, a tag value or a name for use outside quotes. */
export const escapeTag = (text: string): string => {
  if (text.length > patternTextMax) return inPieces(text, escapeTag);
  return needsEscape.test(text) ? text.replace(escapes, '\\$&') : text;
};

/** A text value in quotes. */
export const quoteText = (text: string): string =>
  `"${inPieces(text, (piece) => piece.replace(textEscapes, '\\$&'))}"`;

/** A finite double: the shortest text that reads back to the same bits. */
export const doubleText = (value: number): string =>
  value === 0 && Object.is(value, -0) ? '-0' : String(value);

const newline = 0x0a;
const blank = 0x20;
const [zero, nine] = [0x30, 0x39];
const backslash = 0x5c;

/** True when the line feed at `index` ends a row: it is not escaped by an odd run of backslashes before it. */
const endsRow = (bytes: Uint8Array, index: number): boolean => {
  let count = 0;
  while (index - 1 - count >= 0 && bytes[index - 1 - count] === backslash) count++;
  return count % 2 === 0;
};

/** Where the row that begins at `start` ends, its line feed included; -1 where none ends. */
export const rowEnd = (bytes: Uint8Array, start: number): number => {
  for (let index = bytes.indexOf(newline, start); index !== -1; index = bytes.indexOf(newline, index + 1))
    if (endsRow(bytes, index)) return index + 1;
  return -1;
};

/** The time of the row that ends at `end`, its last field; 0 where it has none. */
export const timeOfRow = (bytes: Uint8Array, end: number): number => {
  let time = 0;
  let unit = 1;
  let at = end - 2;
  for (let byte = bytes[at] ?? 0; byte >= zero && byte <= nine; byte = bytes[--at] ?? 0) {
    time += (byte - zero) * unit;
    unit *= 10;
  }
  return bytes[at] === blank ? time : 0;
};

/** Bytes [start, end) of the row with this number (from 1), its line feed included; undefined when there are fewer rows. */
export const findRow = (bytes: Uint8Array, rowNumber: number): { start: number; end: number } | undefined => {
  let start = 0;
  for (let row = 1; ; row++) {
    const end = rowEnd(bytes, start);
    if (end === -1) return undefined;
    if (row === rowNumber) return { start, end };
    start = end;
  }
};

const lastUid = /[, ]uid=(\d+)i(?: -?\d+)?\n?$/;
/** Longer than a uid and a time behind it. */
const rowEndLength = 80;

/** The uid of a row, which is its last field: a text before it may look like one. Undefined where there is none. */
export const uidOfRow = (row: string): string | undefined => lastUid.exec(row.slice(-rowEndLength))?.[1];
