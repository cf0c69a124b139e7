import { AckPolicy, RetentionPolicy } from '@nats-io/jetstream';
import { expect, it, onTestFinished } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { type Delivery, startPuller } from '../../src/bus/puller.ts';
import { createElapsed } from '../../src/model/elapsed.ts';
import { startEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

const messageBytes = 64 * 1024;
const pullBytesMax = 1024 * 1024;
const heldBytesMax = 2 * pullBytesMax;
const messages = 200;

// A backlog is larger than memory: the worker takes only as much as it releases, at any pace of the store.
it('a worker that lets go of one message at a time never holds more than its bound and one pull', async () => {
  const engines = await startEngines({ nats: true });
  const bus = await connectBus(engines.nats.url, 'test');
  onTestFinished(async () => {
    await bus.close();
    await engines.stop();
  });
  const manager = await bus.manager();
  await manager.streams.add({ name: 'S', subjects: ['s'], retention: RetentionPolicy.Workqueue });
  await manager.consumers.add('S', { durable_name: 'c', ack_policy: AckPolicy.Explicit });
  for (let index = 0; index < messages; index++) await bus.js.publish('s', new Uint8Array(messageBytes));

  const held: Delivery[] = [];
  let most = 0;
  let settled = 0;
  const puller = startPuller(bus, {
    stream: 'S',
    consumer: 'c',
    bytesMax: pullBytesMax,
    ackWaitMs: () => 30_000,
    elapsed: createElapsed(),
    hasRoom: () => held.length * messageBytes < heldBytesMax,
    onDelivery: (delivery) => {
      held.push(delivery);
      most = Math.max(most, held.length * messageBytes);
    },
    onFault: () => {},
  });
  onTestFinished(() => puller.stop());
  await until('every message is settled', () => {
    const [delivery] = held.splice(0, 1);
    if (delivery === undefined) return settled === messages;
    delivery.ack();
    settled++;
    puller.roomMade();
    return false;
  });
  expect(most).toBeLessThanOrEqual(heldBytesMax + pullBytesMax);
  expect(most).toBeGreaterThan(pullBytesMax);
});
