import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

/** Characters that are invisible or change what stands beside them: each becomes a mark with its number. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}[\p{Default_Ignorable_Code_Point}--\p{Variation_Selector}]]/v;
const charactersMax = 200;

const signs = new Map([
  ['U+000A', '⏎'],
  ['U+0009', '⇥'],
  ['U+0000', '␀'],
  ['U+001B', '␛'],
]);

const codeOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** The visible parts of a text in their order, and between them the number of each character that is not. */
export const marked = (characters: readonly string[]): (string | { readonly mark: string })[] => {
  const parts: (string | { mark: string })[] = [];
  let plain = '';
  for (const character of characters) {
    if (!unseen.test(character)) {
      plain += character;
      continue;
    }
    if (plain !== '') parts.push(plain);
    plain = '';
    parts.push({ mark: codeOf(character) });
  }
  return plain === '' ? parts : [...parts, plain];
};

const partsOf = (characters: readonly string[]): ComponentChildren =>
  marked(characters).map((part) =>
    typeof part === 'string' ? (
      part
    ) : (
      <span class="mark" title={part.mark}>
        {signs.get(part.mark) ?? part.mark}
      </span>
    ),
  );
/** The same as one line of plain text, for an option or a label: at most `max` characters. */
export const plainText = (text: string, max = 80): string => {
  const characters = [...text.slice(0, max * 2)];
  const shown = characters
    .slice(0, max)
    .map((character) =>
      unseen.test(character) ? (signs.get(codeOf(character)) ?? `[${codeOf(character)}]`) : character,
    );
  if (characters.length > max || text.length > max * 2) shown.push('…');
  return text === '' ? '(empty)' : shown.join('');
};

/**
 * A text that a sender wrote: characters alone, in a direction of its own, invisible characters as visible marks, and its first 200
 * characters until the reader wants more.
 */
export const Hostile = ({ text, max = charactersMax }: { text: string; max?: number }) => {
  const [isWhole, setIsWhole] = useState(false);
  // A character has at most two code units: a text of megabytes is not walked.
  const characters = [...(isWhole ? text : text.slice(0, max * 2))];
  const isCut = !isWhole && (characters.length > max || text.length > max * 2);
  return (
    <span class="hostile">
      <bdi>
        {text === '' ? (
          <span class="mark">empty</span>
        ) : (
          partsOf(isCut ? characters.slice(0, max) : characters)
        )}
      </bdi>
      {isCut && (
        <button type="button" class="more" onClick={() => setIsWhole(true)}>
          … more ({(text.length - max).toLocaleString('en')})
        </button>
      )}
    </span>
  );
};
