import { AckPolicy, RetentionPolicy } from '@nats-io/jetstream';
import { headers as newHeaders } from '@nats-io/transport-node';
import type { LookDependencies } from '../../../src/account/look.ts';
import type { Bus } from '../../../src/bus/connection.ts';
import { serialHeader } from '../../../src/bus/message-headers.ts';
import { pointPayload } from '../push/point-messages.ts';

export const itemsPerMessage = 2;

/** Stores that say nothing to a look. */
export const silentStores: LookDependencies['stores'] = {
  look: async () => ({
    ...{ differences: [], compared: [], isLeftOut: () => false },
    ...{ waitedMs: 0, readMs: 0, isNextSoon: false },
  }),
  unrecorded: async () => ({ rows: new Map(), waitedMs: 0 }),
};

/** Makes a stream with items as metadata does: each message is there until the consumer has acknowledged it. */
export const makeWorkQueue = async (bus: Bus, name: string, consumer: string): Promise<void> => {
  const { streams, consumers } = await bus.manager();
  const retention = RetentionPolicy.Workqueue;
  await streams.add({ name, subjects: [`${name}.>`], allow_direct: true, retention });
  await consumers.add(name, { durable_name: consumer, ack_policy: AckPolicy.Explicit });
};

/** Makes the stream of dead letters. */
export const makeDeadLetters = async (bus: Bus): Promise<void> => {
  const { streams } = await bus.manager();
  await streams.add({ name: 'DEADLETTER', subjects: ['deadletter.>'], allow_direct: true });
};

/** A message in the publishers' book: `base` names its record. */
type Booked = {
  readonly dataId: number;
  readonly life: number;
  readonly serial: number;
  readonly minute: number;
  readonly base: number;
};

/** Publishes a message of points as a receiver does. */
export const publishBooked = async (
  bus: Bus,
  stream: string,
  { dataId, life, serial, minute, base }: Booked,
): Promise<void> => {
  const payload = pointPayload({ dataId, table: 't', rows: itemsPerMessage, base }, Buffer.from('ab'));
  const headers = newHeaders();
  headers.set(serialHeader, `${life}.${serial}.${minute / 60}`);
  headers.set('Tidemark-Envelope', '1');
  await bus.js.publish(`${stream}.0`, payload, { headers });
};
