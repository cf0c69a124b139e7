import { expect, it } from 'vitest';
import { added, noTokens, revoked } from '../../../../src/metadata/tokens/admin-token-state.ts';

const now = 1_795_000_000;
const stateOf = (...ends: (number | null)[]) =>
  ends.reduce(
    (state, expires_at, index) =>
      added(
        state,
        { name: `a${index}`, role: 'admin', creator: 'x', expires_at },
        `${index}`.repeat(64),
        now,
      ),
    noTokens,
  );

it('the last admin token without an end is not revoked beside one that ends, after which nobody would be admin', () => {
  expect(() => revoked(stateOf(null, now + 60), 1, now)).toThrow('create another without expires_at first');
  expect(revoked(stateOf(null, null), 1, now).tokens[0]).toMatchObject({ is_revoked: true });
});

it('of admin tokens that all end, each but the last is revoked', () => {
  expect(revoked(stateOf(now + 60, now + 90), 1, now).tokens[0]).toMatchObject({ is_revoked: true });
  expect(() => revoked(stateOf(now + 60, now), 1, now)).toThrow('create another first');
});
