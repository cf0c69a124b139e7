/** What single bytes of a JSON text mean to its reader. */

export const quote = 0x22;
export const backslash = 0x5c;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;

/** 1 for bytes that end a run of plain characters in a string: the quote, the backslash and control characters. */
export const stringStops = new Uint8Array(256);
stringStops.fill(1, 0, 0x20);
stringStops[quote] = 1;
stringStops[backslash] = 1;

/** The class of a byte for `pass`. */
export const passes = { plain: 0, quote: 1, open: 2, close: 3, comma: 4 } as const;
export const passKinds = new Uint8Array(256);
passKinds[quote] = passes.quote;
passKinds[openBrace] = passKinds[openBracket] = passes.open;
passKinds[closeBrace] = passKinds[closeBracket] = passes.close;
passKinds[0x2c] = passes.comma;
/** The same within a value, where a comma ends nothing. */
export const passKindsWithin = passKinds.slice();
passKindsWithin[0x2c] = passes.plain;

/** Of four bytes, the lowest first: the high bit of the first that is such a stop; of those behind it any. */
export const stopsIn = (word: number): number => {
  const quotes = word ^ 0x22222222;
  const backslashes = word ^ 0x5c5c5c5c;
  return (
    (((quotes - 0x01010101) & ~quotes) |
      ((backslashes - 0x01010101) & ~backslashes) |
      ((word - 0x20202020) & ~word)) &
    0x80808080
  );
};

/** The character that a letter stands for behind a backslash; 0 where JSON has no such escape. */
export const escapes = new Uint8Array(256);
for (const [name, code] of Object.entries({
  '"': 0x22,
  '\\': 0x5c,
  '/': 0x2f,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
}))
  escapes[name.charCodeAt(0)] = code;

export const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
