import { expect, it } from 'vitest';
import { asksStrict } from '../../../../src/ingress/push/strict.ts';
import { Refused } from '../../../../src/ingress/refused.ts';

it.each([
  ['/v2/push/', false],
  ['/v2/push/?debug=1', false],
  ['/v2/push/?strict=false', false],
  ['/v2/push/?strict=true', true],
  ['/v2/push?debug=1&strict=true', true],
])('a push to %s is strict: %s', (url, isStrict) => {
  expect(asksStrict(url)).toBe(isStrict);
});

it.each(['', '1', 'yes', 'TRUE'])(
  'strict=%s is refused: a sender that means it must not be taken lightly',
  (value) => {
    expect(() => asksStrict(`/v2/push/?strict=${value}`)).toThrow(Refused);
  },
);
