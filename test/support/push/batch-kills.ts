import { setTimeout as delay } from 'node:timers/promises';
import { RetentionPolicy, type StreamConfig } from '@nats-io/jetstream';
import { expect } from 'vitest';
import { createRandom } from '../../../bench/bodies.ts';
import { type BatchMessage, createBatchPublisher } from '../../../src/bus/batch-publisher.ts';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { createPublisher } from '../../../src/bus/publisher.ts';
import { Fault } from '../../../src/model/fault.ts';
import type { TestEngines } from '../stack/engines.ts';
import { waitFor } from '../wait.ts';

/** A work queue that takes batches. */
export const makeStream = async (bus: Bus, name: string, extra: Partial<StreamConfig>): Promise<void> => {
  await (await bus.manager()).streams.add({
    name,
    subjects: [`${name}.>`],
    retention: RetentionPolicy.Workqueue,
    allow_atomic: true,
    duplicate_window: 300_000_000_000,
    ...extra,
  });
};

let requests = 0;
/** Messages of a request of its own. */
export const messagesFor = (stream: string, count: number, bytes = 100): BatchMessage[] => {
  const request = ++requests;
  return Array.from({ length: count }, (_, index) => ({
    subject: `${stream}.0`,
    messageId: `${request}:${index}`,
    payload: Buffer.alloc(bytes, `${request} ${index}, `),
    serial: `${request}.${index + 1}.1`,
  }));
};

type Place = { readonly sequence: number; readonly id: string; readonly serial: string };

/** The messages in a stream, in order. */
export const placesIn = async (bus: Bus, stream: string): Promise<Place[]> => {
  const { streams } = await bus.manager();
  const { state } = await streams.info(stream);
  const places: Place[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq++) {
    const message = await streams.getMessage(stream, { seq }).catch(() => null);
    if (message === null) continue;
    const { header } = message;
    places.push({ sequence: seq, id: header.get('Nats-Msg-Id'), serial: header.get('Tidemark-Serial') });
  }
  return places;
};

/** Ids of the messages in a stream, in order. */
export const storedIn = async (bus: Bus, stream: string): Promise<string[]> =>
  (await placesIn(bus, stream)).map(({ id }) => id);

/** The places of messages of which a publish reported these sequences. */
export const placesOf = (messages: readonly BatchMessage[], sequences: readonly number[]): Place[] =>
  messages.map(({ messageId, serial = '' }, index) => ({
    sequence: sequences[index] ?? 0,
    id: messageId,
    serial,
  }));

export const idsOf = (messages: readonly BatchMessage[]): string[] =>
  messages.map(({ messageId }) => messageId);

/** A deadline. */
export const soon = (ms = 20_000): number => performance.now() + ms;

/** The outcome of a batch, as its sender gets it. */
export const outcome = async (publishing: Promise<unknown>): Promise<string> => {
  try {
    await publishing;
    return 'stored';
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
};

export type KillsOptions = {
  readonly kills: number;
  /** Between a kill and the start after it, ms. */
  readonly pauseMs: number;
  readonly replicas?: number;
};

/**
 * Publishes 200 batches at once, and unstored ones again, while NATS is killed; expects each of them to be in the
 * stream once and whole, or not at all where its sender was informed that it may not be.
 */
export const expectWholeUnderKills = async (
  engines: TestEngines,
  { kills, pauseMs, replicas = 1 }: KillsOptions,
): Promise<void> => {
  const bus = await connectBus(engines.nats.url, 'batches');
  const single = createPublisher(bus, { deadlineMs: 30_000, awayMs: 30_000 });
  const batches = createBatchPublisher(bus, single, { awayMs: 30_000 });
  // What befalls a cluster befalls the server that leads METRICS.
  await waitFor('the stream is made', 60_000, async () => {
    await makeStream(bus, 'METRICS', { num_replicas: replicas });
    return true;
  });
  const random = createRandom(kills);
  const all = Array.from({ length: 200 }, () => messagesFor('METRICS', 2 + Math.floor(random() * 8), 20_000));
  const reported: Place[] = [];
  const told = new Map<readonly BatchMessage[], string>();
  const sendUntilTold = async (messages: readonly BatchMessage[]): Promise<void> => {
    let code = 'not_stored';
    while (code === 'not_stored')
      code = await outcome(
        batches
          .publish({ messages, version: 1, deadlineAt: soon(8_000) })
          .then((sequences) => reported.push(...placesOf(messages, sequences))),
      );
    told.set(messages, code);
  };
  const sending = Promise.all(all.map(sendUntilTold));
  let killed = 0;
  for (; killed < kills && told.size < all.length; killed++) {
    await delay(random() * 60);
    await engines.nats.kill();
    await delay(pauseMs);
    await engines.nats.start();
  }
  await sending;
  expect(killed).toBeGreaterThan(2);
  const places = await waitFor('the stream can be read', 60_000, () => placesIn(bus, 'METRICS'));
  const stored = places.map(({ id }) => id);
  // The publishers' book counts on the sequences, and on the serial of each message.
  expect(places).toEqual(expect.arrayContaining(reported));
  expect(stored.length).toBe(new Set(stored).size);
  for (const [messages, code] of told) {
    const there = idsOf(messages).filter((id) => stored.includes(id)).length;
    const wanted = code === 'stored' ? [messages.length] : [0, messages.length];
    expect(wanted, `${code}, ${there} of ${messages.length}`).toContain(there);
  }
  batches.close();
  single.close();
  await bus.close();
};
