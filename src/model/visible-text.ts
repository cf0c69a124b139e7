/**
 * Characters that a terminal obeys or that are invisible: controls (C0, DEL, C1), format characters (they change the
 * direction of a text, join or have no width), separators of lines and of paragraphs, halves of a character, and the
 * characters that Unicode lets a reader ignore, except the selectors that set the look of the character before them.
 */
const unseen =
  /^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}[\p{Default_Ignorable_Code_Point}--\p{Variation_Selector}]]$/v;

/** Persian, the scripts of India and emoji are written with these two. */
const joiners = '\u200C\u200D';

/** Nearly all text is of these. */
const isPlain = (code: number): boolean => code >= 0x20 && code < 0x7f;

const isUnseen = (character: string): boolean =>
  !isPlain(character.codePointAt(0) ?? 0) && unseen.test(character);

const hexOf = (code: number, digits = 1): string => code.toString(16).padStart(digits, '0');

/** The first invisible character of a name, as `U+202E`; undefined where all are visible. */
export const unseenIn = (text: string): string | undefined => {
  for (const character of text)
    if (isUnseen(character)) return `U+${hexOf(character.codePointAt(0) ?? 0, 4).toUpperCase()}`;
  return undefined;
};

/** The same of a text in words, which may have the joiners that some scripts are written with. */
export const unseenInWords = (text: string): string | undefined => {
  for (const character of text) {
    if (isUnseen(character) && !joiners.includes(character)) return unseenIn(character);
  }
  return undefined;
};

const replaced = (text: string, replacement: (character: string) => string): string => {
  let out = '';
  let kept = 0;
  let at = 0;
  for (const character of text) {
    const next = at + character.length;
    if (isUnseen(character)) {
      out += text.slice(kept, at) + replacement(character);
      kept = next;
    }
    at = next;
  }
  return kept === 0 ? text : out + text.slice(kept);
};

/** The text for a terminal: invisible characters as `\u{1b}`. */
export const visible = (text: string): string =>
  replaced(text, (character) => `\\u{${hexOf(character.codePointAt(0) ?? 0)}}`);

/** The same of a text of several lines, which stay lines. */
export const visibleLines = (text: string): string => text.split('\n').map(visible).join('\n');

const jsonEscape = (character: string): string => {
  if (character === '\n') return character;
  let out = '';
  for (let at = 0; at < character.length; at++) out += `\\u${hexOf(character.charCodeAt(at), 4)}`;
  return out;
};

/** JSON text for a terminal, and the same value for programs: invisible characters as JSON escapes. */
export const visibleJson = (json: string): string => replaced(json, jsonEscape);
