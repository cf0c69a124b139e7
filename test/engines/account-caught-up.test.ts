import { AckPolicy, RetentionPolicy } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCaughtUp } from '../../src/account/caught-up.ts';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

const consumer = 'c';
const stop = new AbortController();
let engines: TestEngines;
let bus: Bus;

const makeStream = async (name: string, hasConsumer = true): Promise<void> => {
  const manager = await bus.manager();
  await manager.streams.add({ name, subjects: [`${name}.>`], retention: RetentionPolicy.Workqueue });
  if (hasConsumer)
    await manager.consumers.add(name, { durable_name: consumer, ack_policy: AckPolicy.Explicit });
};

beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'caught-up');
  for (const name of ['TRACES', 'LEDGER']) await makeStream(name);
});
afterAll(async () => {
  stop.abort();
  await bus?.close();
  await engines?.stop();
});

/** Whether everything is recorded, where these streams are accounted for. */
const isCaughtUp = (...names: readonly string[]): Promise<boolean> =>
  createCaughtUp({
    bus,
    ...{ accounted: names.map((name) => ({ name, consumer })), ledger: { name: 'LEDGER', consumer } },
    ...{ signal: stop.signal, msMax: 500 },
  })();

describe('a comparison of the stores', () => {
  it('waits for nothing in a stream that NATS has no room for', async () => {
    expect(await isCaughtUp('TRACES', 'METRICS-gone')).toBe(true);
  });

  it('takes what waits in a stream without its consumer for under way', async () => {
    await makeStream('METRICS-halted', false);
    expect(await isCaughtUp('METRICS-halted')).toBe(true);
    await bus.js.publish('METRICS-halted.0', new Uint8Array([1]));
    expect(await isCaughtUp('METRICS-halted')).toBe(false);
  });
});
