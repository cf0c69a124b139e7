import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AuthorizationError } from '@nats-io/transport-node';
import { expect, it, onTestFinished } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { openRoleBus } from '../../src/bus/role-bus.ts';
import { loadSettings, type NatsTarget, natsTarget } from '../../src/config/settings.ts';
import { createEngine } from '../../src/embedded/engine.ts';
import { createInstaller } from '../../src/embedded/install.ts';
import { runRole } from '../../src/runtime/run-role.ts';
import { makeAuthority, makeCertificate } from '../support/stack/certificates.ts';
import { createNatsAccount } from '../support/stack/nats-jwt.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { until } from '../support/until.ts';

const host = '127.0.0.1';

/** A server that ends with the test. It can be started again with other lines in its configuration. */
const openServer = async (folder: string) => {
  const [port = 0] = await takePorts(1);
  const path = join(folder, 'nats.conf');
  const store = `jetstream { store_dir: ${JSON.stringify(join(folder, 'store'))} }`;
  const server = createEngine(
    { host, log: () => {} },
    {
      name: 'nats',
      url: `nats://${host}:${port}`,
      ports: [{ port, variable: '', purpose: 'NATS clients' }],
      prepare: async () => ({ command: await createInstaller().nats(), args: ['--config', path] }),
      listening: /Server is ready/,
      answers: async () => true,
    },
  );
  onTestFinished(() => server.kill());
  const startWith = async (lines: readonly string[]): Promise<void> => {
    await server.kill();
    await writeFile(path, [`listen: "${host}:${port}"`, store, ...lines, ''].join('\n'));
    await server.start();
  };
  return { port, startWith, kill: () => server.kill() };
};

/** A server with these lines in its configuration. Answers its port. */
const startServer = async (folder: string, lines: readonly string[]): Promise<number> => {
  const { port, startWith } = await openServer(folder);
  await startWith(lines);
  return port;
};

/** Counts what happens to a connection. */
const follow = (bus: Bus) => {
  const seen: { losses: number; returns: number; refusedAt: number[] } = {
    losses: 0,
    returns: 0,
    refusedAt: [],
  };
  bus.onDisconnect(() => seen.losses++);
  bus.onReconnect(() => seen.returns++);
  const readStatus = async (): Promise<void> => {
    for await (const status of bus.nc.status())
      if (status.type === 'error' && status.error instanceof AuthorizationError)
        seen.refusedAt.push(performance.now());
  };
  void readStatus();
  return seen;
};

/** What roles do first: connect, make a bucket, write and read. */
const use = async (target: NatsTarget): Promise<unknown> => {
  const bus = await connectBus(target, 'test');
  try {
    const bucket = await openKvBucket(bus, 'b');
    await bucket.put('k', 1);
    return (await bucket.get('k'))?.value;
  } finally {
    await bus.close();
  }
};

const targetOf = (env: NodeJS.ProcessEnv): NatsTarget => natsTarget(loadSettings(env));

const unreachable = { kind: 'transient', code: 'nats_unreachable' };

it('a server with TLS is reached with the configured authority, and not without trust in it', async () => {
  const folder = await tempFolder();
  const authority = makeAuthority(folder, 'authority');
  const { certFile, keyFile } = makeCertificate(folder, 'server', authority);
  const files = `cert_file: ${JSON.stringify(certFile)}, key_file: ${JSON.stringify(keyFile)}`;
  const port = await startServer(folder, [`tls { ${files} }`]);
  const url = `tls://${host}:${port}`;
  expect(await use(targetOf({ TIDEMARK_NATS_URL: url, TIDEMARK_NATS_CA_FILE: authority.certFile }))).toBe(1);
  const stranger = makeAuthority(folder, 'stranger');
  const wrong = targetOf({ TIDEMARK_NATS_URL: url, TIDEMARK_NATS_CA_FILE: stranger.certFile });
  const untrusted = {
    ...unreachable,
    message: expect.stringMatching(/^no answer from NATS at .*certificate/),
  };
  await expect(use(wrong)).rejects.toMatchObject(untrusted);
  await expect(use(targetOf({ TIDEMARK_NATS_URL: url }))).rejects.toMatchObject(untrusted);
});

it('an account is used with its credentials file, which is read at each connection', async () => {
  const folder = await tempFolder();
  const { configuration, credentials } = createNatsAccount();
  const port = await startServer(folder, [configuration]);
  const file = join(folder, 'role.creds');
  await writeFile(file, createNatsAccount().credentials);
  const target = targetOf({
    TIDEMARK_NATS_URL: `nats://${host}:${port}`,
    TIDEMARK_NATS_CREDENTIALS_FILE: file,
  });
  const refused = await use(target).catch((error: unknown) => error);
  expect(refused).toMatchObject({ kind: 'transient', code: 'nats_unauthorized' });
  await rm(file);
  await expect(use(target)).rejects.toMatchObject({
    ...unreachable,
    message: expect.stringContaining(`ENOENT: no such file or directory, open '${file}'`),
  });
  await writeFile(file, credentials);
  expect(await use(target)).toBe(1);
  const seed = credentials.split('\n').find((line) => line.startsWith('SU')) ?? 'none';
  expect(JSON.stringify(refused)).not.toContain(seed);
});

