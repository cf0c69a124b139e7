import { describe, expect, it } from 'vitest';
import { startDirectory } from '../../../src/directory/directory.ts';
import { recordKeys } from '../../../src/directory/keys.ts';
import { createRecordWriter, defaultRules } from '../../support/metadata/directory-records.ts';
import { createMemoryBucket } from '../../support/stack/memory-bucket.ts';
import { waitFor } from '../../support/wait.ts';

const dataId = 1_500_001;
const appId = 7;
const oldToken = '0123456789abcdef0123456789abcdef';
const newToken = 'fedcba9876543210fedcba9876543210';
const startSeconds = 1_780_000_000;

/** A directory on buckets whose watch delivers the given changes, at a time that tests set. */
const start = () => {
  const records = createMemoryBucket();
  const columns = createMemoryBucket();
  const clock = { ms: startSeconds * 1000 };
  const invalid: string[] = [];
  const directory = startDirectory({
    records,
    columns,
    defaults: defaultRules,
    now: () => clock.ms,
    onInvalid: (key) => invalid.push(key),
  });
  columns.snapshot();
  return { records, columns, clock, invalid, directory, write: createRecordWriter(records) };
};

type Started = ReturnType<typeof start>;

/** The same promises hold for both kinds of token. */
const kinds = [
  {
    name: 'a data id',
    recordKey: recordKeys.dataSource(dataId),
    create: ({ write }: Started) => write.source(dataId, oldToken),
    rotate: ({ write }: Started, expiresAt: number) =>
      write.rotateSource(dataId, oldToken, newToken, expiresAt),
    takes: async ({ directory }: Started, token: string) =>
      (await directory.authorize(dataId, token)) !== undefined,
    disable: ({ write }: Started) => write.edit(recordKeys.dataSource(dataId), { is_enable: false }),
    isEnabled: async ({ directory }: Started, token: string) =>
      (await directory.authorize(dataId, token))?.isEnabled,
  },
  {
    name: 'an application',
    recordKey: recordKeys.application(appId),
    create: ({ write }: Started) => write.application(appId, oldToken),
    rotate: ({ write }: Started, expiresAt: number) =>
      write.rotateApplication(appId, oldToken, newToken, expiresAt),
    takes: async ({ directory }: Started, token: string) =>
      (await directory.authorizeApplication(token)) !== undefined,
    disable: ({ write }: Started) => write.edit(recordKeys.application(appId), { is_enable: false }),
    isEnabled: async ({ directory }: Started, token: string) =>
      (await directory.authorizeApplication(token))?.isEnabled,
  },
] as const;

