import { AckPolicy } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { createFence } from '../../src/transfer/blocks/fence.ts';
import { notedFault } from '../support/lasting-faults.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { waitFor } from '../support/wait.ts';

let engines: TestEngines;
let bus: Bus;
beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'fence');
  const { streams } = await bus.manager();
  await streams.add({ name: 'F', subjects: ['f.>'] });
  await addConsumer();
});
const addConsumer = async () =>
  (await bus.manager()).consumers.add('F', { durable_name: 'c', ack_policy: AckPolicy.Explicit });

afterAll(async () => {
  await bus.close();
  await engines.stop();
});

// A server that was killed may have forgotten what it delivered: what was in the stream before is never taken for new.
it('clears only messages from after the last connect, and only once a duplicate window has passed', async () => {
  let now = 1_000_000;
  for (let count = 0; count < 3; count++) await bus.js.publish('f.x', 'before');
  const fence = createFence(bus, {
    stream: 'F',
    consumer: 'c',
    duplicateWindowMs: 300_000,
    now: () => now,
    fault: notedFault().fault,
  });
  expect(fence.isFresh(1_000)).toBe(false);
  now += 301_000;
  await waitFor('the fence is read', 60_000, () => {
    now += 301_000;
    return fence.isFresh(4);
  });
  expect([fence.isFresh(3), fence.isFresh(4)]).toEqual([false, true]);

  await bus.js.publish('f.x', 'before the kill');
  await engines.nats.kill();
  await waitFor('the fence is up', 60_000, () => !fence.isFresh(1_000));
  await engines.nats.start();
  await waitFor('the fence is read again', 60_000, () => {
    now += 301_000;
    return fence.isFresh(5);
  });
  expect([fence.isFresh(4), fence.isFresh(5)]).toEqual([false, true]);
});

// It delivers again, as if for the first time, what was delivered and not acknowledged before.
it('clears nothing of a consumer that was created again during the connection, until a duplicate window has passed', async () => {
  let now = 1_000_000;
  const { events, fault } = notedFault();
  const fence = createFence(bus, {
    stream: 'F',
    consumer: 'c',
    duplicateWindowMs: 300_000,
    now: () => now,
    fault,
  });
  const { streams, consumers } = await bus.manager();
  const last = (await streams.info('F')).state.last_seq;
  await waitFor('the fence is read', 60_000, () => {
    now += 301_000;
    return fence.isFresh(last + 1);
  });
  expect(await fence.holds()).toBe(true);
  await bus.js.publish('f.x', 'delivered');
  expect((await (await bus.js.consumers.get('F', 'c')).next())?.seq).toBeGreaterThan(0);
  expect(await fence.holds()).toBe(true);
  await consumers.delete('F', 'c');
  expect(await fence.holds()).toBe(false);
  expect(events).toEqual(['worked', 'failed']);
  await addConsumer();
  expect([await fence.holds(), fence.isFresh(last + 1)]).toEqual([false, false]);
  await waitFor('the fence holds again', 60_000, async () => {
    now += 301_000;
    return await fence.holds();
  });
  expect([fence.isFresh(last + 1), fence.isFresh(last + 2)]).toEqual([false, true]);
  // The log has an end of it, too.
  expect(events).toEqual(['worked', 'failed', 'worked']);
});

// A stream that was put back from a copy has its consumer as it was then: made when it was made, and behind what it has delivered since.
it('does not hold for a consumer that has delivered less than it had', async () => {
  const fence = createFence(bus, {
    stream: 'F',
    consumer: 'c',
    duplicateWindowMs: 0,
    now: () => 1,
    fault: notedFault().fault,
  });
  await waitFor('the fence holds', 60_000, fence.holds);
  const { consumers } = await bus.manager();
  const info = await consumers.info('F', 'c');
  const consumerInfo = vi.spyOn(Object.getPrototypeOf(consumers), 'info');
  consumerInfo.mockResolvedValue({ ...info, delivered: { ...info.delivered, consumer_seq: -1 } });
  expect(await fence.holds()).toBe(false);
  consumerInfo.mockRestore();
});

// No insert may come for hours, and the log would have the fault until then.
it('ends the fault of a look by itself, without another insert', async () => {
  const { events, fault } = notedFault();
  const fence = createFence(bus, {
    stream: 'F',
    consumer: 'c',
    duplicateWindowMs: 0,
    now: () => 1,
    fault,
  });
  await waitFor('the fence holds', 60_000, fence.holds);
  const consumerInfo = vi.spyOn(Object.getPrototypeOf((await bus.manager()).consumers), 'info');
  consumerInfo.mockRejectedValueOnce(new Error('timeout'));
  expect(await fence.holds()).toBe(false);
  await waitFor('the fault has ended', 60_000, () => events.join() === 'worked,failed,worked');
  consumerInfo.mockRestore();
});
