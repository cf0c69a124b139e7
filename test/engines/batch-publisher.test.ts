import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BatchPublisher, createBatchPublisher } from '../../src/bus/batch-publisher.ts';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { createPublisher, type Publisher } from '../../src/bus/publisher.ts';
import {
  expectWholeUnderKills,
  idsOf,
  makeStream,
  messagesFor,
  outcome,
  placesIn,
  placesOf,
  soon,
  storedIn,
} from '../support/push/batch-kills.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { untilPaused } from '../support/stack/until-paused.ts';

describe('a batch', () => {
  let bus: Bus;
  let single: Publisher;
  let batches: BatchPublisher;
  let engines: TestEngines;
  beforeAll(async () => {
    engines = await startEngines({ nats: true });
    bus = await connectBus(engines.nats.url, 'batches');
    single = createPublisher(bus, { deadlineMs: 30_000, awayMs: 30_000 });
    // Far more at once than the server takes.
    batches = createBatchPublisher(bus, single, { awayMs: 30_000, underWayMax: 200 });
  });
  afterAll(async () => {
    batches?.close();
    single?.close();
    await bus?.close();
    await engines?.stop();
  });

  it('is stored in order, whole, as separate messages', async () => {
    await makeStream(bus, 'ORDER', {});
    const messages = messagesFor('ORDER', 5);
    await single.publish('ORDER.0', 'before', Buffer.from('x'), 1);
    const sequences = await batches.publish({ messages, version: 1, deadlineAt: soon() });
    expect(sequences).toEqual([2, 3, 4, 5, 6]);
    expect((await placesIn(bus, 'ORDER')).slice(1)).toEqual(placesOf(messages, sequences));
    const { streams } = await bus.manager();
    const third = await streams.getMessage('ORDER', { seq: 4 });
    expect(Buffer.from(third?.data ?? [])).toEqual(messages[2]?.payload);
  });

  it('that the stream has no room for is stored not at all', async () => {
    await makeStream(bus, 'FULL', { max_bytes: 3_000, discard: 'new' });
    const fitting = messagesFor('FULL', 2, 400);
    await batches.publish({ messages: fitting, version: 1, deadlineAt: soon() });
    const large = messagesFor('FULL', 10, 400);
    expect(await outcome(batches.publish({ messages: large, version: 1, deadlineAt: soon() }))).toBe(
      'not_stored',
    );
    expect(await storedIn(bus, 'FULL')).toEqual(idsOf(fitting));
  });

  it('for a stream that takes none is stored not at all', async () => {
    await makeStream(bus, 'PLAIN', { allow_atomic: false });
    const messages = messagesFor('PLAIN', 3);
    expect(await outcome(batches.publish({ messages, version: 1, deadlineAt: soon(1_000) }))).toBe(
      'not_stored',
    );
    expect(await storedIn(bus, 'PLAIN')).toEqual([]);
  });

  // A server whose disk was full in the middle of a commit may have kept a part: a known id does not prove the others.
  it('of which a part is stored already is stored whole', async () => {
    await makeStream(bus, 'PART', {});
    const messages = messagesFor('PART', 4);
    const [first, second] = messages;
    for (const message of [first, second]) {
      if (message === undefined) continue;
      const { subject, messageId, payload, serial } = message;
      await single.publish(subject, messageId, payload, 1, { serial });
    }
    const sequences = await batches.publish({ messages, version: 1, deadlineAt: soon() });
    const places = placesOf(messages, sequences).toSorted((a, b) => a.sequence - b.sequence);
    expect(await placesIn(bus, 'PART')).toEqual(places);
  });

  it('waits for its turn where the server has too many under way', async () => {
    await makeStream(bus, 'MANY', {});
    const all = Array.from({ length: 200 }, () => messagesFor('MANY', 3));
    const outcomes = await Promise.all(
      all.map((messages) => outcome(batches.publish({ messages, version: 1, deadlineAt: soon() }))),
    );
    expect(new Set(outcomes)).toEqual(new Set(['stored']));
    expect((await storedIn(bus, 'MANY')).toSorted()).toEqual(all.flatMap(idsOf).toSorted());
  });

  // It may be stored once the server goes on: the sender must not take it for lost.
  it('without an answer in time is reported as unconfirmed only if its last message was sent', async () => {
    await makeStream(bus, 'HANG', {});
    engines.nats.pause();
    await untilPaused(engines.nats.pid ?? 0);
    const messages = messagesFor('HANG', 3);
    const told = await outcome(batches.publish({ messages, version: 1, deadlineAt: soon(300) }));
    engines.nats.resume();
    expect(told).toBe('not_stored');
    await single.publish('HANG.0', 'after', Buffer.from('x'), 1);
    expect(await storedIn(bus, 'HANG')).toEqual(['after']);
  });
});

describe.each(['process', 'power'] as const)(
  '200 batches at once while NATS is killed (%s)',
  (durability) => {
    it('are each stored whole or not at all as answered, and repeated until they are stored, once', async () => {
      const engines = await startEngines({ nats: true }, { durability });
      try {
        await expectWholeUnderKills(engines, { kills: 8, pauseMs: 0 });
      } finally {
        await engines.stop();
      }
    });
  },
);
