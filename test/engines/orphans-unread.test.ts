import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { createPublisher } from '../../src/bus/publisher.ts';
import { createDeadLetters } from '../../src/dead-letters/dead-letters.ts';
import { createOrphans } from '../../src/dead-letters/orphans.ts';
import { textOfMessage } from '../../src/outcomes/record-reader.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

let engines: TestEngines;
let bus: Bus;
let metadata: Bus;

beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'test');
  metadata = await connectBus(engines.asUser(engines.nats.url, 'metadata'), 'metadata');
  const { streams } = await bus.manager();
  const names = ['METRICS', 'METRICS-z', 'LEDGER', 'DEADLETTER'];
  for (const name of names)
    await streams.add({ name, subjects: [`${name.toLowerCase()}.>`], allow_direct: true });
  const publisher = createPublisher(bus, { deadlineMs: 10_000, awayMs: 5_000 });
  const deadLetters = createDeadLetters(publisher);
  for (const [index, stream] of ['METRICS-z', 'METRICS', 'METRICS-z'].entries())
    await deadLetters.put(
      `letter-${index}`,
      {
        ...({ version: 1, reason: 'row_refused', error: 'no', subject: `${stream}.0`, redrive: 0 } as const),
        ...{ stream, streamSequence: 1, items: 1, dataId: 1_500_001, at: Date.now(), ordinal: 0 },
        outcome: { base: String(index), first: 0, minute: new Date().toISOString() },
      },
      Buffer.from(`item ${index}`),
    );
  publisher.close();
});
afterAll(async () => {
  await metadata?.close();
  await bus?.close();
  await engines?.stop();
});

// The list of dead letters and the account must not fail for one stream of many.
it('a letter whose stream the process may not read is no orphan, and those of other streams are reported all the same', async () => {
  const stored = {
    ...{ isStanding: true, received: 1, outcomes: new Map([['stored', 1]]), open: [], deadLettered: 0 },
    unnamed: 0,
  };
  const found = await createOrphans({
    bus: metadata,
    readAccounts: async (messages) => new Map(messages.map((each) => [textOfMessage(each), stored])),
    isBegun: async () => false,
    now: () => Date.now() + 300_000,
  }).findOrphans(10);
  expect(found.orphans.map(({ sequence, stream }) => [sequence, stream])).toEqual([[2, 'METRICS']]);
});
