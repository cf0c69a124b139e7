import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { wholeText } from './figures.ts';
import { type Mark, markOf } from './plain-text.ts';

const charactersMax = 200;

/** The visible parts of a text in their order, and between them the mark of each character that is not. */
export const marked = (characters: readonly string[]): (string | Mark)[] => {
  const pieces: (string | Mark)[] = [];
  let plain = '';
  for (const character of characters) {
    const mark = markOf(character);
    if (mark === undefined) {
      plain += character;
      continue;
    }
    if (plain !== '') pieces.push(plain);
    plain = '';
    pieces.push(mark);
  }
  return plain === '' ? pieces : [...pieces, plain];
};

const partsOf = (characters: readonly string[]): ComponentChildren =>
  marked(characters).map((piece) =>
    typeof piece === 'string' ? (
      piece
    ) : (
      <span class="mark" title={piece.code}>
        {piece.text}
      </span>
    ),
  );

/** Code that may hold what a sender wrote: its lines and tabs are kept, other invisible characters are marks. */
export const MarkedCode = ({ text }: { text: string }) => (
  <>{text.split(/([\n\t])/).map((part) => (/^[\n\t]$/.test(part) ? part : partsOf([...part])))}</>
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
        <Button class="more" onClick={() => setIsWhole(true)}>
          … more ({wholeText(text.length - max)})
        </Button>
      )}
    </span>
  );
};