it('of several addresses one that answers is enough', async () => {
  const folder = await tempFolder();
  const port = await startServer(folder, []);
  const [away = 0] = await takePorts(1);
  const url = `nats://${host}:${away},nats://${host}:${port}`;
  expect(await use(targetOf({ TIDEMARK_NATS_URL: url }))).toBe(1);
  const nobody = targetOf({ TIDEMARK_NATS_URL: `nats://${host}:${away}` });
  await expect(use(nobody)).rejects.toMatchObject(unreachable);
});

const userLine = (password: string): string =>
  `authorization { users: [{ user: "role", password: "${password}" }] }`;

it('a connection returns once NATS accepts its user again, however often it was refused', async () => {
  const server = await openServer(await tempFolder());
  await server.startWith([userLine('right')]);
  const bus = await connectBus(`nats://role:right@${host}:${server.port}`, 'test');
  onTestFinished(() => bus.close());
  const seen = follow(bus);
  await server.startWith([userLine('other')]);
  await until('two refusals', () => seen.refusedAt.length >= 2);
  const [first = 0, second = 0] = seen.refusedAt;
  // The client keeps memory for each refused try until the return.
  expect(second - first).toBeGreaterThan(2_500);
  expect(bus.connected).toBe(false);
  expect(bus.notAccepted).toContain('does not accept the user: check TIDEMARK_NATS_URL');
  await server.startWith([userLine('right')]);
  await until('the connection', () => bus.connected);
  const before = seen.refusedAt.length;
  await server.startWith([userLine('other')]);
  await until('a third refusal', () => seen.refusedAt.length > before);
  await server.startWith([userLine('right')]);
  await until('the connection', () => bus.connected);
  await bus.nc.flush();
  expect(seen).toMatchObject({ losses: 2, returns: 2 });
  expect(bus.notAccepted).toBeUndefined();
});

it('a connection returns with the last credentials while their file is being replaced', async () => {
  const folder = await tempFolder();
  const { configuration, credentials } = createNatsAccount();
  const server = await openServer(folder);
  await server.startWith([configuration]);
  const file = join(folder, 'role.creds');
  await writeFile(file, credentials);
  const url = `nats://${host}:${server.port}`;
  const bus = await connectBus({ url, credentialsFile: file, replicas: undefined }, 'test');
  onTestFinished(() => bus.close());
  for (const breakFile of [() => writeFile(file, '-----BEGIN NATS'), () => rm(file)]) {
    await server.kill();
    await until('the loss', () => !bus.connected);
    await breakFile();
    await server.startWith([configuration]);
    await until('the connection', () => bus.connected);
    await bus.nc.flush();
  }
});

it('a new password in the file of the address is taken at the next connection, and the last one while the file is half written', async () => {
  const folder = await tempFolder();
  const server = await openServer(folder);
  await server.startWith([userLine('first')]);
  const file = join(folder, 'url');
  const url = (password: string): string => `nats://role:${password}@${host}:${server.port}`;
  await writeFile(file, `${url('first')}\n`);
  const bus = await connectBus(targetOf({ TIDEMARK_NATS_URL_FILE: file }), 'test');
  onTestFinished(() => bus.close());
  const returnsWith = async (password: string, text: string): Promise<void> => {
    await server.kill();
    await until('the loss', () => !bus.connected);
    await writeFile(file, text);
    await server.startWith([userLine(password)]);
    await until('the connection', () => bus.connected);
    await bus.nc.flush();
  };
  await returnsWith('second', `${url('second')}\n`);
  for (const half of ['', 'nats://ro', 'nats://role:sec', url('%')]) await returnsWith('second', half);
  await returnsWith('third', `${url('third')},nats://${host}:1\n`);
});

it('a role ends with an error when its connection to NATS is closed for ever', async () => {
  const port = await startServer(await tempFolder(), []);
  const settings = loadSettings({ TIDEMARK_NATS_URL: `nats://${host}:${port}` });
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const opened = Promise.withResolvers<Bus>();
  const running = runRole({ name: 'role', log, stop: new AbortController().signal }, async (parts, stop) =>
    opened.resolve(await openRoleBus('transfer', { settings, log }, parts, stop)),
  );
  const bus = await opened.promise;
  await Promise.all([
    expect(running).rejects.toMatchObject({ kind: 'transient', code: 'nats_closed' }),
    bus.nc.close(),
  ]);
});
