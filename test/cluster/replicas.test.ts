import { expect, it, onTestFinished } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { startStack } from '../support/stack/stack.ts';
import { until } from '../support/until.ts';

it('every stream and every bucket has three copies on a cluster of three', async () => {
  const stack = await startStack({ hasNatsCluster: true });
  onTestFinished(() => stack.stop());
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
