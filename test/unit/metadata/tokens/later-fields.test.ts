import { expect, it } from 'vitest';
import {
  added,
  identityIn,
  mergedTokens,
  parseState,
  revoked,
  shown,
} from '../../../../src/metadata/tokens/admin-token-state.ts';

// After the way back from a later version the tokens that it wrote must still open the admin API: every one is in this value.
it('admin tokens with fields of a later version are read, and a change keeps the fields, which no answer shows', () => {
  const token = {
    ...{ token_id: 1, name: 'admin', role: 'admin', mon_biz_id: null, sha256: 'a'.repeat(64) },
    ...{ creator: 'system', create_time: 1, expires_at: null, is_revoked: false, later: 'of one' },
  };
  const stored = { last_id: 1, tokens: [token], later: 'of all' };
  const state = parseState(stored);
  expect(identityIn(state.tokens[0])).toMatchObject({ token_id: 1, role: 'admin' });
  const more = added(state, { name: 'more', role: 'admin', creator: 'me' }, 'b'.repeat(64), 2);
  expect(more).toMatchObject({ later: 'of all', last_id: 2, tokens: [token, { name: 'more' }] });
  const fewer = revoked(more, 1, 3);
  expect(fewer).toMatchObject({ later: 'of all', tokens: [{ later: 'of one', is_revoked: true }, {}] });
  expect(mergedTokens(fewer, stored)).toEqual(fewer);
  const { sha256: _, later: __, ...known } = token;
  expect(state.tokens.map(shown)).toEqual([known]);
});
