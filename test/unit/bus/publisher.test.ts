import { headers } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBufferPool } from '../../../src/bus/buffer-pool.ts';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { createPublisher, type Publisher } from '../../../src/bus/publisher.ts';
import { type HeldMessage, type HeldNats, startHeldNats } from '../../support/stack/held-nats.ts';
import { until } from '../../support/until.ts';

let nats: HeldNats;
let bus: Bus;
let publisher: Publisher;

beforeEach(async () => {
  nats = await startHeldNats();
  bus = await connectBus(nats.url, 'test');
  publisher = createPublisher(bus, { deadlineMs: 60_000, awayMs: 60_000 });
});

afterEach(async () => {
  publisher.close();
  await bus.nc.close();
  await nats.stop();
});

/** Bytes that no other message of the test has at these places. */
const payloadOf = (number: number, size: number): Buffer => Buffer.alloc(size, `message ${number}, `);

const received = (count: number) =>
  until(`${count} messages`, () => nats.messages.length >= count && nats.messages.slice(0, count));

const idOf = ({ fields }: HeldMessage): string => /Nats-Msg-Id: ?(\S+)/.exec(fields)?.[1] ?? '';

/** Waits until a message of each of these ids has come. One that waited long for its answer has come more than once. */
const receivedEach = (ids: readonly string[]): Promise<readonly HeldMessage[]> =>
  until(`${ids.length} messages of ids ${ids[0]} to ${ids.at(-1)}`, () => {
    const there = new Set(nats.messages.map(idOf));
    return ids.every((id) => there.has(id)) && [...nats.messages];
  });

const expectOwnBytes = (message: HeldMessage, size: number): void => {
  const id = idOf(message);
  expect(message.payload.equals(payloadOf(Number(id.replace('id-', '')), size)), `bytes of ${id}`).toBe(true);
};

// A sender that gets 503 comes again for ever, and each time waits as long as the deadline.
describe('a message that is larger than NATS takes', () => {
  it('is refused at once and for good, and is not sent', async () => {
    const published = publisher.publish('metrics.0', 'id-1', Buffer.alloc(8 * 2 ** 20), 1);
    await expect(published).rejects.toMatchObject({
      kind: 'permanent',
      code: 'message_too_large',
      message: expect.stringMatching(/^the message has 83886\d\d bytes, the limit of NATS is 8388608$/),
    });
    expect([publisher.pending, nats.messages.length]).toEqual([0, 0]);
  });
});

describe('the bytes sent to NATS', () => {
  // A command that differs by a byte is refused, or ends the connection with everything that waits on it.
  const traced = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  it.each([
    [0, undefined, undefined],
    [1, undefined, '77.1.29668400'],
    [100, traced, undefined],
    [5000, undefined, undefined],
    [31_000, traced, '77.123456.29668400'],
    [700_000, undefined, undefined],
  ])(
    'are those of the client for %i bytes, the trace %s and the serial %s',
    async (size, traceparent, serial) => {
      const payload = payloadOf(1, size);
      const published = publisher.publish('metrics.0', 'id-1', payload, 1, { traceparent, serial });
      const [ours] = await received(1);
      if (ours === undefined) throw new Error('nothing came');
      const head = headers();
      head.set('Nats-Msg-Id', 'id-1');
      head.set('Tidemark-Envelope', '1');
      if (serial !== undefined) head.set('Tidemark-Serial', serial);
      if (traceparent !== undefined) head.set('traceparent', traceparent);
      bus.nc.publish('metrics.0', payload, { reply: ours.reply, headers: head });
      const [, theirs] = await received(2);
      expect(ours).toEqual(theirs);
      nats.confirm(ours, { seq: 41 });
      expect(await published).toEqual({ duplicate: false, wasKnown: false, tries: 1, sequence: 41 });
    },
  );

  it('is the parts of a message one after the other', async () => {
    const parts = [
      payloadOf(1, 3),
      'äöü€😀\ud800',
      payloadOf(2, 20_000),
      payloadOf(3, 0),
      'x'.repeat(20_000),
      '',
    ];
    const published = publisher.publish('metrics.0', 'id-1', parts, 1);
    const [message] = await received(1);
    expect(message?.payload).toEqual(Buffer.concat(parts.map((part) => Buffer.from(part))));
    if (message !== undefined) nats.confirm(message);
    await published;
  });

  // A buffer that is filled again while the system has not taken it yet would store one message under the identity of another.
  it('keeps its bytes until the server has them, however often buffers are used again', async () => {
    const size = 500_000;
    const inTurn = 60;
    for (let turn = 0; turn < 3; turn++) {
      const numbers = Array.from({ length: inTurn }, (_, index) => turn * inTurn + index);
      nats.hold();
      const published = numbers.map((number) =>
        publisher.publish('metrics.0', `id-${number}`, payloadOf(number, size), 1),
      );
      await new Promise((resolve) => setImmediate(resolve));
      nats.release();
      for (const message of await receivedEach(numbers.map((number) => `id-${number}`))) {
        expectOwnBytes(message, size);
        nats.confirm(message);
      }
      await Promise.all(published);
    }
  });

  // After a reconnect a message is under way twice; the answer to the first says nothing of the bytes of the second.
  it('does not use the bytes of a second try again', async () => {
    const size = 500_000;
    // The client sends two and two in one piece that it copies; the last is alone.
    const count = 41;
    const firstIds = Array.from({ length: count }, (_, index) => `id-${index}`);
    const otherIds = Array.from({ length: count }, (_, index) => `id-${count + index}`);
    const publishAll = (from: number): Promise<unknown>[] =>
      Array.from({ length: count }, (_, index) =>
        publisher.publish('metrics.0', `id-${from + index}`, payloadOf(from + index, size), 1),
      );
    const firsts = publishAll(0);
    const messages = await receivedEach(firstIds);
    nats.holdNext();
    nats.disconnect();
    await until('the client is back', () => nats.isHeld);
    for (const message of messages.toReversed()) nats.confirm(message);
    await Promise.all(firsts);
    const others = publishAll(count);
    nats.release();
    const all = await receivedEach(otherIds);
    for (const message of all) expectOwnBytes(message, size);
    const triedAgain = all.slice(messages.length).map(idOf);
    expect(firstIds.filter((id) => !triedAgain.includes(id))).toEqual([]);
    for (const message of all) if (otherIds.includes(idOf(message))) nats.confirm(message);
    await Promise.all(others);
  });
});

