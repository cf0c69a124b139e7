import { isSecretName } from '../outcomes/redaction.ts';
import { isBlockPart } from '../wire/blocks-envelope.ts';
import { type NativeValue, readBlock, UnreadableBlock } from '../wire/native/block-reader.ts';
import type { Letter } from './dead-letter.ts';

/** The bytes of a dead letter as readable text, limited in length: `cut` names the omitted part. */
export type ShownBytes = {
  /** `rows`: decoded rows of a block; `text`: line protocol or JSON; `base64`: bytes that are neither. */
  readonly form: 'rows' | 'text' | 'base64';
  readonly rows?: readonly Readonly<Record<string, unknown>>[];
  readonly text?: string;
  /** Bytes or rows that are not shown. */
  readonly cut: number;
};

const rowsMax = 10;
const textBytesMax = 16 * 1024;
const valueLengthMax = 2_048;

const mask = '********';

const shorten = (text: string): string =>
  text.length <= valueLengthMax ? text : `${text.slice(0, valueLengthMax)}… (${text.length} characters)`;

const shownValue = (value: NativeValue): unknown => {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string') return shorten(value);
  // JSON has no text for infinities and for what is no number.
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'boolean' || value === null) return value;
  if (value instanceof Map)
    return Object.fromEntries(
      [...value].map(([name, each]) => [name, isSecretName(name) ? mask : shownValue(each)]),
    );
  return Array.isArray(value) ? value.map(shownValue) : undefined;
};

/** Masks the value under the name of a secret: `{"password": …}` and OTLP's `{"key": "password", "value": …}`. */
const masked = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  const key: unknown = Reflect.get(value, 'key');
  const isSecret = typeof key === 'string' && isSecretName(key);
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      isSecretName(name) || (isSecret && name === 'value') ? mask : masked(each),
    ]),
  );
};

const maskedJson = (text: string): string | undefined => {
  try {
    return JSON.stringify(masked(JSON.parse(text)));
  } catch {
    return undefined;
  }
};

/**
 * The end of a run of characters, where a backslash and the character that it escapes count as one; the length if no
 * character of `stops` follows.
 */
const runEnd = (text: string, from: number, stops: string): number => {
  let at = from;
  while (at < text.length && !stops.includes(text.charAt(at))) {
    const isEscape = text[at] === '\\';
    if (isEscape && (at + 1 === text.length || text[at + 1] === '\n')) return at;
    at += isEscape ? 2 : 1;
  }
  return at;
};

/**
 * The end of a tag's or field's value that begins at `from`: in quotes, or up to the character that ends it outside of
 * them.
 */
const valueEnd = (text: string, from: number): number => {
  const closing = text[from] === '"' ? runEnd(text, from + 1, '"') : -1;
  return closing !== -1 && text[closing] === '"' ? closing + 1 : runEnd(text, from, ', \n');
};

/**
 * Tags and fields of line protocol with the name of a secret. Without an expression, because a row may be as long as a
 * body.
 */
const maskedLines = (text: string): string => {
  let out = '';
  let kept = 0;
  let at = 0;
  while (at < text.length) {
    if (text[at] !== ',' && text[at] !== ' ') {
      at++;
      continue;
    }
    let nameEnd = at + 1;
    while (nameEnd < text.length && !',= \n'.includes(text.charAt(nameEnd))) nameEnd++;
    if (text[nameEnd] !== '=') {
      at = nameEnd;
      continue;
    }
    const end = valueEnd(text, nameEnd + 1);
    if (isSecretName(text.slice(at + 1, nameEnd))) {
      out += `${text.slice(kept, nameEnd + 1)}${mask}`;
      kept = end;
    }
    at = end;
  }
  return out + text.slice(kept);
};

const asText = (bytes: Buffer): ShownBytes | undefined => {
  const text = bytes.toString('utf8');
  if (text.includes('\ufffd') || text.includes('\u0000')) return undefined;
  const safe = maskedJson(text) ?? maskedLines(text);
  return { form: 'text', text: safe.slice(0, textBytesMax), cut: Math.max(0, safe.length - textBytesMax) };
};

const asRows = (bytes: Buffer): ShownBytes | undefined => {
  try {
    const block = readBlock(bytes);
    const count = Math.min(block.rows, rowsMax);
    const rows = Array.from({ length: count }, (_, index) =>
      Object.fromEntries(Object.entries(block.row(index)).map(([name, value]) => [name, shownValue(value)])),
    );
    return { form: 'rows', rows, cut: block.rows - count };
  } catch (error) {
    if (error instanceof UnreadableBlock) return undefined;
    throw error;
  }
};

/**
 * The contents of a dead letter: rows of a block, text of points and items, else bytes. Values under names of
 * secrets are masked.
 */
export const showBytes = ({ header, bytes }: Letter): ShownBytes => {
  const shown = isBlockPart(header.part) ? asRows(bytes) : asText(bytes);
  if (shown !== undefined) return shown;
  return {
    form: 'base64',
    text: bytes.subarray(0, textBytesMax).toString('base64'),
    cut: Math.max(0, bytes.length - textBytesMax),
  };
};
