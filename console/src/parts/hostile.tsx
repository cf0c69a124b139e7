import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { markOf } from './plain-text.ts';

const charactersMax = 200;

type Mark = { readonly mark: string; readonly text: string };

/** The visible parts of a text in their order, and between them the mark of each character that is not. */
export const marked = (characters: readonly string[]): (string | Mark)[] => {
  const parts: (string | Mark)[] = [];
  let plain = '';
  for (const character of characters) {
    const mark = markOf(character);
    if (mark === undefined) {
      plain += character;
      continue;
    }
    if (plain !== '') parts.push(plain);
    plain = '';
    parts.push({ mark: mark.code, text: mark.text });
  }
  return plain === '' ? parts : [...parts, plain];
};

const partsOf = (characters: readonly string[]): ComponentChildren =>
  marked(characters).map((part) =>
    typeof part === 'string' ? (
      part
    ) : (
      <span class="mark" title={part.mark}>
        {part.text}
      </span>
    ),
  );

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
