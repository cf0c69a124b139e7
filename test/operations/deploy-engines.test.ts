import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, type NatsConnection, PermissionViolationError } from '@nats-io/transport-node';
import { expect, it, onTestFinished } from 'vitest';
import type { EngineAccount } from '../../src/config/engine-credentials.ts';
import { configurationFiles } from '../../src/embedded/clickhouse-command.ts';
import { basicAuthorization } from '../../src/embedded/credentials.ts';
import { createInstaller } from '../../src/embedded/install.ts';
import { filledEnvironment, service } from '../support/deploy/compose.ts';
import { deployFolder } from '../support/deploy/dashboards.ts';
import { rawRequest } from '../support/http/raw-request.ts';
import { takePorts } from '../support/stack/ports.ts';
import { wireQuery } from '../support/stack/postgres-wire.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { waitFor } from '../support/wait.ts';

// The images are not at hand: their programs are, and are given what deploy/ gives them.
const host = '127.0.0.1';
const installer = createInstaller();

const running = (child: ChildProcess): ChildProcess => {
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  return child;
};

const variable = (name: string, of: string): string => {
  const value = filledEnvironment(of)[name];
  if (value === undefined) throw new Error(`${of} has no ${name}`);
  return value;
};

/** The account in the address by which roles reach an engine. */
const roleAccount = (name: string): EngineAccount => {
  const { username: user, password } = new URL(variable(name, 'ingress'));
  return { user, password };
};

/** The subject that the server refuses next. */
const firstRefusal = async (nc: NatsConnection): Promise<string | undefined> => {
  for await (const status of nc.status())
    if (status.type === 'error' && status.error instanceof PermissionViolationError)
      return status.error.subject;
  return undefined;
};

