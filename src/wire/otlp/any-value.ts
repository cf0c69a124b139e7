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
