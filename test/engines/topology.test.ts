import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { loadPipelines, type StreamDefinition } from '../../src/config/pipelines.ts';
import { startEngines, type TestEngines } from '../support/engines.ts';

const root = resolve(import.meta.dirname, '../..');
const { streams } = loadPipelines(join(root, 'pipelines'), join(root, 'schemas'));

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

const changed = (stream: StreamDefinition): StreamDefinition => ({
  ...stream,
  bytesMax: stream.bytesMax / 2,
  ...(stream.consumer === undefined
    ? {}
    : { consumer: { ...stream.consumer, ackWaitMs: 12_000, ackPendingMax: 77 } }),
});

// A role that cannot bring a consumer to its definition never starts: every change of an ack wait would be an outage.
it('streams and consumers that are there follow their definition, and keep their messages and positions', async () => {
  await ensureTopology(bus, streams);
  for (const text of ['first', 'second']) await bus.js.publish('metrics.0', text);
  const consumer = await bus.js.consumers.get('METRICS', 'questdb');
  await (await consumer.next())?.ackAck();
  await ensureTopology(bus, streams.map(changed));
  await Promise.all([ensureTopology(bus, streams.map(changed)), ensureTopology(bus, streams.map(changed))]);
  const manager = await bus.manager();
  for (const { name, consumer: durable, bytesMax } of streams) {
    expect((await manager.streams.info(name)).config.max_bytes).toBe(bytesMax / 2);
    if (durable === undefined) continue;
    const { config } = await manager.consumers.info(name, durable.name);
    expect([config.ack_wait, config.max_ack_pending]).toEqual([12_000_000_000, 77]);
  }
  expect((await consumer.next())?.string()).toBe('second');
});
