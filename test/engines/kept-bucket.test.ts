import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type KeepOptions, type KeptBucket, keepBucket } from '../../src/bus/kept-bucket.ts';
import { fillingKey, type KvBucket, openKvBucket } from '../../src/bus/kv.ts';
import { eraseKey } from '../../src/bus/outbox.ts';
import { recordKeys } from '../../src/directory/keys.ts';
import { mergedValue } from '../../src/metadata/records/merged-values.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

let engines: TestEngines;
let bus: Bus;
beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'test');
});
afterAll(async () => {
  await bus?.close();
  await engines?.stop();
});

const keys = Array.from({ length: 600 }, (_, index) => `record.${index}`);
let count = 0;
let name: string;
let bucket: KvBucket;
beforeEach(async () => {
  name = `kept-${++count}`;
  bucket = await openKvBucket(bus, name);
  for (const key of keys) await bucket.put(key, { key });
  await bucket.delete('record.0');
});

const streams = async () => (await bus.manager()).streams;
const remove = async (): Promise<void> => void (await (await streams()).delete(`KV_${name}`));
const infoOf = async () => (await streams()).info(`KV_${name}`);

const keep = (options: Partial<KeepOptions> = {}) => {
  const lines: string[] = [];
  const tell = (_: object, line: string): void => void lines.push(line);
  const log = { error: tell, warn: tell, info: tell };
  const kept = keepBucket({ bus, name, bucket, log, everyMs: 20, ...options });
  onTestFinished(() => kept.stop());
  return { kept, lines };
};

/** What a reader of the bucket holds, the first value that it saw of each key, and the sizes of the whole states that it was given. */
const follow = () => {
  const held = new Map<string, number>();
  const seen = new Map<string, unknown>();
  const snapshots: number[] = [];
  const watch = bucket.watch(
    ({ key, value, revision }) => {
      if (!seen.has(key)) seen.set(key, value);
      if (value === undefined) held.delete(key);
      else held.set(key, revision);
    },
    (all) => {
      snapshots.push(all.size);
      for (const key of held.keys()) if (!all.has(key)) held.delete(key);
    },
  );
  onTestFinished(() => watch.stop());
  return { held, seen, snapshots };
};

const isHeld = (kept: KeptBucket) => until('the keeper has a copy', () => kept.hasCopy);
const isWell = (kept: KeptBucket) => until('the keeper sees it whole', () => kept.problem === undefined);

it('a bucket that was deleted is made again with all it held, under higher revisions, and is reported once', async () => {
  const reader = follow();
  const { kept, lines } = keep();
  await isHeld(kept);
  await until('the reader has it', () => reader.held.size === keys.length - 1);
  const last = (await infoOf()).state.last_seq;
  const { created } = await infoOf();
  await remove();
  await until('it is there again', async () => {
    const found = await infoOf().catch(() => undefined);
    return (
      found !== undefined && found.created !== created && found.config.metadata?.[fillingKey] === 'filled'
    );
  });
  await isWell(kept);
  for (const key of keys.slice(1)) {
    const stored = await bucket.get(key);
    expect(stored?.value).toEqual({ key });
    expect(stored?.revision).toBeGreaterThan(last);
  }
  expect(await bucket.get('record.0')).toBeUndefined();
  expect(lines).toEqual([
    'a bucket is missing or empty',
    'a bucket was created again from the copy of this process',
    'a bucket is there again',
  ]);
  // A reader receives a change of the new bucket within seconds, and never took a part of it for the whole.
  const revision = await bucket.put('record.1', { key: 'changed' });
  await until('the reader has the change', () => reader.held.get('record.1') === revision, 30_000);
  expect(reader.held.size).toBe(keys.length - 1);
  expect(Math.min(...reader.snapshots)).toBe(keys.length - 1);
});

it('two processes that keep one bucket make one of it', async () => {
  const both = [keep().kept, keep().kept];
  for (const kept of both) await isHeld(kept);
  await remove();
  await until('it is whole', async () => (await infoOf()).config.metadata?.[fillingKey] === 'filled');
  for (const kept of both) await isWell(kept);
  expect((await infoOf()).state.messages).toBe(keys.length - 1);
});

it('one that somebody created again, empty, is filled again', async () => {
  const { kept } = keep();
  await isHeld(kept);
  await remove();
  await openKvBucket(bus, name);
  await until('it is filled', async () => (await bucket.get('record.599')) !== undefined);
  await isWell(kept);
  expect((await bucket.get('record.1'))?.value).toEqual({ key: 'record.1' });
});

