import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { adminWithoutRecords } from '../support/outcomes/dead-letter-admin.ts';
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

/** From the second direct read on, the answer is that of a replica that does not have the message yet. */
const answerLate = (): void => {
  const publish = bus.nc.publish.bind(bus.nc);
  let reads = 0;
  bus.nc.publish = (subject, payload, options) => {
    const isLate = subject === '$JS.API.DIRECT.GET.DEADLETTER' && ++reads > 1;
    publish(subject, isLate ? JSON.stringify({ seq: 1_000_000 }) : payload, options);
  };
};

it('a redrive of a dead letter that a replica does not have yet publishes it, and does not remove it unread', async () => {
  const { streams } = await bus.manager();
  await streams.add({ name: 'METRICS', subjects: ['metrics.>'], allow_direct: true });
  await streams.add({ name: 'DEADLETTER', subjects: ['deadletter.>'], allow_direct: true });
  await plantDeadLetters(bus, 1);
  const admin = await adminWithoutRecords(bus);
  answerLate();
  const letter = await admin.get(1);
  if (letter === undefined) throw new Error('no dead letter');
  await admin.redrive(letter);
  expect((await streams.info('METRICS')).state.messages).toBe(1);
  expect((await streams.info('DEADLETTER')).state.messages).toBe(0);
});