describe.each(kinds)('the token of $name', ({ create, rotate, takes, disable, isEnabled, recordKey }) => {
  // Operators change producers over one by one: those with the old token must not lose points, and the old token must
  // expire.
  it('is taken beside the new one until it expires, with no event at that moment', async () => {
    const started = start();
    const { records, clock } = started;
    await create(started);
    records.snapshot();
    expect([await takes(started, oldToken), await takes(started, newToken)]).toEqual([true, false]);
    await rotate(started, startSeconds + 60);
    records.tell();
    expect([await takes(started, oldToken), await takes(started, newToken)]).toEqual([true, true]);
    clock.ms += 59_999;
    expect([await takes(started, oldToken), await takes(started, newToken)]).toEqual([true, true]);
    clock.ms += 1;
    expect([await takes(started, oldToken), await takes(started, newToken)]).toEqual([false, true]);
  });

  it('is accepted at every step of a rotation that the watch delivers', async () => {
    const started = start();
    const { records } = started;
    await create(started);
    records.snapshot();
    await rotate(started, startSeconds + 60);
    for (let step = 0; step < 4; step++) {
      records.tell(1);
      expect(await takes(started, oldToken)).toBe(true);
    }
    expect(await takes(started, newToken)).toBe(true);
  });

  // An interrupted rotation names the current token as the previous one: that must not let it expire.
  it('does not expire while it is the current one too', async () => {
    const started = start();
    const { records, clock, write } = started;
    await create(started);
    const expired = { token: oldToken, expires_at: startSeconds - 5 };
    await records.put(recordKeys.previousToken(dataId), expired);
    await records.put(recordKeys.previousApplicationToken(appId), expired);
    records.snapshot();
    expect(await takes(started, oldToken)).toBe(true);
    await write.rotateSource(dataId, newToken, newToken, startSeconds + 60);
    await write.rotateApplication(appId, newToken, newToken, startSeconds + 60);
    records.tell();
    clock.ms += 60_000;
    expect([await takes(started, oldToken), await takes(started, newToken)]).toEqual([false, true]);
  });

  it('is found in KV when the watch has not delivered it, the old one as well as the new one', async () => {
    for (const token of [oldToken, newToken]) {
      const started = start();
      const { records, clock } = started;
      records.snapshot();
      await create(started);
      await rotate(started, startSeconds + 60);
      expect(await takes(started, token)).toBe(true);
      clock.ms += 60_000;
      expect(await takes(started, token)).toBe(token === newToken);
    }
  });

  it('that was looked up in vain is looked up again as soon as a token may have changed, and after a second anyway', async () => {
    const started = start();
    const { records, clock } = started;
    await create(started);
    records.snapshot();
    expect(await takes(started, newToken)).toBe(false);
    const asked = records.gets.length;
    clock.ms += 999;
    expect(await takes(started, newToken)).toBe(false);
    expect(records.gets.length).toBe(asked);
    await rotate(started, startSeconds + 60);
    // Only the first record of the rotation has arrived; the watch has not delivered the one with the new token.
    records.tell(1);
    expect(await takes(started, newToken)).toBe(true);

    const late = start();
    late.records.snapshot();
    expect(await takes(late, oldToken)).toBe(false);
    await create(late);
    expect(await takes(late, oldToken)).toBe(false);
    late.clock.ms += 1_000;
    expect(await takes(late, oldToken)).toBe(true);
  });

  // A lookup in flight while the watch delivers a change would bring a disabled source back for good.
  it('brings nothing back that the watch has overtaken', async () => {
    const started = start();
    const { records } = started;
    await create(started);
    records.snapshot();
    await rotate(started, startSeconds + 60);
    const held = records.holdGet(recordKey);
    const answer = isEnabled(started, newToken);
    await waitFor('the lookup has read the record', 60_000, held.isAsked);
    await disable(started);
    records.tell();
    held.release();
    expect(await answer).toBe(false);
    expect(await isEnabled(started, newToken)).toBe(false);
  });

  it('that a whole reading no longer shows is forgotten', async () => {
    const started = start();
    const { records } = started;
    await create(started);
    await rotate(started, startSeconds + 60);
    records.snapshot();
    await records.delete(recordKeys.previousToken(dataId));
    await records.delete(recordKeys.previousApplicationToken(appId));
    records.snapshot();
    expect([await takes(started, oldToken), await takes(started, newToken)]).toEqual([false, true]);
  });
});

describe('a wrong token', () => {
  // Wrong tokens are free to make: each may cost the bus two reads, and none within the memory of misses.
  it('costs two reads for a data id and one for an application', async () => {
    const { records, directory, write } = start();
    await write.source(dataId, oldToken);
    await write.application(appId, oldToken);
    records.snapshot();
    for (let repeat = 0; repeat < 3; repeat++) {
      expect(await directory.authorize(dataId, 'wrong')).toBeUndefined();
      expect(await directory.authorizeApplication('wrong')).toBeUndefined();
    }
    expect(records.gets).toEqual([
      recordKeys.dataSource(dataId),
      recordKeys.previousToken(dataId),
      recordKeys.applicationToken('wrong'),
    ]);
  });

  it('is not taken for another data id or of another length', async () => {
    const { records, directory, write } = start();
    await write.source(dataId, oldToken);
    await write.source(dataId + 1, newToken);
    await write.rotateSource(dataId, oldToken, 'e'.repeat(32), startSeconds + 60);
    records.snapshot();
    const given = ['', oldToken.slice(1), `${oldToken}0`, newToken];
    for (const token of given) expect(await directory.authorize(dataId, token)).toBeUndefined();
  });
});
