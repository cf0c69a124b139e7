import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finderOf } from '../../../../src/metadata/audit/text-finder.ts';
import { always } from '../../../support/properties.ts';

const letters = (least: number, most: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'abc'), minLength: least, maxLength: most });

/** The positions that a search for each word by itself finds. */
const positionsOf = (words: readonly string[], text: string): Set<number> => {
  const found = new Set<number>();
  for (const word of words)
    for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1))
      for (let part = 0; part < word.length; part++) found.add(at + part);
  return found;
};

describe('finderOf', () => {
  it('covers what occurs of any word, and nothing else', () => {
    always(
      fc.property(fc.array(letters(1, 6), { maxLength: 8 }), letters(0, 40), (words, text) => {
        const found = new Set<number>();
        for (const [from, to] of finderOf(words)(text)) for (let at = from; at < to; at++) found.add(at);
        expect([...found].sort()).toEqual([...positionsOf(words, text)].sort());
      }),
      2_000,
    );
  });
});
