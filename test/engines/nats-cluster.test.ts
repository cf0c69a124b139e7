import { connect, createServer } from 'node:net';
import { resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { openRoleBus } from '../../src/bus/role-bus.ts';
import { watchStreams } from '../../src/bus/stream-watch.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { lookAtStreams } from '../../src/doctor/dependencies.ts';
import type { Parts } from '../../src/runtime/run-role.ts';
import { makeAuthority, makeCertificate } from '../support/stack/certificates.ts';
import { createNatsCluster, type ServerPorts } from '../support/stack/nats-cluster.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { until } from '../support/until.ts';

const host = '127.0.0.1';

/** Three servers that name each other to their clients. Ends with the test. */
const startCluster = async (lines: readonly string[]) => {
  const folder = await tempFolder();
  const all = await takePorts(9);
  const ports = [0, 3, 6].map((at): ServerPorts => {
    const [client = 0, monitor = 0, route = 0] = all.slice(at);
    return { client, monitor, route };
  });
  const cluster = createNatsCluster(folder, ports, () => {}, { isAdvertised: true, lines });
  onTestFinished(cluster.end);
  await cluster.start();
  const [first, ...others] = cluster.servers;
  if (first === undefined) throw new Error('there are no servers');
  return { first, others, ports };
};

const user = ['authorization { users: [{ user: "role", password: "right" }] }'];

/** A relay that counts the connections to a port. */
const startRelay = async (to: number) => {
  let count = 0;
  const relay = createServer((socket) => {
    count++;
    const out = connect(to, host);
    for (const each of [socket, out]) each.on('error', () => {});
    socket.pipe(out).pipe(socket);
  });
  const [port = 0] = await takePorts(1);
  await new Promise<void>((resolve) => relay.listen(port, host, resolve));
  onTestFinished(() => void relay.close());
  return { port, count: () => count };
};

const urlOf = (password: string, ports: readonly number[]): string =>
  ports.map((port) => `nats://role:${password}@${host}:${port}`).join();

const refused = { kind: 'transient', code: 'nats_unauthorized' };

// The servers name each other to the client, which dialled them for ever, 500 times a second, and never ended.
it('a cluster that refuses the user refuses a first connection once it was asked at each address', async () => {
  const { first, ports } = await startCluster(user);
  const [{ client } = { client: 0 }] = ports;
  const relay = await startRelay(client);
  await expect(connectBus(urlOf('wrong', [relay.port]), 'test')).rejects.toMatchObject(refused);
  expect(relay.count()).toBe(1);
  // No server is there at the second address.
  const [away = 0] = await takePorts(1);
  await expect(connectBus(urlOf('wrong', [client, away]), 'test')).rejects.toMatchObject(refused);
  await first.kill();
  await expect(
    connectBus(
      urlOf(
        'wrong',
        ports.map((each) => each.client),
      ),
      'test',
    ),
  ).rejects.toMatchObject(refused);
});

it('a role of a user that the cluster refuses has the reason in its check and its log, and ends at its signal', async () => {
  const { ports } = await startCluster(user);
  const settings = loadSettings({ TIDEMARK_NATS_URL: urlOf('wrong', [ports[0]?.client ?? 0]) });
  const stop = new AbortController();
  const told: unknown[] = [];
  const waits: string[] = [];
  const parts: Parts = { add: () => {}, together: () => parts, broke: () => {} };
  const log = { info: () => {}, warn: (fields: object, text: string) => void told.push({ ...fields, text }) };
  const ended = new Error('told to end');
  const opening = openRoleBus('ingress', { settings, log }, parts, stop.signal, (why) => {
    waits.push(why);
    if (waits.length === 3) stop.abort(ended);
  });
  await expect(opening).rejects.toBe(ended);
  const text = 'does not accept the user: check TIDEMARK_NATS_URL';
  for (const why of waits) expect(why).toContain(text);
  expect(told).toEqual([{ error: expect.stringContaining(text), text: 'waiting for NATS' }]);
});

it('a cluster of which one server is down is reached at the others, and again after they were away', async () => {
  const { first, others, ports } = await startCluster(user);
  await first.kill();
  const all = ports.map(({ client }) => client);
  const bus = await connectBus(urlOf('right', all), 'test');
  onTestFinished(() => bus.close());
  await bus.nc.flush();
  const back = new Promise<void>((resolve) => bus.onReconnect(resolve));
  // Both: it may be connected to either.
  await Promise.all(others.map((server) => server.kill()));
  await Promise.all(others.map((server) => server.start()));
  await back;
  await bus.nc.flush();
});

it('a cluster that refuses the handshake of TLS refuses a first connection, too', async () => {
  const folder = await tempFolder();
  const authority = makeAuthority(folder, 'authority');
  const { certFile, keyFile } = makeCertificate(folder, 'server', authority);
  const files = [
    `cert_file: ${JSON.stringify(certFile)}`,
    `key_file: ${JSON.stringify(keyFile)}`,
    `ca_file: ${JSON.stringify(authority.certFile)}`,
  ];
  // It asks for a certificate of the client, and refuses after the handshake seems over to the client.
  const { ports } = await startCluster([`tls { ${files.join(', ')}, verify: true }`]);
  const url = `tls://${host}:${ports[0]?.client}`;
  const settings = { url, caFile: authority.certFile, replicas: undefined };
  await expect(connectBus(settings, 'test')).rejects.toMatchObject({
    kind: 'transient',
    code: 'nats_unreachable',
  });
});

// All roles were ready, with nothing degraded, while each request was refused.
it('streams without a quorum are a problem of the watch until a server leads them, and doctor names the servers that are missing', async () => {
  const { others, ports } = await startCluster([]);
  const bus = await connectBus(`nats://${host}:${ports[0]?.client}`, 'test');
  onTestFinished(() => bus.close());
  const { streams: all } = loadPipelines(resolve(import.meta.dirname, '../../pipelines'), 3);
  const streams = all.filter(({ name }) => name === 'AUDIT');
  await until('the stream is made', async () => {
    const refused = await ensureTopology(bus, streams).catch(() => undefined);
    return refused?.size === 0;
  });
  const told: string[] = [];
  const log = {
    error: (_: object, text: string) => void told.push(text),
    info: (_: object, text: string) => void told.push(text),
  };
  const watch = watchStreams(bus, { streams, hasConsumers: false, log, everyMs: 2 ** 30 });
  onTestFinished(watch.stop);
  await watch.look();
  expect(watch.problem).toBeUndefined();
  await Promise.all(others.map((server) => server.kill()));
  await until('looks fail', async () => {
    await watch.look();
    return watch.problem;
  });
  expect(watch.problem).toMatch(/^the streams cannot be looked at: /);
  const finding = (await lookAtStreams(bus, streams)).at(-1);
  expect(finding).toMatchObject({ name: 'stream AUDIT', ok: false });
  expect(finding?.remedy).toContain('Not enough NATS servers run');
  expect(finding?.remedy).not.toContain('Restart metadata');
  await Promise.all(others.map((server) => server.start()));
  await until('a look works', async () => {
    await watch.look();
    return watch.problem === undefined;
  });
  expect(told).toEqual(['the streams cannot be looked at', 'the streams can be looked at again']);
});

// "No suitable peers for placement" named no setting.
it('more copies than there are servers are refused with the setting and both numbers', async () => {
  const { ports } = await startCluster([]);
  const [{ client } = { client: 0 }] = ports;
  const bus = await connectBus({ url: `nats://${host}:${client}`, replicas: 5 }, 'test');
  onTestFinished(() => bus.close());
  const why = /start more, or lower TIDEMARK_NATS_REPLICAS \(5 copies; NATS names 3 servers\)$/;
  const { streams } = loadPipelines(resolve('pipelines'), 5);
  await expect(ensureTopology(bus, streams)).rejects.toThrow(why);
  await expect(openKvBucket(bus, 'copies')).rejects.toThrow(why);
  // Nor can those of a bucket be raised.
  await openKvBucket({ ...bus, replicas: 3 }, 'copies');
  await expect(openKvBucket(bus, 'copies')).rejects.toThrow(why);
  // Of a disk without room the words of NATS say so.
  const ofThree = loadPipelines(resolve('pipelines'), 3).streams;
  const large = ofThree.map((stream) => ({ ...stream, bytesMax: 1e15 }));
  await expect(ensureTopology(bus, large)).rejects.toThrow(/insufficient storage \(10005\)$/);
});