it('NATS of deploy/ accepts each role by its own password, with its rights alone, and is visible only inside its container', async () => {
  const folder = await tempFolder();
  const [client = 0, monitor = 0] = await takePorts(2);
  const path = join(folder, 'nats.conf');
  const text = await readFile(join(deployFolder, 'nats/nats.conf'), 'utf8');
  const changed = text
    .replace('0.0.0.0:4222', `${host}:${client}`)
    .replace('127.0.0.1:8222', `${host}:${monitor}`)
    .replace('"/data"', JSON.stringify(join(folder, 'store')));
  await writeFile(path, changed);
  await copyFile(join(deployFolder, 'nats/users.conf'), join(folder, 'users.conf'));
  expect(changed).not.toMatch(/0\.0\.0\.0/);
  expect(service('nats').ports).toEqual([]);
  const server = await installer.nats();
  const roles = ['ingress', 'transfer', 'metadata', 'operator'] as const;
  const passwords = Object.fromEntries(
    roles.map((role) => [role, new URL(variable('TIDEMARK_NATS_URL', role)).password]),
  );
  const filled = Object.entries(filledEnvironment('nats'));
  // Also one that its configuration would take for a number.
  for (const other of [undefined, '0123456789', '12e']) {
    const env = Object.fromEntries(
      filled.map(([name, value]) => [name, other === undefined ? value : `"${other}"`]),
    );
    const child = running(spawn(server, ['--config', path], { env, stdio: 'ignore' }));
    const open = (user: string, pass = other ?? passwords[user] ?? '') =>
      connect({ servers: `${host}:${client}`, user, pass, reconnect: false });
    for (const role of roles) {
      const nc = await waitFor('the server answers', 20_000, () => open(role));
      await nc.flush();
      const refused = firstRefusal(nc);
      nc.publish('$JS.API.STREAM.DELETE.METRICS');
      expect(await refused).toBe('$JS.API.STREAM.DELETE.METRICS');
      await nc.close();
      await expect(open(role, '')).rejects.toThrow(/Authorization Violation/);
    }
    const health = await waitFor('it is healthy', 20_000, () => fetch(`http://${host}:${monitor}/healthz`));
    expect(health.status).toBe(200);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
});

it('QuestDB of deploy/ is guarded: who may do all, who reads, and names of others', async () => {
  const folder = await tempFolder();
  const [http = 0, pg = 0, health = 0] = await takePorts(3);
  const { java, jar, guard } = await installer.questdb();
  const args = (service('questdb').command ?? []).map((each) =>
    each.replaceAll('/var/lib/questdb', folder).replaceAll(/^\/guard\/questdb-guard\.jar$/g, guard),
  );
  const child = running(
    spawn(java, ['-p', jar, ...args], {
      env: {
        // Not the options of Java that tests set: they name another collector.
        PATH: process.env['PATH'],
        ...filledEnvironment('questdb'),
        QDB_HTTP_BIND_TO: `${host}:${http}`,
        QDB_PG_NET_BIND_TO: `${host}:${pg}`,
        QDB_HTTP_MIN_NET_BIND_TO: `${host}:${health}`,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    }),
  );
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  // The request of its health check, and a probe by the address of a pod.
  await waitFor('its health check passes', 60_000, async () => {
    if (child.exitCode !== null) throw new Error(errors);
    const { status } = await rawRequest(`http://${host}:${health}/status`, { host: '10.1.2.3:9003' });
    return status === 200;
  });
  // Prometheus has no credentials of QuestDB.
  const figures = await rawRequest(`http://${host}:${health}/metrics`, { host: 'questdb:9003' });
  expect([figures.status, String(figures.body)]).toEqual([200, expect.stringMatching(/^questdb_/m)]);
  const operator = roleAccount('TIDEMARK_QUESTDB_URL');
  const reader = {
    user: variable('QUESTDB_PG_USER', 'grafana'),
    password: variable('QUESTDB_PG_PASSWORD', 'grafana'),
  };
  const exec = async (account: EngineAccount | undefined, sql: string, headers = {}): Promise<number> => {
    const authorization = account === undefined ? {} : { authorization: basicAuthorization(account) };
    const url = `http://${host}:${http}/exec?query=${encodeURIComponent(sql)}`;
    return (await rawRequest(url, { host: 'questdb:9000', ...authorization, ...headers })).status;
  };
  expect(await exec(undefined, 'SELECT 1')).toBe(401);
  expect(await exec(operator, 'CREATE TABLE kept (n LONG)')).toBe(200);
  expect(await exec(reader, 'SELECT * FROM kept')).toBe(200);
  expect(await exec(reader, 'DROP TABLE kept')).toBeGreaterThanOrEqual(400);
  expect(await exec(operator, 'SELECT 1', { host: 'evil.example' })).toBe(403);
  expect(await exec(operator, 'SELECT 1', { origin: 'http://evil.example' })).toBe(403);
  const wire = (account: EngineAccount, sql: string) =>
    wireQuery({ port: pg, ...account, database: 'qdb' }, sql);
  expect((await wire(reader, 'SELECT count() FROM kept')).rows).toEqual([['0']]);
  await expect(wire(reader, 'DROP TABLE kept')).rejects.toThrow(/denied/);
  await expect(wire({ user: 'admin', password: 'quest' }, 'SELECT 1')).rejects.toThrow(/invalid/);
});

const baseUsers = `<clickhouse>
  <profiles><default/></profiles>
  <quotas><default/></quotas>
  <users><default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
</clickhouse>`;

it('ClickHouse of deploy/ has a user that reads within limits, by the password of its environment', async () => {
  const folder = await tempFolder();
  const [port = 0] = await takePorts(1);
  const drops = join(folder, 'users.d');
  await mkdir(drops);
  const reader = {
    user: variable('CLICKHOUSE_USER', 'grafana'),
    password: variable('CLICKHOUSE_PASSWORD', 'grafana'),
  };
  await writeFile(
    join(folder, configurationFiles.server),
    '<clickhouse><users_config>users.xml</users_config></clickhouse>',
  );
  await writeFile(join(folder, 'users.xml'), baseUsers);
  await writeFile(
    join(drops, 'tidemark.xml'),
    await readFile(join(deployFolder, 'clickhouse/users.xml'), 'utf8'),
  );
  const script = fileURLToPath(new URL('../../src/embedded/clickhouse-server.ts', import.meta.url));
  const serving = {
    library: await installer.clickhouse(),
    folder,
    host,
    port,
    mark: randomUUID(),
    isUnconfined: false,
  };
  const child = running(
    spawn(process.execPath, [script, JSON.stringify(serving)], {
      env: { CLICKHOUSE_READONLY_PASSWORD: variable('CLICKHOUSE_READONLY_PASSWORD', 'clickhouse') },
      stdio: ['pipe', 'ignore', 'ignore'],
    }),
  );
  child.stdin?.write(`${JSON.stringify({ user: 'default', password: '' })}\n`);
  const ask = (sql: string, account: EngineAccount = reader, query = '') =>
    rawRequest(
      `http://${host}:${port}/${query}`,
      { authorization: basicAuthorization(account) },
      { method: 'POST', body: sql },
    );
  const first = await waitFor('it answers', 30_000, () => ask('SELECT currentUser()'));
  expect(first).toEqual({ status: 200, body: `${reader.user}\n` });
  expect((await ask('SELECT 1', { ...reader, password: 'wrong' })).status).toBe(403);
  for (const sql of ['CREATE TABLE t (n Int8) ENGINE = Memory', "SELECT * FROM url('http://127.0.0.1:1/')"])
    expect((await ask(sql)).body).toMatch(/ACCESS_DENIED|READONLY/);
  expect((await ask('SELECT * FROM numbers(2e9) FORMAT Null')).body).toMatch(/TOO_MANY_ROWS/);
  expect((await ask('SELECT 1', reader, '?max_rows_to_read=0')).body).toMatch(/SETTING_CONSTRAINT_VIOLATION/);
  expect((await ask('SELECT 1', reader, '?max_execution_time=10&max_threads=2')).status).toBe(200);
});
