import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { buckets } from '../../src/directory/keys.ts';
import { adminOn } from '../support/outcomes/dead-letter-admin.ts';
import { plantDeadLetters } from '../support/outcomes/dead-letters.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

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

// It could be neither redriven nor purged.
it('a redrive that was begun comes to its end, although the setting lacks the instance of its stream by now', async () => {
  const { streams } = await bus.manager();
  await streams.add({ name: 'METRICS', subjects: ['metrics.>'], allow_direct: true });
  await streams.add({ name: 'DEADLETTER', subjects: ['deadletter.>'], allow_direct: true });
  await plantDeadLetters(bus, 2);
  const claims = await openKvBucket(bus, buckets.system);
  const admin = adminOn(bus, claims, undefined, { isRead: () => false });
  await claims.create('dead_letter.1', { action: 'redrive', at: 1 });
  const [begun, other] = [await admin.get(1), await admin.get(2)];
  if (begun === undefined || other === undefined) throw new Error('no dead letters');
  for (const act of [admin.checkRedrive(other), admin.redrive(other)])
    await expect(act).rejects.toMatchObject({ code: 'not_redrivable' });
  await admin.checkRedrive(begun);
  await admin.redrive(begun);
  expect((await streams.info('METRICS')).state.messages).toBe(1);
  expect(await admin.get(1)).toBeUndefined();
});
