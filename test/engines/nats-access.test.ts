import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { expect, it, onTestFinished } from 'vitest';
import { createAccount } from '../../src/embedded/credentials.ts';
import { createInstaller } from '../../src/embedded/install.ts';
import { createNatsEngine, type NatsEngine } from '../../src/embedded/nats.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { waitFor } from '../support/wait.ts';

const host = '127.0.0.1';
const account = createAccount();

const start = async (folder: string, client: number): Promise<NatsEngine> => {
  const engine = createNatsEngine({ folder, host, ports: { client }, log: () => {}, account });
  onTestFinished(() => engine.kill());
  await engine.start();
  return engine;
};

const open = (port: number, ...[user, pass = '']: string[]): Promise<NatsConnection> =>
  connect({ servers: `${host}:${port}`, reconnect: false, ...(user === undefined ? {} : { user, pass }) });

/** The answer of the server to this text. */
const talk = async (port: number, said: string): Promise<string> => {
  const socket = createConnection(port, host);
  onTestFinished(() => {
    socket.destroy();
  });
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(socket, 'connect');
  socket.write(said);
  await waitFor('an answer', 10_000, () => text.includes('-ERR'));
  return text;
};

it('NATS accepts nothing without user and password, and lets the operator do everything', async () => {
  const [port = 0] = await takePorts(1);
  await start(await tempFolder(), port);
  await expect(open(port)).rejects.toThrow(/Authorization Violation/);
  await expect(open(port, account.user, 'wrong')).rejects.toThrow(/Authorization Violation/);
  const direct = 'PUB $JS.API.STREAM.NAMES 0\r\n\r\n';
  expect(await talk(port, `CONNECT {"verbose":false}\r\n${direct}`)).toContain('Authorization Violation');
  // What a page can send.
  expect(await talk(port, `POST / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toContain('-ERR');

  const nc = await open(port, account.user, account.password);
  const manager = await jetstreamManager(nc);
  await manager.streams.add({ name: 'KEPT', subjects: ['kept'] });
  expect((await jetstream(nc).publish('kept', 'x')).seq).toBe(1);
  const inbox = nc.subscribe('_INBOX.>', { max: 1 });
  nc.publish('_INBOX.any', 'y');
  for await (const message of inbox) expect(message.string()).toBe('y');
  await nc.close();
});

it('NATS reports its state without an open port', async () => {
  const [port = 0] = await takePorts(1);
  const engine = await start(await tempFolder(), port);
  expect(await engine.ask('HEALTHZ')).toMatchObject({ status_code: 200 });
  expect(await engine.ask('VARZ')).toMatchObject({ http_port: 0, https_port: 0, port });
});

// Streams without an account are in the one that clients have who name none.
it('NATS finds the streams of a folder that was written before there were passwords', async () => {
  const folder = await tempFolder();
  const [port = 0] = await takePorts(1);
  const configuration = join(folder, 'nats.conf');
  const store = JSON.stringify(join(folder, 'store'));
  await writeFile(
    configuration,
    `listen: "${host}:${port}"\njetstream { store_dir: ${store}, max_file_store: 48GB, max_memory_store: 64MB }\n`,
  );
  const before = spawn(await createInstaller().nats(), ['--config', configuration], { stdio: 'ignore' });
  const ended = once(before, 'exit');
  const old = await waitFor('the server of before', 20_000, () => open(port));
  await (await jetstreamManager(old)).streams.add({ name: 'KEPT', subjects: ['kept'] });
  await jetstream(old).publish('kept', 'x');
  await old.close();
  before.kill('SIGTERM');
  await ended;

  await start(folder, port);
  const nc = await open(port, account.user, account.password);
  expect((await (await jetstreamManager(nc)).streams.info('KEPT')).state.messages).toBe(1);
  await nc.close();
});