it('what is done before its use is done before a reader sees it', async () => {
  const { kept } = keep({ beforeUse: (made) => made.put('record.1', 'raised') });
  await isHeld(kept);
  await remove();
  await until('it is there', async () => (await infoOf()).config.metadata?.[fillingKey] === 'filled');
  const { seen } = follow();
  await until('a reader has it', () => seen.get('record.1') !== undefined);
  expect(seen.get('record.1')).toBe('raised');
});

// They are erased without a marker, so a copy of them would grow for ever, and bring back what is long done.
it('keys that are left out are neither held nor made again', async () => {
  const { kept } = keep({ isLeftOut: (key) => key.startsWith('intent.') });
  await isHeld(kept);
  const reader = follow();
  await bucket.put('intent.1', { done: true });
  await bucket.put('record.1', { key: 'changed' });
  await eraseKey(bus, name, 'intent.1');
  const last = await bucket.put('record.2', { key: 'changed' });
  await until('a watch has all of it', () => reader.held.get('record.2') === last);
  await remove();
  await until('it is whole', async () => {
    const found = await infoOf().catch(() => undefined);
    return found?.config.metadata?.[fillingKey] === 'filled';
  });
  expect((await bucket.get('record.599'))?.value).toEqual({ key: 'record.599' });
  expect(await bucket.get('intent.1')).toBeUndefined();
});

/** A bus by which a keeper looks only while it is connected; it counts the looks that are done, or more by one. */
const gatedBus = () => {
  const state = { connected: true, looks: 0 };
  const get = (): boolean => {
    if (state.connected) state.looks++;
    return state.connected;
  };
  return { bus: Object.create(bus, { connected: { get } }), state };
};

const token = (token_id: number, digit: string) => ({
  ...{ token_id, name: digit, role: 'admin', mon_biz_id: null, sha256: digit.repeat(64), creator: 'test' },
  ...{ create_time: 1, expires_at: null, is_revoked: false },
});

// It took the installation for a new one: its identity key replaced the old one, admin tokens were unknown, and ids were given out again.
it('what a process wrote into a bucket that was away takes no identity key, token or number from it', async () => {
  await bucket.put(recordKeys.identityKey, { key: 'old' });
  await bucket.put('counter.app_id', 5);
  await bucket.put('boot', 70);
  await bucket.put('admin_tokens', { last_id: 2, tokens: [token(1, 'a'), token(2, 'b')] });
  const { bus: gate, state } = gatedBus();
  const { kept } = keep({ bus: gate, merge: mergedValue });
  await isHeld(kept);
  // Its looks wait until all of it is written.
  state.connected = false;
  await remove();
  const other = await openKvBucket(bus, name);
  await other.put(recordKeys.identityKey, { key: 'new' });
  await other.put('counter.app_id', 1);
  await other.put('boot', 71);
  await other.put('admin_tokens', { last_id: 1, tokens: [token(1, 'c')] });
  state.connected = true;
  await until('it is filled', async () => (await infoOf()).config.metadata?.[fillingKey] === 'filled');
  expect((await bucket.get(recordKeys.identityKey))?.value).toEqual({ key: 'old' });
  expect((await bucket.get('counter.app_id'))?.value).toBe(5);
  expect((await bucket.get('boot'))?.value).toBe(71);
  expect((await bucket.get('admin_tokens'))?.value).toEqual({
    last_id: 3,
    tokens: [token(1, 'a'), token(2, 'b'), token(3, 'c')],
  });
});

/** A bus whose fill of a bucket stands at this key until it is opened; `late` once it has come to it. */
const slowAt = (key: string) => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { promise: late, resolve: arrive } = Promise.withResolvers<void>();
  const publish = async (...given: Parameters<typeof bus.js.publish>) => {
    if (given[0].endsWith(`.${key}`)) {
      arrive();
      await gate;
    }
    return bus.js.publish(...given);
  };
  const js = Object.create(bus.js, { publish: { value: publish } });
  return { bus: Object.create(bus, { js: { value: js } }), late, open };
};

