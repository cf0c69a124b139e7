/**
 * A value nested in an array or a list of keys and values. Bytes are base64 text already; null is a value without a kind,
 * undefined one that was nested deeper than the limit.
 */
export type NestedValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | readonly NestedValue[]
  | ReadonlyMap<string, NestedValue>;

/** The greatest depth of arrays and lists, the outermost counted; deeper ones become null and count as truncated. */
export const nestingMax = 32;

/** Results of reading an id: a valid one, none, or one of zeros alone; any other value names the error. */
export const idIs = { valid: '', absent: 'it is missing', zero: 'it is all zeros' } as const;

/**
 * The amount that the cutting rule counts beside the length of texts, so that rows of many small values have a limit
 * too.
 */
export const itemSizes = {
  /** A number or a boolean. */
  scalar: 8,
  /** An attribute, or an entry of a nested value. */
  entry: 16,
  event: 64,
  link: 64,
  exemplar: 96,
} as const;

/**
 * The most that the cutting rule may count for one array or list before the reader stops keeping it: with more, its
 * span or resource is too large for any message.
 */
export const nestedSizeMax = 2 ** 20;

/**
 * A double as ES6 writes it, with names for the values that JSON lacks (NaN, Infinity, -Infinity), and -0: as the
 * Collector's pdata writes it.
 */
export const doubleText = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));

const writeNested = (value: NestedValue): string => {
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed());
  if (typeof value === 'number') return Number.isFinite(value) ? doubleText(value) : `"${doubleText(value)}"`;
  if (value === undefined) return 'null';
  if (value === null || typeof value !== 'object') return String(value);
  let text = '';
  if (value instanceof Map) {
    for (const [key, item] of value) {
      text += `${text === '' ? '' : ','}${JSON.stringify(key.toWellFormed())}:${writeNested(item)}`;
    }
    return `{${text}}`;
  }
  for (const item of value) text += text === '' ? writeNested(item) : `,${writeNested(item)}`;
  return `[${text}]`;
};

/** An array or a list of keys and values as compact JSON: 64-bit integers exact, entries in the order sent, the last of equal keys. */
export const nestedText = (value: readonly NestedValue[] | ReadonlyMap<string, NestedValue>): string =>
  writeNested(value);

/** How many values in an array or a list were nested deeper than the limit. */
export const cutsIn = (value: NestedValue): number => {
  if (value === undefined) return 1;
  if (value === null || typeof value !== 'object') return 0;
  let cuts = 0;
  for (const item of value.values()) cuts += cutsIn(item);
  return cuts;
};