// A producer would otherwise wait ten seconds for its 503, and hold its bytes in memory for as long.
it('a publish without a stream fails at once where none is known, and waits for its stream where one is', async () => {
  const choosy = createPublisher(bus, {
    deadlineMs: 60_000,
    awayMs: 60_000,
    hasStream: (subject) => subject === 'metrics.0',
  });
  const unknown = choosy.publish('metrics-zzz.0', 'id-1', payloadOf(1, 10), 1);
  const [first] = await received(1);
  if (first !== undefined) nats.denyResponders(first);
  await expect(unknown).rejects.toMatchObject({ kind: 'transient', code: 'not_stored' });
  const known = choosy.publish('metrics.0', 'id-2', payloadOf(2, 10), 1);
  const [, second] = await received(2);
  if (second !== undefined) nats.denyResponders(second);
  const [, , again] = await received(3);
  if (again !== undefined) nats.confirm(again);
  expect(await known).toMatchObject({ duplicate: false });
  // Of a stream that is there although no setting names it.
  const taken = choosy.publish('metrics-zzz.0', 'id-3', payloadOf(3, 10), 1);
  const [, , , last] = await received(4);
  if (last !== undefined) nats.confirm(last);
  expect(await taken).toMatchObject({ duplicate: false });
  choosy.close();
});

// Each exporter gives up at a time of its own: an answer after it is never seen.
it('a publish fails at the deadline that its caller gives, and later than that by a sweep at most', async () => {
  const startedAt = performance.now();
  const published = publisher.publish('metrics.0', 'id-1', payloadOf(1, 10), 1, {
    deadlineAt: startedAt + 300,
  });
  await expect(published).rejects.toMatchObject({ kind: 'transient', code: 'unconfirmed' });
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeGreaterThanOrEqual(300);
  expect(tookMs).toBeLessThan(5 * 350);
});

// A second try of its own and a message from before are called duplicates alike: only the first answer tells them apart.
it('a publish reports the sequence, the number of its tries and whether the stream knew its id, and each try has its serial', async () => {
  const serial = '77.5.29668400';
  const repeat = publisher.publish('metrics.0', 'id-1', payloadOf(1, 10), 1, { serial });
  const [first] = await received(1);
  if (first !== undefined) nats.confirm(first, { seq: 3, duplicate: true });
  expect(await repeat).toEqual({ duplicate: true, wasKnown: true, tries: 1, sequence: 3 });
  const twice = publisher.publish('metrics.0', 'id-2', payloadOf(2, 10), 1, { serial });
  await received(2);
  nats.disconnect();
  const [, second, third] = await received(3);
  if (third !== undefined) nats.confirm(third, { seq: 4, duplicate: true });
  expect(await twice).toEqual({ duplicate: false, wasKnown: true, tries: 2, sequence: 4 });
  for (const message of [second, third]) expect(message?.fields).toContain(`Tidemark-Serial: ${serial}\r\n`);
});

describe('the pool of buffers', () => {
  it('answers a buffer of the length asked for, and one that was given back before a new one', () => {
    const pool = createBufferPool(2 ** 20);
    const first = pool.take(30_000);
    pool.give(first);
    const second = pool.take(31_000);
    expect(second.length).toBe(31_000);
    expect(second.buffer).toBe(first.buffer);
    expect(pool.take(31_000).buffer).not.toBe(first.buffer);
  });

  it('keeps no more than it may', () => {
    const pool = createBufferPool(70_000);
    const buffers = Array.from({ length: 4 }, () => pool.take(30_000));
    for (const buffer of buffers) pool.give(buffer);
    const again = new Set(Array.from({ length: 4 }, () => pool.take(30_000).buffer));
    expect(buffers.filter(({ buffer }) => again.has(buffer))).toHaveLength(2);
  });

  // The runtime cuts small buffers out of one that others are in.
  it('takes back none that it does not have to itself', () => {
    const pool = createBufferPool(2 ** 20);
    const small = pool.take(100);
    pool.give(small);
    for (const size of [4096, 16_000, 65_000]) expect(pool.take(size).buffer).not.toBe(small.buffer);
  });
});
