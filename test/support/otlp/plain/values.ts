import type { PlainAttribute, PlainSpan, PlainTime, PlainValue, Text } from './model.ts';

const doubleText = (value: number): string => {
  if (Object.is(value, -0)) return '-0';
  if (value === Number.POSITIVE_INFINITY) return 'Infinity';
  return value === Number.NEGATIVE_INFINITY ? '-Infinity' : String(value);
};

/** A credential is never stored, wherever it stands. */
export const withoutSecrets = (attributes: readonly PlainAttribute[]): PlainAttribute[] =>
  attributes.filter(({ key }) => !key.toString('latin1').endsWith('.data.token'));

/** A value within an array or a list, as JSON; 64-bit integers exact, what JSON has no number for in quotes. */
const nestedText = (value: PlainValue): string => {
  if (value.kind === 'array') return `[${value.values.map(nestedText).join(',')}]`;
  if (value.kind === 'kvlist') {
    const pairs = withoutSecrets(value.entries).map((entry): [string, string] => [
      entry.key.toString('utf8'),
      nestedText(entry.value),
    ]);
    return `{${lastOfEach(pairs)
      .map(([key, text]) => `${JSON.stringify(key)}:${text}`)
      .join(',')}}`;
  }
  if (value.kind === 'none' || value.kind === 'cut') return 'null';
  const text = textOf(value).toString('utf8');
  const isBare = value.kind === 'bool' || value.kind === 'int';
  return isBare || (value.kind === 'double' && Number.isFinite(value.value)) ? text : JSON.stringify(text);
};

/** Of pairs with one key the last, at its place. */
export const lastOfEach = <Value>(pairs: readonly [string, Value][]): [string, Value][] =>
  pairs.filter(([key], index) => !pairs.slice(index + 1).some(([later]) => later === key));

/** The text that a row holds for a value. */
export const textOf = (value: PlainValue): Text => {
  if (value.kind === 'string') return value.text;
  if (value.kind === 'bytes') return Buffer.from(value.bytes.toString('base64'));
  if (value.kind === 'double') return Buffer.from(doubleText(value.value));
  if (value.kind === 'bool' || value.kind === 'int') return Buffer.from(String(value.value));
  return Buffer.from(value.kind === 'none' ? '' : nestedText(value));
};

/** How many values in it were nested too deep; of entries with one key only the last can be truncated. */
export const cutsIn = (value: PlainValue): number => {
  if (value.kind === 'cut') return 1;
  if (value.kind === 'array') return sum(value.values, cutsIn);
  if (value.kind !== 'kvlist') return 0;
  const last = new Map(
    withoutSecrets(value.entries).map((entry) => [entry.key.toString('utf8'), entry.value]),
  );
  return sum([...last.values()], cutsIn);
};

export const sum = <T>(items: readonly T[], amount: (item: T) => number): number =>
  items.reduce((total, item) => total + amount(item), 0);

// Architecture 5.3: what an item costs is a pure function of the item as decoded.

const valueSize = (value: PlainValue): number => {
  if (value.kind === 'none') return 0;
  if (value.kind === 'string') return value.text.length;
  if (value.kind === 'bytes') return value.bytes.length;
  if (value.kind === 'array') return sum(value.values, (item) => 16 + valueSize(item));
  return value.kind === 'kvlist' ? attributesSize(value.entries) : 8;
};

export const attributesSize = (attributes: readonly PlainAttribute[]): number =>
  sum(attributes, ({ key, value }) => 16 + key.length + valueSize(value));

export const spanSize = (span: PlainSpan): number =>
  span.name.length +
  span.traceState.length +
  span.statusMessage.length +
  attributesSize(span.attributes) +
  sum(span.events, ({ name, attributes }) => 64 + name.length + attributesSize(attributes)) +
  sum(span.links, ({ traceState, attributes }) => 64 + traceState.length + attributesSize(attributes));

/** At most this many bytes of a text, without part of a character at the end. */
export const cutText = (text: Text, bytesMax: number): Text => {
  if (text.length <= bytesMax) return text;
  let end = bytesMax;
  // No character has more than three bytes after its first; longer runs of such bytes are none.
  for (let back = 0; back < 4 && end > 0 && (text.readUInt8(end) & 0xc0) === 0x80; back++) end--;
  return text.subarray(0, end);
};

/** A time as it travels with a deferred span: undefined for none or zero. */
export const timeText = (time: PlainTime): string | undefined => {
  if (time === undefined || time === 0n) return undefined;
  const text = String(time);
  if (/^0{1,40}$/.test(text)) return undefined;
  const bytes = Buffer.from(text);
  const shown = bytes.length > 40 ? `${bytes.toString('utf8', 0, 40)}…` : text;
  return JSON.stringify(shown).length > 84 ? `${shown.slice(0, 6).toWellFormed()}…` : shown;
};
