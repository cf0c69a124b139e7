import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { lookAtQueue } from '../../src/bus/orphaned-messages.ts';
import { type Delivery, startPuller } from '../../src/bus/puller.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import type { ConsumerDefinition, StreamDefinition } from '../../src/config/pipelines.ts';
import { startOrphanSweep } from '../../src/transfer/orphan-sweep.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';
import { waitFor } from '../support/wait.ts';

const consumer: ConsumerDefinition = {
  name: 'questdb',
  stream: 'METRICS',
  ackWaitMs: 2_000,
  ackPendingMax: 100,
};
const stream: StreamDefinition = {
  name: 'METRICS',
  subjects: ['metrics.>'],
  retention: 'workqueue',
  discard: 'new',
  bytesMax: 2 ** 24,
  duplicateWindowMs: 300_000,
  replicas: 1,
  consumer,
};
const published = 40;
const owed = [11, 39, 40];
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const take = (bus: Bus, onDelivery: (delivery: Delivery) => void) =>
  startPuller(bus, {
    stream: 'METRICS',
    consumer: 'questdb',
    bytesMax: 2 ** 24,
    hasRoom: () => true,
    onDelivery,
    onFault: () => {},
  });

/** Takes everything and acknowledges what is not to be owed; resolves once the server has it so. */
const acknowledge = async (bus: Bus): Promise<void> => {
  const seen = new Set<number>();
  const puller = take(bus, (delivery) => {
    if (!owed.includes(delivery.streamSequence)) delivery.ack();
    seen.add(delivery.streamSequence);
  });
  await until('everything was delivered', () => seen.size === published);
  await puller.stop();
  await waitFor('the stream holds what is owed', 60_000, async () => {
    return (await lookAtQueue(bus, 'METRICS', 'questdb')).messages === owed.length;
  });
};

/**
 * What a kill can leave: the consumer's file with the acknowledgements, the stream's from before them. The kill's timing is luck,
 * so the stream's files are put back by hand.
 */
const forgetRemovals = async (engines: TestEngines, bus: Bus): Promise<void> => {
  const files = join(engines.folder, 'nats/store/jetstream/$G/streams/METRICS/msgs');
  const kept = join(engines.folder, 'msgs-before');
  await engines.nats.kill();
  await cp(files, kept, { recursive: true });
  await engines.nats.start();
  await waitFor('the connection is back', 60_000, () => bus.connected);
  await acknowledge(bus);
  await engines.nats.stop();
  await rm(files, { recursive: true });
  await rename(kept, files);
  await engines.nats.start();
  await waitFor('the connection is back', 60_000, () => bus.connected);
};

// Such messages are never delivered and never leave: the stream fills, and its balances never close.
it('an acknowledged message that NATS kept is removed, and no other message', async () => {
  const engines = await startEngines({ nats: true });
  const bus = await connectBus(engines.nats.url, 'test');
  onTestFinished(async () => {
    await bus.close();
    await engines.stop();
  });
  await ensureTopology(bus, [stream]);
  for (let index = 0; index < published; index++) await bus.js.publish('metrics.0', `point ${index}`);
  await forgetRemovals(engines, bus);
  const look = await lookAtQueue(bus, 'METRICS', 'questdb');
  expect(look).toMatchObject({ messages: published, firstSequence: 1, ackFloor: 10 });
  await bus.js.publish('metrics.0', 'a new point');

  let removed = 0;
  const sweep = startOrphanSweep(bus, {
    consumers: [consumer],
    onRemoved: (_, messages) => {
      removed += messages;
    },
    log: silent,
    intervalMs: 200,
  });
  onTestFinished(() => sweep.stop());
  await until('what lies below the first one that is owed is removed', () => removed === 10);

  const delivered: number[] = [];
  const puller = take(bus, (delivery) => {
    delivered.push(delivery.streamSequence);
    delivery.ack();
  });
  onTestFinished(() => puller.stop());
  await waitFor('the stream is empty', 60_000, async () => {
    return (await lookAtQueue(bus, 'METRICS', 'questdb')).messages === 0;
  });
  expect([...new Set(delivered)].sort((a, b) => a - b)).toEqual([...owed, published + 1]);
  // Those between two that are owed went once the floor had passed them.
  await until('all of them are reported as removed', () => removed >= published - owed.length);
  expect(removed).toBe(published - owed.length);
});
