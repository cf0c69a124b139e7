import { beforeEach, describe, expect, it } from 'vitest';
import { createAttempts, createTokenLimit } from '../../../../src/metadata/console/attempts.ts';
import { createSessions, type Sessions } from '../../../../src/metadata/console/sessions.ts';
import type { AdminIdentity } from '../../../../src/metadata/tokens/admin-token-state.ts';
import { createMemoryBucket, type MemoryBucket } from '../../../support/stack/memory-bucket.ts';

const owner: AdminIdentity = { token_id: 7, name: 'ops', role: 'editor', mon_biz_id: null };
const minute = 60_000;
const hour = 60 * minute;

describe('a session of the console', () => {
  let now = 0;
  let known: Map<number, AdminIdentity>;
  let bucket: MemoryBucket;
  /** What KV holds, as text. */
  let stored: string[];
  let sessions: Sessions;

  /** The one that was written last is the last. */
  const keysOf = (pattern: string): string[] => {
    const keys: string[] = [];
    const watch = bucket.watch(
      ({ key }) => keys.push(key),
      () => undefined,
      pattern,
    );
    bucket.snapshot();
    watch.stop();
    return keys;
  };

  beforeEach(() => {
    now = 1_795_000_000_000;
    known = new Map([[owner.token_id, owner]]);
    bucket = createMemoryBucket();
    stored = [];
    const store = {
      ...bucket,
      now: async () => now,
      create: async (key: string, value: unknown) => {
        stored.push(`${key} ${JSON.stringify(value)}`);
        return bucket.create(key, value);
      },
      eraseAll: async (pattern: string, keep = 0) => {
        const keys = keysOf(pattern);
        const erased = keys.slice(0, Math.max(0, keys.length - keep));
        for (const key of erased) await bucket.delete(key);
        return erased.length;
      },
    };
    sessions = createSessions(store, { identityOf: async (id) => known.get(id) });
  });

  it('is found by its cookie, of which KV has the hash alone', async () => {
    const { cookie } = await sessions.open(owner);
    expect(cookie).toMatch(/^7\.[0-9a-f]{64}$/);
    expect(await sessions.find(cookie)).toMatchObject({
      identity: owner,
      isProven: true,
      expiresAt: now + 12 * hour,
    });
    expect(stored).toHaveLength(1);
    expect(stored[0]).not.toContain(cookie.slice(2));
  });

  it.each(['', '7.', '8.#', 'x'.repeat(100_000), '7.*', '7.>'])(
    'is not found by the cookie %j',
    async (cookie) => {
      const { cookie: good } = await sessions.open(owner);
      expect(await sessions.find(cookie.replace('#', good.slice(2)))).toBeUndefined();
    },
  );

  it('ends after an hour without a request, and lives on with one each 59 minutes', async () => {
    const { cookie } = await sessions.open(owner);
    for (let turn = 0; turn < 5; turn++) {
      now += 59 * minute;
      expect(await sessions.find(cookie)).toBeDefined();
    }
    now += hour;
    expect(await sessions.find(cookie)).toBeUndefined();
    now -= hour;
    expect(await sessions.find(cookie)).toBeUndefined();
  });

  it('ends after twelve hours, however much it is used', async () => {
    const { cookie } = await sessions.open(owner);
    for (let turn = 0; turn < 23; turn++) {
      now += 30 * minute;
      expect(await sessions.find(cookie)).toBeDefined();
    }
    now += 30 * minute;
    expect(await sessions.find(cookie)).toBeUndefined();
  });

  it('ends with its token, and when the token has another role', async () => {
    const { cookie } = await sessions.open(owner);
    const { cookie: other } = await sessions.open(owner);
    known.set(7, { ...owner, role: 'admin' });
    expect(await sessions.find(cookie)).toBeUndefined();
    known.delete(7);
    expect(await sessions.find(other)).toBeUndefined();
    known.set(7, owner);
    expect(await sessions.find(other)).toBeUndefined();
  });

  it('ends by itself alone', async () => {
    const { cookie } = await sessions.open(owner);
    const { cookie: other } = await sessions.open(owner);
    expect(await sessions.end(cookie)).toBe(true);
    expect(await sessions.end(cookie)).toBe(false);
    expect(await sessions.find(cookie)).toBeUndefined();
    expect(await sessions.find(other)).toBeDefined();
  });

  it('is one of a hundred of its token: one more ends the one that was unused for longest', async () => {
    const other = { ...owner, token_id: 77 };
    known.set(77, other);
    const { cookie: foreign } = await sessions.open(other);
    const cookies: string[] = [];
    for (let count = 0; count < 100; count++) cookies.push((await sessions.open(owner)).cookie);
    const [first = '', second = '', third = ''] = cookies;
    now += minute;
    expect(await sessions.find(first)).toBeDefined();
    await sessions.open(owner);
    expect(await sessions.find(second)).toBeUndefined();
    for (const cookie of [first, third, foreign]) expect(await sessions.find(cookie)).toBeDefined();
    expect(keysOf('session.7.*')).toHaveLength(100);
  });

  it('notes when the token was presented again', async () => {
    const { cookie } = await sessions.open(owner);
    const openedAt = now;
    now += 5 * minute;
    expect(await sessions.find(cookie)).toMatchObject({ isProven: false });
    await sessions.prove(cookie);
    expect(await sessions.find(cookie)).toMatchObject({ isProven: true, expiresAt: openedAt + 12 * hour });
  });

  it('is opened once by a code, within a minute, by one of two at the same time', async () => {
    const { code } = await sessions.makeCode(owner);
    const taken = await Promise.all([sessions.takeCode(code), sessions.takeCode(code)]);
    expect(taken.filter((each) => each !== undefined)).toEqual([owner]);
    expect(await sessions.takeCode(code)).toBeUndefined();
    const { code: late } = await sessions.makeCode(owner);
    now += minute;
    expect(await sessions.takeCode(late)).toBeUndefined();
    const { code: orphan } = await sessions.makeCode(owner);
    known.clear();
    expect(await sessions.takeCode(orphan)).toBeUndefined();
    expect(stored.join()).not.toContain(code);
  });

  it('has ten codes of its token beside it: one more ends the oldest of them, and none of another token', async () => {
    const other = { ...owner, token_id: 77 };
    known.set(77, other);
    const { code: foreign } = await sessions.makeCode(other);
    const codes: string[] = [];
    for (let count = 0; count < 1_100; count++) codes.push((await sessions.makeCode(owner)).code);
    expect(keysOf('code.7.*')).toHaveLength(10);
    const [eleventh = '', ...last] = codes.slice(-11);
    expect(await sessions.takeCode(eleventh)).toBeUndefined();
    for (const code of last) expect(await sessions.takeCode(code)).toEqual(owner);
    expect(await sessions.takeCode(foreign)).toEqual(other);
  });

  it.each(['', '7.', 'x'.repeat(100_000), '7.*', '*.#', '77.#'])(
    'is not opened by the code %j',
    async (code) => {
      const { code: good } = await sessions.makeCode(owner);
      expect(await sessions.takeCode(code.replace('#', good.slice(2)))).toBeUndefined();
    },
  );
});

