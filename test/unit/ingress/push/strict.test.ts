import { expect, it } from 'vitest';
import { refusedReply } from '../../../../src/ingress/push/reply.ts';
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

// The remedy of its reason is about the head of a request: it would send the reader to the wrong place.
it('the answer to a wrong value of strict says which values there are, and nothing of other headers', () => {
  let refused = new Refused('internal');
  try {
    asksStrict('/v2/push/?strict=maybe');
  } catch (error) {
    if (error instanceof Refused) refused = error;
  }
  expect(JSON.parse(String(refusedReply(refused).body))).toEqual({
    code: '400',
    result: 'false',
    message: 'the query parameter strict takes true or false: send ?strict=true, or leave it out',
    reason: 'protocol_error',
  });
});
