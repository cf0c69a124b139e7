import { type NativeValue, readBlock, UnreadableBlock } from '../wire/native/block-reader.ts';
import { isSpanPart } from '../wire/spans-envelope.ts';
import type { Letter } from './letter.ts';

/** The bytes of a dead letter as people read them, bounded: what was left out is said in `cut`. */
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

const secretName = /token|secret|password|passwd|authorization|cookie|api[-_.]?key|credential/i;
const mask = '********';

const shorten = (text: string): string =>
  text.length <= valueLengthMax ? text : `${text.slice(0, valueLengthMax)}… (${text.length} characters)`;

const shownValue = (value: NativeValue): unknown => {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string') return shorten(value);
  if (value instanceof Map)
    return Object.fromEntries(
      [...value].map(([name, each]) => [name, secretName.test(name) ? mask : shownValue(each)]),
    );
  return Array.isArray(value) ? value.map(shownValue) : undefined;
};

/** Masks what stands under the name of a secret: `{"password": …}` and OTLP's `{"key": "password", "value": …}`. */
const masked = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  const key: unknown = Reflect.get(value, 'key');
  const isSecret = typeof key === 'string' && secretName.test(key);
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      secretName.test(name) || (isSecret && name === 'value') ? mask : masked(each),
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

/** Tags and fields of line protocol whose name is a secret's. */
const maskedLines = (text: string): string =>
  text.replace(
    /([, ])([^,= \n]*)=("(?:\\.|[^"\\])*"|(?:\\.|[^, \n\\])*)/g,
    (all, before: string, name: string) => (secretName.test(name) ? `${before}${name}=${mask}` : all),
  );

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

/** What a dead letter holds: rows of a block of spans, text of points and items, else bytes. Values under names of secrets are masked. */
export const showBytes = ({ header, bytes }: Letter): ShownBytes => {
  const shown = isSpanPart(header.part) ? asRows(bytes) : asText(bytes);
  if (shown !== undefined) return shown;
  return {
    form: 'base64',
    text: bytes.subarray(0, textBytesMax).toString('base64'),
    cut: Math.max(0, bytes.length - textBytesMax),
  };
};
