import { randomUUID } from 'node:crypto';

/**
 * JSON.parse for bodies that hold NaN, Infinity or -Infinity as bare values, as Python's json writes them. They become the
 * numbers they name, so that the rules can drop their points alone. Slow path: used only after JSON.parse refused the text.
 */

const bare = /(?:-?Infinity|NaN)(?!\s*:)/g;

/** Begins the strings that stand for bare words while JSON.parse runs; new in each process, so that no sender can write it. */
const marker = `tidemark-${randomUUID()}:`;

/** Positions of bare words: outside strings, which a single pass over the quotes tells. */
const replaceOutsideStrings = (text: string): string => {
  let result = '';
  let index = 0;
  while (index < text.length) {
    const quote = text.indexOf('"', index);
    const outside = quote === -1 ? text.slice(index) : text.slice(index, quote);
    result += outside.replace(bare, (word) => `"${marker}${word}"`);
    if (quote === -1) break;
    let end = quote + 1;
    while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
    result += text.slice(quote, end + 1);
    index = end + 1;
  }
  return result;
};

const revive = (_key: string, value: unknown): unknown =>
  typeof value === 'string' && value.startsWith(marker) ? Number(value.slice(marker.length)) : value;

/** Parses JSON, with bare NaN and infinities as numbers. Throws SyntaxError like JSON.parse. */
export const parseTolerantJson = (text: string): unknown => JSON.parse(replaceOutsideStrings(text), revive);
