import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { headers as newHeaders } from '@nats-io/transport-node';
import { expect, it, onTestFinished } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { startPuller } from '../../src/bus/puller.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { putBack } from '../../src/cli/streams-backup/put-back.ts';
import { takeBackup } from '../../src/cli/streams-backup/take.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { createElapsed } from '../../src/model/elapsed.ts';
import { startEngines } from '../support/stack/engines.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { until } from '../support/until.ts';

const root = resolve(import.meta.dirname, '../..');
const pipelines = loadPipelines(join(root, 'pipelines'));

const messageBytes = 64 * 1024;
/** About a hundred MB, which the server keeps in files of 4 MB: each leaves once its last message is acknowledged, the last has room. */
const backlog = 1_650;
const burst = 50;

/** A NATS of its own, empty; each call of the answer is a connection to it. */
const emptyNats = async (): Promise<() => Promise<Bus>> => {
  const engines = await startEngines({ nats: true });
  onTestFinished(() => engines.stop());
  return async () => {
    const bus = await connectBus(engines.nats.url, 'test');
    onTestFinished(() => bus.close());
    return bus;
  };
};

/** Bytes that the server cannot pack: a copy takes as long as one of real messages. */
const payload = (number: number): Buffer =>
  createHash('shake256', { outputLength: messageBytes }).update(String(number)).digest();

/** Publishes and remembers what was acknowledged: the number of a message is its stream sequence. */
const createProducer = (bus: Bus) => {
  const acknowledged = new Set<number>();
  let made = 0;
  const publishOne = async (): Promise<void> => {
    const headers = newHeaders();
    headers.set('Tidemark-Envelope', '1');
    acknowledged.add((await bus.js.publish('metrics.0', payload(++made), { headers })).seq);
  };
  const publishBurst = () => Promise.all(Array.from({ length: burst }, publishOne));
  return {
    acknowledged,
    burst: publishBurst,
    fill: async (): Promise<void> => {
      while (acknowledged.size < backlog) await publishBurst();
    },
  };
};

/**
 * Takes messages as transfer does: it acknowledges each after it has stored it, in the order of the stream. It stops
 * after the first half of the backlog, until it may continue: a fast one would leave nothing for the backup.
 */
const createWorker = (bus: Bus) => {
  const stored = new Set<number>();
  let storedMax = backlog / 2;
  const faults: unknown[] = [];
  const puller = startPuller(bus, {
    stream: 'METRICS',
    consumer: 'questdb',
    bytesMax: 8 * messageBytes,
    ackWaitMs: () => 30_000,
    elapsed: createElapsed(),
    hasRoom: () => stored.size < storedMax,
    onDelivery: (delivery) => {
      stored.add(delivery.streamSequence);
      delivery.ack();
    },
    onFault: (fault) => faults.push(fault),
  });
  const goOn = (): void => {
    storedMax = Number.POSITIVE_INFINITY;
    puller.roomMade();
  };
  return { stored, faults, goOn, stop: () => puller.stop() };
};

/** The same connection, on which `before` is awaited before each message of a subscription. */
const held = (bus: Bus, before: (count: number) => Promise<void>): Bus => {
  let count = 0;
  const subscribe: Bus['nc']['subscribe'] = (subject, options) => {
    const subscription = bus.nc.subscribe(subject, options);
    const messages = async function* () {
      for await (const message of subscription) {
        await before(++count);
        yield message;
      }
    };
    return Object.create(subscription, { [Symbol.asyncIterator]: { value: messages } });
  };
  return { ...bus, connected: bus.connected, nc: Object.create(bus.nc, { subscribe: { value: subscribe } }) };
};

const sequencesOf = async (bus: Bus, stream: string): Promise<Set<number>> => {
  const found = new Set<number>();
  const manager = await bus.manager();
  const { num_deleted: deleted, ...state } = (await manager.streams.info(stream, { deleted_details: true }))
    .state;
  const gone = new Set(state.deleted ?? []);
  expect(gone.size).toBe(deleted ?? 0);
  for (let sequence = state.first_seq; sequence <= state.last_seq; sequence++)
    if (!gone.has(sequence)) found.add(sequence);
  return found;
};

// The server does not freeze a stream while it copies it: files that leave meanwhile would take others out of the copy with them.
it('a backup under load holds all that was acknowledged before it and not stored, and can be restored', async () => {
  const connect = await emptyNats();
  const bus = await connect();
  await ensureTopology(bus, pipelines.streams);
  const producer = createProducer(await connect());
  await producer.fill();
  const worker = createWorker(await connect());
  await until('the worker works', () => worker.stored.size > 0);
  const before = new Set(producer.acknowledged);

  // As slow as over a network: this many messages are published and, if the worker gets any, stored between two pieces.
  let published = 0;
  const slow = held(await connect(), async (count) => {
    if (count % 10 !== 0 || published === 10 * burst) return;
    await producer.burst();
    published += burst;
    const least = worker.stored.size + 30;
    await until('the worker goes on', () => worker.stored.size >= least, 100).catch(() => undefined);
  });
  const folder = join(await tempFolder(), 'backup');
  let stored = new Set<number>();
  await takeBackup(slow, pipelines, folder, ({ stream }) => {
    if (stream === 'METRICS') stored = new Set(worker.stored);
  });
  expect(published).toBe(10 * burst);
  worker.goOn();
  await until(
    'the worker goes on and empties the stream',
    () => worker.stored.size === producer.acknowledged.size,
  );
  await worker.stop();

  const fresh = await (await emptyNats())();
  await putBack(fresh, folder, () => undefined);
  const copied = await sequencesOf(fresh, 'METRICS');
  expect([...before].filter((sequence) => !stored.has(sequence) && !copied.has(sequence))).toEqual([]);
  // One unbroken run: no file of the stream is missing.
  expect(copied.size).toBe(Math.max(...copied) - Math.min(...copied) + 1);
  expect(worker.faults).toEqual([]);
  // Otherwise the copy would not have been tested at all.
  expect(stored.size).toBeLessThan(before.size);
});
