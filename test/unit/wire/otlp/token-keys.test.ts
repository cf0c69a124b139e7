import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenKeys } from '../../../../src/wire/otlp/token-keys.ts';
import { always } from '../../../support/properties.ts';

describe('the search of a body for names of write tokens', () => {
  const names = ['mon.data.token', 'x.api_key', 'abc'];
  const keys = new TokenKeys(names);
  const marks = ['.data.token', 'x.api_key', 'abc'];

  it('finds what a search for each whole name finds, in texts made of their pieces', () => {
    const piece = fc.constantFrom(
      'oken',
      '.data.t',
      '.data.token',
      'mon',
      '_key',
      'x.api',
      'b',
      'abc',
      '"',
      'token',
    );
    let found = 0;
    always(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('');
        const isThere = marks.some((mark) => text.includes(mark));
        expect(keys.mayBeIn(Buffer.from(text))).toBe(isThere);
        if (isThere) found++;
      }),
      1_000,
    );
    expect(found).toBeGreaterThan(100);
  });

  it('finds a name behind a thousand endings of it, at the start and at the end of a body', () => {
    const endings = 'oken '.repeat(1_000);
    for (const text of [`${endings}mon.data.token`, `mon.data.token${endings}`, `${endings}x.api_key`])
      expect(keys.mayBeIn(Buffer.from(text))).toBe(true);
    expect(keys.mayBeIn(Buffer.from(endings))).toBe(false);
  });
});
