import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { whileAllowed } from '../../../../src/metadata/console/while-allowed.ts';
import { openAdminTokens } from '../../../../src/metadata/tokens/admin-tokens.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { createMemoryBucket } from '../../../support/stack/memory-bucket.ts';
import { tempFolder } from '../../../support/stack/temp-folder.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const log = createLog('test', 'silent');
const away = new Fault('transient', 'nats_unavailable', 'no answer');

/** The admin tokens of two processes; the watch of the second delivers nothing, and it reads KV as `second` says. */
const openTwo = async () => {
  const bucket = createMemoryBucket();
  const folder = await tempFolder();
  const bus = { connected: true, onDisconnect: () => {} };
  const second = { isAnswered: true, hasLeader: true, connected: true, reads: 0 };
  const behind = {
    ...bucket,
    askLeader: async () => {
      if (!second.hasLeader) throw away;
    },
    get: async (key: string) => {
      second.reads++;
      if (!second.isAnswered) throw away;
      return bucket.get(key);
    },
  };
  const bus2 = {
    ...bus,
    get connected() {
      return second.connected;
    },
  };
  const one = await openAdminTokens(bus, bucket, folder, log);
  const other = await openAdminTokens(bus2, behind, folder, log);
  const { record, token } = await one.create({ name: 'n1', role: 'node', mon_biz_id: 2, creator: 'ann' });
  const stop = (): void => {
    one.stop();
    other.stop();
  };
  return { one, other, second, id: record.token_id, token, stop };
};

it('a token that was revoked counts for a second at most in a process whose watch delivers nothing', async () => {
  const { one, other, second, id, token, stop } = await openTwo();
  expect(await other.authorize(token)).toMatchObject({ role: 'node' });
  await one.revoke(id);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await other.authorize(token)).toBeUndefined();
  expect(await other.identityOf(id)).toBeUndefined();
  const reads = second.reads;
  for (let calls = 0; calls < 100; calls++) await other.authorize(token);
  expect(second.reads).toBe(reads);
  stop();
});

it('a live stream of a revoked token ends within a second in a process whose watch delivers nothing', async () => {
  const { one, other, id, token, stop } = await openTwo();
  const isAllowed = async (): Promise<boolean> => (await other.identityOf(id)) !== undefined;
  const reader = whileAllowed(new ReadableStream(), isAllowed).getReader();
  await vi.advanceTimersByTimeAsync(2);
  expect(await other.authorize(token)).toMatchObject({ role: 'node' });
  await one.revoke(id);
  let hasEnded = false;
  void reader.closed.then(() => {
    hasEnded = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(hasEnded).toBe(true);
  stop();
});

it.each([
  ['hangs', { isAnswered: false }],
  ['is lost', { connected: false }],
  ['server is cut off from its cluster', { hasLeader: false }],
])('a process whose NATS %s says so instead of accepting a token that may be revoked', async (_, how) => {
  const { other, second, id, token, stop } = await openTwo();
  expect(await other.authorize(token)).toMatchObject({ role: 'node' });
  Object.assign(second, how);
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(other.authorize(token)).rejects.toMatchObject({ kind: 'transient', code: 'nats_unavailable' });
  const asked = expect(other.identityOf(id)).rejects.toMatchObject({ kind: 'transient' });
  await vi.advanceTimersByTimeAsync(100);
  await asked;
  Object.assign(second, { isAnswered: true, hasLeader: true, connected: true });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await other.authorize(token)).toMatchObject({ role: 'node' });
  stop();
});
