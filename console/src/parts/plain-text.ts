/** Characters that are invisible or change what stands beside them: each becomes a mark with its number. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}[\p{Default_Ignorable_Code_Point}--\p{Variation_Selector}]]/v;

const named = new Map([
  ['\n', '⏎'],
  ['\t', '⇥'],
  ['\0', '␀'],
  ['\x1b', '␛'],
]);

const codeOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** What stands for a character that nobody would see: its sign or its number, and its number. */
export type Mark = { readonly text: string; readonly code: string };

/** The mark of a character that nobody would see; undefined for others. */
export const markOf = (character: string): Mark | undefined => {
  if (!unseen.test(character)) return undefined;
  const code = codeOf(character);
  return { text: named.get(character) ?? code, code };
};

/** A text that a sender wrote as one line of plain text, for an option or a label: at most `max` characters. */
export const plainText = (text: string, max = 80): string => {
  const characters = [...text.slice(0, max * 2)];
  const shown = characters.slice(0, max).map((character) => {
    const mark = markOf(character);
    if (mark === undefined) return character;
    return mark.text === mark.code ? `[${mark.code}]` : mark.text;
  });
  if (characters.length > max || text.length > max * 2) shown.push('…');
  return text === '' ? '(empty)' : shown.join('');
};
