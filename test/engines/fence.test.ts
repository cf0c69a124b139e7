import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { createFence } from '../../src/transfer/fence.ts';
import { startEngines, type TestEngines } from '../support/engines.ts';
import { waitFor } from '../support/wait.ts';

let engines: TestEngines;
let bus: Bus;
beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'fence');
  await (await bus.manager()).streams.add({ name: 'F', subjects: ['f.>'] });
});
afterAll(async () => {
  await bus.close();
  await engines.stop();
});

// A server that was killed may have forgotten what it delivered: what was in the stream before is never taken for new.
it('clears only what came after the last connect, and only once a duplicate window has passed', async () => {
  let now = 1_000_000;
  for (let count = 0; count < 3; count++) await bus.js.publish('f.x', 'before');
  const fence = createFence(bus, {
    stream: 'F',
    duplicateWindowMs: 300_000,
    now: () => now,
    onFault: () => {},
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
