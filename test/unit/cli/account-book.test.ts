import { describe, expect, it } from 'vitest';
import { judgeOrigin } from '../../../src/cli/account-book.ts';

describe('the origin of a book', () => {
  it('is the installation of which this one is a copy, and no other', () => {
    expect(judgeOrigin('book.jsonl', 'aa', 'aa')).toBeUndefined();
    expect(() => judgeOrigin('book.jsonl', 'aa', 'bb')).toThrow('the book of another installation');
  });

  it('is said to be unchecked where the book or this installation does not show it', () => {
    expect(judgeOrigin('book.jsonl', 'aa', undefined)).toContain(
      'no key identity_key that can be read: it could',
    );
    expect(judgeOrigin('book.jsonl', undefined, 'bb')).toContain('book.jsonl does not name its installation');
    expect(judgeOrigin('book.jsonl', undefined, undefined)).toContain('could not be checked');
  });
});
