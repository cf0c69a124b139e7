import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { missingTool } from '../support/clients/builds.ts';
import {
  type AlarmWatch,
  createAlarmWatch,
  forgetQuestdbMetrics,
  questdbMetricsPort,
} from '../support/deploy/alarm-watch.ts';
import { prometheusPrograms } from '../support/deploy/prometheus.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

const missing = await missingTool('go');

let folder: string;
let stack: Stack;
let watch: AlarmWatch;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-alarms-'));
  const questdbOps = await questdbMetricsPort();
  stack = await startStack({ hasNatsCluster: true });
  watch = createAlarmWatch(stack, folder, questdbOps);
});
afterAll(async () => {
  await watch?.stop();
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
  forgetQuestdbMetrics();
});

it('every stream and every bucket has three copies on a cluster of three', async () => {
  const bus = await connectBus(stack.engines.nats.url, 'test');
  const manager = await bus.manager();
  const copies = await until('all streams are made', async () => {
    const found: Record<string, number> = {};
    for await (const { config } of manager.streams.list()) found[config.name] = config.num_replicas;
    return Object.keys(found).length >= 8 && found;
  });
  await bus.close();
  expect(new Set(Object.values(copies))).toEqual(new Set([3]));
  expect(Object.keys(copies)).toEqual(
    expect.arrayContaining(['METRICS', 'TRACES', 'LEDGER', 'DEADLETTER', 'AUDIT']),
  );
});

it.skipIf(missing !== undefined)(
  `TidemarkStreamCopies fires while a server is gone, with its wait a sixtieth as long ${missing ?? ''}`,
  async () => {
    await prometheusPrograms();
    await watch.restart({});
    await stack.engines.nats.kill();
    await watch.fires('TidemarkStreamCopies');
    await stack.engines.nats.start();
    await watch.ends('TidemarkStreamCopies');
  },
  1_800_000,
);
