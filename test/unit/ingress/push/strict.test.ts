import { expect, it } from 'vitest';
import type { Reply } from '../../../../src/ingress/http/reply.ts';
import { pointsReply, refusedReply, strictReply } from '../../../../src/ingress/push/reply.ts';
import { asksStrict } from '../../../../src/ingress/push/strict.ts';
import { noLinks } from '../../../../src/ingress/reason-links.ts';
import { Refused } from '../../../../src/ingress/refused.ts';
import { dayMs } from '../../../../src/model/time.ts';
import type { EncodedPoints } from '../../../../src/rules/points/encoded-points.ts';
import { encodePoints } from '../../../support/push/encode-points.ts';
import { arrivedAt, contextWith, sourceWith } from '../../../support/push/source.ts';

it.each([
  ['/v2/push/', false],
  ['/v2/push/?debug=1', false],
  ['/v2/push/?strict=false', false],
  ['/v2/push/?strict=true', true],
  ['/v2/push?debug=1&strict=true', true],
  ['/v2/push/?strict=true&strict=true', true],
  ['/v2/push/?restrict=1', false],
])('a push to %s is strict: %s', (url, isStrict) => {
  expect(asksStrict(url)).toBe(isStrict);
});

it.each(['', '1', 'yes', 'TRUE'])(
  'strict=%s is refused: a sender that means it must not be taken lightly',
  (value) => {
    expect(() => asksStrict(`/v2/push/?strict=${value}`)).toThrow(Refused);
  },
);

it.each([
  'STRICT=true',
  'Strict=false',
  'strict=false&strict=true',
  'strict=true&strict=false',
  'strict=true&sTRICT=true',
])('?%s is refused: one reading of it would store a part', (query) => {
  expect(() => asksStrict(`/v2/push/?${query}`)).toThrow(Refused);
});

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

const messageOf = (reply: Reply): string => JSON.parse(String(reply.body)).message;

const encoded = (...data: readonly object[]): EncodedPoints =>
  encodePoints(data, contextWith(sourceWith('wide')));
const mixed = encoded({ metrics: { cpu: 1 } }, { metrics: {} });
const bad = encoded({ metrics: {} });

// The rules of now judge a retry, and only the publish knows its first try, which may be stored.
it.each([
  [
    'that strict refuses',
    strictReply(mixed, noLinks, true),
    ', because strict=true: 1 of 2 points would be dropped (metrics_empty 1)',
  ],
  [
    'of which nothing is accepted',
    pointsReply(bad, noLinks, true),
    ': 1 of 1 point dropped (metrics_empty 1)',
  ],
])('the answer to a push with a key %s speaks of this try alone', (_, reply, rest) => {
  expect([reply.status, messageOf(reply)]).toEqual([400, `nothing of this try is stored${rest}`]);
});

it('the answer to a push without a key says that nothing is stored', () => {
  expect(messageOf(strictReply(mixed))).toBe(
    'nothing is stored, because strict=true: 1 of 2 points would be dropped (metrics_empty 1)',
  );
  expect(messageOf(pointsReply(bad))).toBe('1 of 1 point dropped (metrics_empty 1)');
});

// The default retention narrows no window: only the answer can tell that such a point does not stay.
it('the answer names the points that the default retention removes, and is the plain one for younger ones', () => {
  const pushed = (...ages: readonly number[]) =>
    encodePoints(
      ages.map((age) => ({ metrics: { cpu: 1 }, timestamp: arrivedAt - age })),
      contextWith(sourceWith('wide'), {
        expiringBefore: arrivedAt - 90 * dayMs,
        policy: { aheadMsMax: undefined, ageMsMax: undefined },
      }),
    );
  const young = pointsReply(pushed(0, 90 * dayMs), noLinks, false, 90);
  expect(young.body).toBe('{"code":"200","result":"true","message":""}');
  const old = pointsReply(pushed(0, 90 * dayMs + 1, 365 * dayMs), noLinks, false, 90);
  expect(JSON.parse(String(old.body))).toEqual({
    code: '200',
    result: 'true',
    message:
      '2 points stored beyond the retention of 90 days, removed at once or with the next points (to keep older points: tidemark retention set)',
    ...{ accepted: 3, dropped: {}, values_dropped: {}, points_expiring: 2, examples: [] },
  });
});

it('the answer to a push with a key of which a part is stored says what was dropped', () => {
  expect(messageOf(pointsReply(mixed, noLinks, true))).toBe('1 of 2 points dropped (metrics_empty 1)');
});
