import { describe, expect, it } from 'vitest';
import { endsByItselfText } from '../../../../src/metadata/account/closing.ts';
import { createUnreadStreams } from '../../../../src/metadata/account/unread-streams.ts';
import { notRead } from '../../../../src/metadata/api/shown-account.ts';

const since = 1_800_000_000;
const unread = createUnreadStreams({
  furtherStreams: {
    placedUnread: () => [{ stream: 'METRICS-z', since: since * 1_000 + 500 }],
    unreadSince: (stream) => (stream === 'METRICS-z' ? since * 1_000 + 500 : undefined),
  },
  purges: {
    known: (id) => {
      const ids = { mon_data_id: id, table_id: 't', requested_at: 1, requested_by: 'ann' };
      return id === 9 ? { revision: 1, value: { ...ids, state: 'purging' } } : undefined;
    },
  },
  streamOf: (dataId) => (dataId < 7 ? 'METRICS' : 'METRICS-z'),
});
const z = { stream: 'METRICS-z', since };

describe('a stream that cannot be read', () => {
  it('is that of its data ids, not of a purged one', () => {
    expect([unread.of(6), unread.of(7), unread.of(9)]).toEqual([undefined, z, undefined]);
    expect(unread.all()).toEqual([z]);
  });

  it('stands in the differences of all owners once, although none of its data ids has items', () => {
    const until = since + 60;
    const shown = {
      ...{ kind: 'not_known', items: 0, messages: 0, stream: 'METRICS-z', from: since, until },
      ...{ is_open: true, reason: 'cannot be read' },
    };
    expect(notRead(unread, {}, until)).toEqual([{ ...shown, owners: [] }]);
    expect(notRead(unread, { dataId: 0 }, until)).toEqual([{ ...shown, owners: [] }]);
    expect(notRead(unread, { dataId: 7 }, until)).toEqual([{ ...shown, owners: [7] }]);
    for (const other of [{ dataId: 6 }, { dataId: 9 }, { appId: 7 }])
      expect(notRead(unread, other, until)).toEqual([]);
  });

  it('ends by itself, as a closing of it says', () => {
    const of7 = { dataId: 7, appId: undefined };
    const text = '; that METRICS-z cannot be read cannot be closed: it ends by itself once metadata reads it';
    expect(endsByItselfText(of7, true, [z])).toBe(text);
    expect(endsByItselfText({ ...of7, kind: 'not_known', stream: 'METRICS-z' }, true, [z])).toBe(text);
    expect(endsByItselfText({ ...of7, stream: 'METRICS' }, true, [z])).toBe('');
    expect(endsByItselfText({ ...of7, kind: 'stuck' }, true, [z])).toBe('');
    expect(endsByItselfText(of7, false, [])).toContain('LEDGER is not read, cannot be closed');
  });
});