describe('acts of a token that the audit log has', () => {
  it('are sixty a minute of one token; others are not held up', () => {
    let now = 0;
    const act = createTokenLimit('made links', () => now);
    for (let count = 0; count < 60; count++) act(owner);
    expect(() => act(owner)).toThrow('the token "ops" made links 60 times within a minute');
    act({ ...owner, token_id: 8 });
    now += 60_000;
    act(owner);
  });
});

describe('failed attempts to log in', () => {
  it('are ten a minute of one address, those under way too; others are not held up', () => {
    let now = 0;
    const attempts = createAttempts(() => now);
    for (let count = 0; count < 10; count++) expect(attempts.begin('10.0.0.1')).toBeDefined();
    expect(attempts.begin('10.0.0.1')).toBeUndefined();
    expect(attempts.begin('10.0.0.2')).toBeDefined();
    now += 60_000;
    expect(attempts.begin('10.0.0.1')).toBeDefined();
  });

  // One host may have all addresses of it.
  it('are ten a minute of a network of 64 bits of IPv6', () => {
    const attempts = createAttempts(() => 0);
    for (let count = 0; count < 10; count++) expect(attempts.begin(`2001:db8:1:2::${count}`)).toBeDefined();
    expect(attempts.begin('2001:db8:1:2:ffff::1')).toBeUndefined();
    expect(attempts.begin('2001:db8:1:3::1')).toBeDefined();
  });

  it('are not those that are taken back, and one of the minute before frees none of this minute', () => {
    let now = 0;
    const attempts = createAttempts(() => now);
    for (let count = 0; count < 30; count++) attempts.begin('10.0.0.1')?.takeBack();
    const early = attempts.begin('10.0.0.1');
    now += 60_000;
    for (let count = 0; count < 10; count++) expect(attempts.begin('10.0.0.1')).toBeDefined();
    early?.takeBack();
    expect(attempts.begin('10.0.0.1')).toBeUndefined();
  });

  it('of many addresses get sixty entries of the audit log in a minute, and a bounded memory', () => {
    let now = 0;
    const attempts = createAttempts(() => now);
    const noted = Array.from({ length: 20_000 }, (_, index) => attempts.begin(`address ${index}`)?.isNoted());
    expect(noted.filter(Boolean)).toHaveLength(60);
    now += 60_000;
    expect(attempts.begin('address 0')?.isNoted()).toBe(true);
  });
});
