import { Kvm } from '@nats-io/kv';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type KvBucket, openKvBucket, unreadable } from '../../src/bus/kv.ts';
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

let count = 0;
let name: string;
let bucket: KvBucket;
beforeEach(async () => {
  name = `watched-${++count}`;
  bucket = await openKvBucket(bus, name);
});

/** Stores bytes as they are, as another program would. */
const putText = async (key: string, text: string): Promise<void> => {
  await (await new Kvm(bus.js).open(name)).put(key, text);
};

const consumers = async (): Promise<number> =>
  (await (await bus.manager()).streams.info(`KV_${name}`)).state.consumer_count;

const follow = (refuses: (key: string) => boolean = () => false) => {
  const held = new Map<string, unknown>();
  const snapshots: string[][] = [];
  const watch = bucket.watch(
    ({ key, value }) => {
      if (refuses(key)) throw new Error(`${key} is not wanted`);
      if (value === undefined) held.delete(key);
      else held.set(key, value);
    },
    (keys) => snapshots.push([...keys].sort()),
  );
  onTestFinished(() => watch.stop());
  return { held, snapshots, stop: () => watch.stop() };
};

it.each(['{broken', '', 'NaN'])(
  'a value that is not JSON (%j) arrives as one, and hides no other key',
  async (text) => {
    await bucket.put('a', 1);
    await putText('b', text);
    await bucket.put('c', 3);
    const { held, snapshots } = follow();
    await until('the whole state is read', () => snapshots.length > 0);
    expect(snapshots).toEqual([['a', 'b', 'c']]);
    expect([...held]).toEqual([
      ['a', 1],
      ['b', unreadable],
      ['c', 3],
    ]);
    await putText('a', text);
    await bucket.put('c', 4);
    await bucket.delete('b');
    await until('the changes arrive', () => held.get('c') === 4 && !held.has('b'));
    expect(held.get('a')).toBe(unreadable);
    await bucket.put('a', 2);
    await until('the repair arrives', () => held.get('a') === 2);
    expect(snapshots.length).toBe(1);
    expect((await bucket.get('c'))?.value).toBe(4);
  },
);

it('a single read tells a value that is not JSON, with the revision to replace it on', async () => {
  await putText('a', '{broken');
  const stored = await bucket.get('a');
  expect(stored?.value).toBe(unreadable);
  await bucket.update('a', 1, stored?.revision ?? 0);
  expect((await bucket.get('a'))?.value).toBe(1);
});

it('a watch that was stopped leaves no consumer at the server', async () => {
  await bucket.put('a', 1);
  const watches = Array.from({ length: 5 }, () => follow());
  for (const { snapshots } of watches) await until('it is read', () => snapshots.length > 0);
  expect(await consumers()).toBe(5);
  for (const { stop } of watches) stop();
  await until('all are gone', async () => (await consumers()) === 0);
});

it('a watch that fails is reported when it begins and when it is over, and keeps one consumer at most', async () => {
  const told: string[] = [];
  bus.watchTroubles.listen({
    onBegin: (watch, why) => told.push(`${watch.bucket} ${watch.keys}: ${why}`),
    onEnd: (watch) => told.push(`${watch.bucket} is over`),
  });
  await bucket.put('a', 1);
  await bucket.put('b', 1);
  let failures = 0;
  let isRefused = true;
  const { snapshots } = follow((key) => {
    if (key !== 'a' || !isRefused) return false;
    failures++;
    return true;
  });
  for (const at of [1, 2, 3, 4]) {
    await until('it fails again', () => failures >= at);
    expect(await consumers()).toBeLessThanOrEqual(1);
  }
  isRefused = false;
  await until('it is read', () => snapshots.length > 0);
  expect(told).toEqual([`${name} >: a is not wanted`, `${name} is over`]);
  expect(await consumers()).toBe(1);
});
