import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { type HeldNats, startHeldNats } from '../../support/stack/held-nats.ts';

afterEach(() => {
  vi.useRealTimers();
});

const connected = async (servers: readonly HeldNats[]): Promise<Bus> => {
  const bus = await connectBus(servers.map(({ url }) => url).join(','), 'test');
  onTestFinished(async () => {
    await bus.close();
    for (const server of servers) await server.stop();
  });
  return bus;
};

const currentOf = (bus: Bus, servers: readonly HeldNats[]): HeldNats => {
  const found = servers.find(({ url }) => url.endsWith(`:${bus.nc.getServer().split(':')[1]}`));
  if (found === undefined) throw new Error(`no server ${bus.nc.getServer()}`);
  return found;
};

const returned = (bus: Bus): Promise<void> =>
  new Promise((resolve) => {
    bus.onReconnect(resolve);
  });

/** The wall clock of this process, an hour late and without motion. */
const setBack = (): void => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
};

// The client compares its last try with the wall clock: for an hour, each process was ready and had no connection.
it('a lost connection is back at once although the wall clock was set back', async () => {
  const server = await startHeldNats();
  const bus = await connected([server]);
  setBack();
  for (let loss = 0; loss < 3; loss++) {
    const back = returned(bus);
    server.disconnect();
    await back;
  }
  expect(bus.connected).toBe(true);
});

it('a lost connection finds another server although the wall clock was set back', async () => {
  const servers = [await startHeldNats(), await startHeldNats()];
  const bus = await connected(servers);
  // So that the client has tried both of them under the clock of before.
  const met = new Set([currentOf(bus, servers)]);
  while (met.size < servers.length) {
    const back = returned(bus);
    currentOf(bus, servers).disconnect();
    await back;
    met.add(currentOf(bus, servers));
  }
  setBack();
  const lost = currentOf(bus, servers);
  const back = returned(bus);
  await lost.stop();
  await back;
  expect(currentOf(bus, servers)).not.toBe(lost);
});
