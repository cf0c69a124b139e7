import { AckPolicy } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startAckWait } from '../../src/bus/ack-wait.ts';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type Delivery, startPuller } from '../../src/bus/puller.ts';
import { createFence } from '../../src/transfer/blocks/fence.ts';
import { createHeldMessages } from '../../src/transfer/held-messages.ts';
import { notedFault } from '../support/lasting-faults.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

const stream = 'A';
const name = 'c';
/** What the manifest says, and what the consumer still has. */
const [raisedMs, appliedMs] = [600_000, 2_000];

let engines: TestEngines;
let bus: Bus;
beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'test');
  const { streams, consumers } = await bus.manager();
  await streams.add({ name: stream, subjects: ['a.>'] });
  await consumers.add(stream, {
    ...{ durable_name: name, ack_policy: AckPolicy.Explicit, ack_wait: nanos(appliedMs) },
  });
});
afterAll(async () => {
  await bus?.close();
  await engines?.stop();
});

const setAckWait = async (ms: number): Promise<void> => {
  await (await bus.manager()).consumers.update(stream, name, { ack_wait: nanos(ms) });
};

const ackWaitOf = (elapsed = performance.now.bind(performance)) => {
  const ackWait = startAckWait(bus, { stream, name, ackWaitMs: raisedMs }, elapsed);
  onTestFinished(() => ackWait.stop());
  return ackWait;
};

// Operators give transfer a raised ack wait first: until metadata applies it, NATS goes by the old one, and so must what decides on the guard.
it('a message is kept alive by the ack wait that the consumer has, where the manifest has a longer one', async () => {
  const ackWait = ackWaitOf();
  const elapsed = performance.now.bind(performance);
  const held = createHeldMessages<undefined>({
    ...{ ackWaitMs: ackWait.now, rowsPerWriteMax: 1, elapsed, onBytes: () => {} },
  });
  const deliveries: Delivery[] = [];
  const puller = startPuller(bus, {
    ...{
      stream,
      consumer: name,
      bytesMax: 1_024,
      ackWaitMs: ackWait.now,
      whenReady: ackWait.whenRead,
      elapsed,
    },
    ...{ hasRoom: () => true, onFault: () => {} },
    onDelivery: (delivery) => {
      deliveries.push(delivery);
      held.add({
        ...{ delivery, touchedAt: elapsed(), takenAt: elapsed(), rows: 1, bytes: 1 },
        envelope: undefined,
      });
    },
  });
  const keepAlive = setInterval(held.keepAlive, appliedMs / 8);
  onTestFinished(async () => {
    clearInterval(keepAlive);
    await puller.stop();
  });
  await bus.js.publish('a.x', 'held');
  await until('it is delivered', () => deliveries.length > 0);
  const heldSince = elapsed();
  await until('it was held for twice the ack wait', () => elapsed() - heldSince > 2 * appliedMs);
  expect(deliveries.map(({ redelivered }) => redelivered)).toEqual([false]);
  deliveries[0]?.ack();
});

it('a shorter ack wait of the consumer counts at once, at the look before an insert too, and a longer one not for messages held before', async () => {
  let now = 0;
  const ackWait = ackWaitOf(() => now);
  await ackWait.whenRead;
  expect(ackWait.now()).toBe(appliedMs);
  const { fault } = notedFault();
  const fence = createFence(bus, {
    ...{ stream, consumer: name, duplicateWindowMs: 0, now: () => 1, fault, onAckWait: ackWait.note },
  });
  await until('the fence holds', fence.holds);
  await setAckWait(60_000);
  await fence.holds();
  expect(ackWait.now()).toBe(appliedMs);
  now = 30_000;
  await fence.holds();
  expect(ackWait.now()).toBe(60_000);
  await setAckWait(appliedMs);
  await fence.holds();
  expect(ackWait.now()).toBe(appliedMs);
  await setAckWait(2 * raisedMs);
  await fence.holds();
  now += raisedMs;
  await fence.holds();
  expect(ackWait.now()).toBe(raisedMs);
});
