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

/** Points of these data ids come by streams of their own. */
const ofPoints = new Map([
  [1, 'METRICS-gone'],
  [2, 'METRICS-halted'],
  [3, 'METRICS-away'],
]);

/** Of whom everything is recorded, where the rows of these data ids and of the traces of an application differ. */
const caughtUp = async (...dataIds: readonly number[]): Promise<number[]> => {
  const streamOf = (pipeline: string, owner: number): string =>
    pipeline === 'metrics' ? (ofPoints.get(owner) ?? '') : 'TRACES';
  const isCaughtUp = await createCaughtUp({
    bus,
    accounted: ['TRACES', ...ofPoints.values()].map((name) => ({ name, consumer })),
    ledger: { name: 'LEDGER', consumer },
    ...{ streamOf, signal: stop.signal, msMax: 500 },
  })([
    ...dataIds.map((owner) => ({ pipeline: 'metrics', owner }) as const),
    { pipeline: 'traces', owner: 9 },
  ]);
  return [
    ...dataIds.filter((owner) => isCaughtUp('metrics', owner)),
    ...(isCaughtUp('traces', 9) ? [9] : []),
  ];
};

describe('a comparison of the stores', () => {
  it('waits for nothing in a stream that NATS has no room for', async () => {
    expect(await caughtUp(1)).toEqual([1, 9]);
  });

  it('takes what waits in a stream without its consumer for under way, and nothing else', async () => {
    await makeStream('METRICS-halted', false);
    expect(await caughtUp(1, 2)).toEqual([1, 2, 9]);
    await bus.js.publish('METRICS-halted.0', new Uint8Array([1]));
    expect(await caughtUp(1, 2)).toEqual([1, 9]);
  });

  it('calls rows without a record of the others unrecorded while messages wait for an instance that is away', async () => {
    await makeStream('METRICS-away');
    await bus.js.publish('METRICS-away.0', new Uint8Array([1]));
    expect(await caughtUp()).toEqual([9]);
    expect(await caughtUp(3)).toEqual([9]);
  });

  it('takes what waits in LEDGER for under way, of every owner', async () => {
    await bus.js.publish('LEDGER.0', new Uint8Array([1]));
    expect(await caughtUp(1)).toEqual([]);
  });
});
