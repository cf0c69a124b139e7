import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { createPublisher, type Publisher } from '../../src/bus/publisher.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

let engines: TestEngines;
let bus: Bus;
let publisher: Publisher;
let losses = 0;

const limitTo = async (text: string, bytes: number): Promise<void> => {
  const path = join(engines.folder, 'nats', 'nats.conf');
  const before = await readFile(path, 'utf8');
  await writeFile(path, before.replace(/^max_payload: .*$/m, `max_payload: ${text}`));
  process.kill(engines.nats.pid ?? 0, 'SIGHUP');
  await until(`a limit of ${text}`, async () => {
    const other = await connectBus(engines.nats.url, 'other');
    const isThere = other.nc.info?.max_payload === bytes;
    await other.close();
    return isThere;
  });
};

beforeAll(async () => {
  engines = await startEngines({ nats: true });
  await limitTo('256KB', 256 * 1024);
  bus = await connectBus(engines.nats.url, 'early');
  bus.onDisconnect(() => losses++);
  publisher = createPublisher(bus, { deadlineMs: 30_000, awayMs: 30_000 });
  const { streams } = await bus.manager();
  await streams.add({ name: 'SIZES', subjects: ['sizes'] });
});

afterAll(async () => {
  publisher?.close();
  await bus?.close();
  await engines?.stop();
});

const publish = (id: string, size: number) => publisher.publish('sizes', id, Buffer.alloc(size), 1);

// A server tells its new limit to new connections alone, and holds it for all of them.
it('what is larger than a lowered max_payload is sent once that is raised, over the connection that was there before', async () => {
  await expect(publish('refused', 300_000)).rejects.toMatchObject({ code: 'message_too_large' });
  await publish('small', 200_000);
  // The refused one has asked: its answer may not come after the change.
  await publisher.askSizeMax();
  await limitTo('8MB', 8 * 2 ** 20);
  expect(publisher.sizeMax).toBe(256 * 1024);
  await until(
    'the limit is known',
    async () => {
      await publisher.askSizeMax();
      return publisher.sizeMax === 8 * 2 ** 20;
    },
    30_000,
  );
  await publish('large', 7 * 2 ** 20);
  expect(losses).toBe(0);
});

it('what is larger than a limit that was lowered under a connection is refused for good, and the others are stored', async () => {
  await limitTo('256KB', 256 * 1024);
  const large = publish('larger', 300_000);
  const small = publish('smaller', 100);
  await expect(large).rejects.toMatchObject({ code: expect.stringMatching(/message_too_large|unconfirmed/) });
  expect((await small).sequence).toBeGreaterThan(0);
  await expect(publish('larger again', 300_000)).rejects.toMatchObject({ code: 'message_too_large' });
  expect(publisher.sizeMax).toBe(256 * 1024);
});
