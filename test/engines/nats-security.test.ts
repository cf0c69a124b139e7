import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { loadSettings, type NatsTarget, natsTarget } from '../../src/config/settings.ts';
import { createEngine } from '../../src/embedded/engine.ts';
import { createInstaller } from '../../src/embedded/install.ts';
import { makeAuthority, makeCertificate } from '../support/stack/certificates.ts';
import { createNatsAccount } from '../support/stack/nats-jwt.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

const host = '127.0.0.1';

/** A server with these lines in its configuration; it ends with the test. Answers its port. */
const startServer = async (folder: string, lines: readonly string[]): Promise<number> => {
  const [port = 0] = await takePorts(1);
  const path = join(folder, 'nats.conf');
  const store = `jetstream { store_dir: ${JSON.stringify(join(folder, 'store'))} }`;
  await writeFile(path, [`listen: "${host}:${port}"`, store, ...lines, ''].join('\n'));
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
  await server.start();
  return port;
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
  await expect(use(wrong)).rejects.toMatchObject(unreachable);
  await expect(use(targetOf({ TIDEMARK_NATS_URL: url }))).rejects.toMatchObject(unreachable);
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
