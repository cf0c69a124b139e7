import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { withPausedConsumers } from '../../src/bus/consumer-pause.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { lookAtStreams } from '../../src/doctor/dependencies.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

const { streams } = loadPipelines(join(resolve(import.meta.dirname, '../..'), 'pipelines'));

let engines: TestEngines;
let bus: Bus;
beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'test');
  await ensureTopology(bus, streams);
});
afterAll(async () => {
  await bus?.close();
  await engines?.stop();
});

const traces = async (): Promise<string | undefined> =>
  (await lookAtStreams(bus, streams)).find(({ name }) => name === 'stream TRACES')?.detail;

// A killed backup leaves it for up to three minutes, and an operator who asks why nothing is stored saw a healthy stream.
it('doctor says of a stream whose consumer is paused until when that is', async () => {
  expect(await traces()).not.toContain('paused');
  const paused = await withPausedConsumers(bus, 'TRACES', traces);
  expect(paused).toMatch(/its consumer is paused until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*, as during a backup/);
  expect(await traces()).not.toContain('paused');
});
