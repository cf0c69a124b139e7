import { cp, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { headers as newHeaders } from '@nats-io/transport-node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { serialHeader } from '../../src/bus/message-headers.ts';
import { lookAtQueue } from '../../src/bus/orphaned-messages.ts';
import { createPublisher, type Publisher } from '../../src/bus/publisher.ts';
import { type Delivery, startPuller } from '../../src/bus/puller.ts';
import { createStreamReader } from '../../src/bus/stream-reader.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { createElapsed } from '../../src/model/elapsed.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { startOrphanSweep } from '../../src/transfer/orphan-sweep.ts';
import { serialText } from '../../src/wire/message-serial.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';
import { waitFor } from '../support/wait.ts';

const pipelines = loadPipelines(resolve(import.meta.dirname, '../../pipelines'));
const { consumer } = pipelines.metrics;
const ledger = pipelines.ledger.consumer;
const intervalMs = 200;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

type Setting = {
  readonly engines: TestEngines;
  readonly bus: Bus;
  readonly clickhouse: Clickhouse;
  readonly publisher: Publisher;
};

const start = async (): Promise<Setting> => {
  const engines = await startEngines({ nats: true, clickhouse: true }, { hasTables: true });
  const bus = await connectBus(engines.nats.url, 'test');
  const clickhouse = createClickhouse({ url: engines.clickhouse.url });
  const publisher = createPublisher(bus, { deadlineMs: 10_000, awayMs: 5_000 });
  onTestFinished(async () => {
    publisher.close();
    await clickhouse.close();
    await bus.close();
    await engines.stop();
  });
  await ensureTopology(bus, pipelines.streams);
  return { engines, bus, clickhouse, publisher };
};

/** Sweeps from now on, with what it told. */
const sweepIn = ({ bus, clickhouse, publisher }: Setting) => {
  const removed: Record<string, number> = {};
  const stuck: Record<string, number> = {};
  const sweep = startOrphanSweep(bus, {
    ...{ consumers: [consumer, ledger], ledger, clickhouse, publisher, log: silent, intervalMs },
    onRemoved: (stream, messages) => {
      removed[stream] = (removed[stream] ?? 0) + messages;
    },
    onStuck: (stream, messages) => {
      stuck[stream] = messages;
    },
  });
  onTestFinished(() => sweep.stop());
  return { removed, stuck };
};

const take = (bus: Bus, onDelivery: (delivery: Delivery) => void) =>
  startPuller(bus, {
    ...{ stream: consumer.stream, consumer: consumer.name, bytesMax: 2 ** 24 },
    ...{ ackWaitMs: () => consumer.ackWaitMs, elapsed: createElapsed() },
    ...{ hasRoom: () => true, onDelivery, onFault: () => {} },
  });

type Lines = {
  readonly dataId?: number;
  readonly owners?: number;
  readonly life?: number;
  readonly ageSeconds?: number;
};

/** The lines of messages of METRICS as transfer writes them, each for one owner. */
const settle = async (
  { clickhouse }: Setting,
  sequences: readonly number[],
  { dataId = 7, owners = 1, life = 0, ageSeconds = 0 }: Lines = {},
) => {
  const rows = sequences.map(
    (sequence) =>
      `('METRICS', ${life}, now(), ${life === 0 ? 0 : sequence}, ${sequence}, ${dataId}, ${owners}, now() - ${ageSeconds})`,
  );
  await clickhouse.run(
    `INSERT INTO otel.ingest_settled (stream, life, minute, serial, sequence, data_id, owners, at) VALUES ${rows.join()}`,
  );
};

const sequencesIn = async (bus: Bus, stream = 'METRICS'): Promise<number[]> =>
  (await createStreamReader(bus).readForwards(stream, { limit: 1_000 })).entries.map(
    ({ sequence }) => sequence,
  );

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

const publish = async (bus: Bus, messages: number, life?: number): Promise<void> => {
  for (const sequence of upTo(messages)) {
    const headers = newHeaders();
    if (life !== undefined) headers.set(serialHeader, serialText({ life, serial: sequence, minute: 1 }));
    await bus.js.publish('metrics.0', `point ${sequence}`, { headers });
  }
};

/** The consumer goes on behind this sequence, without an ack of the messages up to it. */
const movePast = async (bus: Bus, sequence: number, { stream, name } = consumer): Promise<void> => {
  await (await bus.manager()).consumers.reset(stream, name, sequence + 1);
  await waitFor('the floor is behind them', 60_000, async () => {
    return (await lookAtQueue(bus, stream, name)).ackFloor === sequence;
  });
};

const published = 40;
const owed = [11, 39, 40];

/** Takes everything and acknowledges what is not to be owed; resolves once the server has it so. */
const acknowledge = async (bus: Bus): Promise<void> => {
  const seen = new Set<number>();
  const puller = take(bus, (delivery) => {
    if (!owed.includes(delivery.streamSequence)) delivery.ack();
    seen.add(delivery.streamSequence);
  });
  await until('everything was delivered', () => seen.size === published);
  await puller.stop();
  await waitFor('the stream holds what is owed', 60_000, async () => {
    return (await lookAtQueue(bus, 'METRICS', 'questdb')).messages === owed.length;
  });
};

/**
 * What a kill can leave: the consumer's file with the acknowledgements, the stream's from before them. The kill's timing is luck,
 * so the stream's files are put back by hand.
 */
const forgetRemovals = async (engines: TestEngines, bus: Bus): Promise<void> => {
  const files = join(engines.folder, 'nats/store/jetstream/$G/streams/METRICS/msgs');
  const kept = join(engines.folder, 'msgs-before');
  await engines.nats.kill();
  await cp(files, kept, { recursive: true });
  await engines.nats.start();
  await waitFor('the connection is back', 60_000, () => bus.connected);
  await acknowledge(bus);
  await engines.nats.stop();
  await rm(files, { recursive: true });
  await rename(kept, files);
  await engines.nats.start();
  await waitFor('the connection is back', 60_000, () => bus.connected);
};

// Such messages are never delivered and never leave: the stream fills, and its balances never close.
it('an acknowledged message that NATS kept is removed, and no other message', async () => {
  const setting = await start();
  const { engines, bus } = setting;
  // Redelivered within the test.
  const manager = await bus.manager();
  await manager.consumers.update(consumer.stream, consumer.name, { ack_wait: 2_000_000_000 });
  await publish(bus, published);
  await forgetRemovals(engines, bus);
  await settle(
    setting,
    upTo(published).filter((sequence) => !owed.includes(sequence)),
  );
  const look = await lookAtQueue(bus, 'METRICS', 'questdb');
  expect(look).toMatchObject({ messages: published, firstSequence: 1, ackFloor: 10 });
  await bus.js.publish('metrics.0', 'a new point');

  const { removed } = sweepIn(setting);
  await until('what lies below the first one that is owed is removed', () => removed['METRICS'] === 10);

  const delivered: number[] = [];
  const puller = take(bus, (delivery) => {
    delivered.push(delivery.streamSequence);
    delivery.ack();
  });
  onTestFinished(() => puller.stop());
  await waitFor('the stream is empty', 60_000, async () => {
    return (await lookAtQueue(bus, 'METRICS', 'questdb')).messages === 0;
  });
  expect([...new Set(delivered)].sort((a, b) => a - b)).toEqual([...owed, published + 1]);
  // Those between two that are owed went once the floor had passed them.
  await until(
    'all of them are reported as removed',
    () => (removed['METRICS'] ?? 0) >= published - owed.length,
  );
  expect(removed['METRICS']).toBe(published - owed.length);
});

// Its floor is no proof that anyone stored them.
describe('a consumer that was moved past messages', () => {
  it('loses none that has not the lines of all its owners, and reports those as stuck', async () => {
    const setting = await start();
    const { bus } = setting;
    await publish(bus, 9, 5);
    await settle(setting, [1, 4, 6], { life: 5 });
    await settle(setting, [2], { life: 5, owners: 2 });
    // Of another message that had this sequence once.
    await settle(setting, [3], { life: 4 });
    await movePast(bus, 7);
    const { removed, stuck } = sweepIn(setting);
    await until('the stuck ones are reported', () => stuck['METRICS'] === 4);
    expect(removed['METRICS']).toBe(3);
    expect(await sequencesIn(bus)).toEqual([2, 3, 5, 7, 8, 9]);
    await settle(setting, [2], { life: 5, owners: 2, dataId: 8 });
    await settle(setting, [3, 5, 7], { life: 5 });
    await until('no message is stuck', () => stuck['METRICS'] === 0);
    expect(await sequencesIn(bus)).toEqual([8, 9]);
  });

  it('loses none whose line is older than the message, where messages have no serial', async () => {
    const setting = await start();
    await publish(setting.bus, 2);
    await settle(setting, [1], { ageSeconds: 60 });
    await settle(setting, [2]);
    await movePast(setting.bus, 2);
    const { removed, stuck } = sweepIn(setting);
    await until('the stuck one is reported', () => stuck['METRICS'] === 1);
    expect(removed['METRICS']).toBe(1);
    expect(await sequencesIn(setting.bus)).toEqual([1]);
    // The remedy of docs/stores-in-trouble.md.
    await (await setting.bus.manager()).consumers.reset(consumer.stream, consumer.name, 1);
    const delivered: number[] = [];
    const puller = take(setting.bus, ({ streamSequence, ack }) => {
      delivered.push(streamSequence);
      ack();
    });
    onTestFinished(() => puller.stop());
    await until('it is delivered', () => delivered.length === 1);
    await until('no message is stuck', () => stuck['METRICS'] === 0);
  });

  it('has nothing removed while LEDGER holds lines from before, nor while ClickHouse is away', async () => {
    const setting = await start();
    const { engines, bus } = setting;
    await publish(bus, 3);
    await settle(setting, upTo(3));
    await movePast(bus, 3);
    await bus.js.publish('ledger.settled', 'a line that is not inserted yet');
    let looks = 0;
    const own = await connectBus(engines.nats.url, 'looks');
    onTestFinished(() => own.close());
    own.nc.subscribe('$JS.API.CONSUMER.INFO.METRICS.*', {
      callback: () => {
        looks++;
      },
    });
    const { removed, stuck } = sweepIn(setting);
    await until('six looks', () => looks >= 6);
    expect([removed['METRICS'], stuck['METRICS']]).toEqual([undefined, undefined]);
    await engines.clickhouse.kill();
    await movePast(bus, 1, ledger);
    looks = 0;
    await until('six more looks', () => looks >= 6);
    expect([removed['METRICS'], stuck['METRICS']]).toEqual([undefined, undefined]);
    expect(await sequencesIn(bus)).toEqual([1, 2, 3]);
    await engines.clickhouse.start();
    await until('they are removed', () => removed['METRICS'] === 3);
  });

  // The lines of LEDGER have no lines themselves; once more in ClickHouse they replace themselves.
  it('of LEDGER, has them delivered again', async () => {
    const setting = await start();
    const { bus } = setting;
    for (const text of ['a', 'b', 'c'])
      await setting.publisher.publish('ledger.settled', text, Buffer.from(text), 2);
    await movePast(bus, 2, ledger);
    const { removed } = sweepIn(setting);
    await until('they are moved to the end', () => removed['LEDGER'] === 2);
    const { entries } = await createStreamReader(bus).readForwards('LEDGER', { limit: 10 });
    expect(
      entries.map(({ sequence, subject, headers, payload }) => [
        sequence,
        subject,
        headers.get('Tidemark-Envelope'),
        Buffer.from(payload).toString(),
      ]),
    ).toEqual([
      [3, 'ledger.settled', '2', 'c'],
      [4, 'ledger.settled', '2', 'a'],
      [5, 'ledger.settled', '2', 'b'],
    ]);
  });
});