// It was paused while it filled the bucket, and its next write brought back what an operator had deleted since.
it('a process that fills the bucket late brings no key back that was deleted since', async () => {
  const key = 'record.7';
  const { bus: slowBus, late, open } = slowAt(key);
  const slow = keep({ bus: slowBus });
  await isHeld(slow.kept);
  await remove();
  await late;
  const other = keep();
  await until('the slow one has begun', async () => (await infoOf()).state.messages > 0);
  // What another process with the copy does meanwhile.
  await bucket.put(key, { key });
  await (await streams()).update(`KV_${name}`, { metadata: { [fillingKey]: 'filled' } });
  await isHeld(other.kept);
  await bucket.delete(key);
  open();
  await until('the slow one is done', () =>
    slow.lines.includes('a bucket was created again from the copy of this process'),
  );
  expect(await bucket.get(key)).toBeUndefined();
  // What it said was whole had nearly nothing: the process may have had a part of the copy.
  expect((await bucket.get('record.599'))?.value).toEqual({ key: 'record.599' });
});

// It took what it had made for a copy, filled the bucket from that, and ended the fill of the process that had all keys: most were lost.
it('a process that started while the bucket was away does not fill it from next to nothing', async () => {
  const { bus: slowBus, late, open } = slowAt('record.7');
  const { bus: gate, state } = gatedBus();
  const slow = keep({ bus: Object.create(slowBus, { connected: { get: () => gate.connected } }) });
  await isHeld(slow.kept);
  state.connected = false;
  await remove();
  const other = await openKvBucket(bus, name);
  await other.put(recordKeys.identityKey, { key: 'new' });
  const looking = gatedBus();
  const starting = keep({ bus: looking.bus, bucket: other });
  await isHeld(starting.kept);
  state.connected = true;
  await late;
  await until('the other one sees it', () => starting.kept.problem?.includes('being filled') === true);
  const { looks } = looking.state;
  await until('the look is done', () => looking.state.looks > looks);
  expect((await infoOf()).config.metadata?.[fillingKey]).not.toBe('filled');
  open();
  await until('it is whole', async () => (await infoOf()).config.metadata?.[fillingKey] === 'filled');
  for (const { kept } of [slow, starting]) await isWell(kept);
  expect((await infoOf()).state.messages).toBe(keys.length);
  expect(starting.lines).not.toContain('a bucket was created again from the copy of this process');
});

// Its copy kept what it had written itself over what the other one filled in, and brought it back at the next loss.
it('a process that wrote into a bucket that was away takes over what another one filled in', async () => {
  const tokens = { last_id: 2, tokens: [token(1, 'a'), token(2, 'b')] };
  await bucket.put(recordKeys.identityKey, { key: 'old' });
  await bucket.put('admin_tokens', tokens);
  const { bus: gate, state } = gatedBus();
  const first = keep({ bus: gate, merge: mergedValue });
  await isHeld(first.kept);
  state.connected = false;
  await remove();
  const other = await openKvBucket(bus, name);
  await other.put(recordKeys.identityKey, { key: 'new' });
  await other.put('admin_tokens', { last_id: 1, tokens: [token(1, 'c')] });
  const received = new Map<string, unknown>();
  const watch: KvBucket['watch'] = (onChange, ...more) =>
    other.watch(
      (...given) => {
        onChange(...given);
        received.set(given[0].key, given[0].value);
      },
      ...more,
    );
  const starting = keep({ bucket: { ...other, watch }, merge: mergedValue });
  await isHeld(starting.kept);
  state.connected = true;
  await until('it is filled', async () => (await infoOf()).config.metadata?.[fillingKey] === 'filled');
  first.kept.stop();
  const filled = { last_id: 3, tokens: [...tokens.tokens, token(3, 'c')] };
  expect((await bucket.get('admin_tokens'))?.value).toEqual(filled);
  await until(
    'the starting one has all of it',
    () =>
      received.size === keys.length + 1 &&
      isDeepStrictEqual(received.get('admin_tokens'), filled) &&
      isDeepStrictEqual(received.get(recordKeys.identityKey), { key: 'old' }),
  );
  await isWell(starting.kept);
  await remove();
  await until('it is filled', async () => {
    const found = await infoOf().catch(() => undefined);
    return found?.config.metadata?.[fillingKey] === 'filled';
  });
  expect((await bucket.get(recordKeys.identityKey))?.value).toEqual({ key: 'old' });
  expect((await bucket.get('admin_tokens'))?.value).toEqual(filled);
});
