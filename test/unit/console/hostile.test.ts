import { describe, expect, it } from 'vitest';
import { marked } from '../../../console/src/parts/hostile.tsx';

describe('a text that a sender wrote', () => {
  it.each([
    ['plain <script>alert(1)</script>', ['plain <script>alert(1)</script>']],
    ['a\u202eb', ['a', { mark: 'U+202E' }, 'b']],
    ['\u0000\u001b[31m', [{ mark: 'U+0000' }, { mark: 'U+001B' }, '[31m']],
    ['a\nb\tc', ['a', { mark: 'U+000A' }, 'b', { mark: 'U+0009' }, 'c']],
    ['zero\u200bwidth\ufeff', ['zero', { mark: 'U+200B' }, 'width', { mark: 'U+FEFF' }]],
    ['format \u06dd alone', ['format ', { mark: 'U+06DD' }, ' alone']],
    ['half \ud800 of one', ['half ', { mark: 'U+D800' }, ' of one']],
    ['中文 🎉', ['中文 🎉']],
    ['', []],
  ])('%j keeps what is visible, and each character that is not becomes a mark', (text, parts) => {
    expect(marked([...text]).map((part) => (typeof part === 'string' ? part : { mark: part.code }))).toEqual(
      parts,
    );
  });
});
