// The server of the stand-in for ClickHouse's image: takes the variables of the official one, and serves the library.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { askClickhouse, configurationFiles, markQuery } from '../../../src/embedded/clickhouse-command.ts';

const folder = '/var/lib/clickhouse';
const port = 8123;
const { CLICKHOUSE_USER: user = 'default', CLICKHOUSE_PASSWORD: password = '', CLICKHOUSE_DB } = process.env;

const xmlText = (text: string): string => text.replace(/[<>&]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const account = (name: string, secret: string, networks: string, more = ''): string =>
  `<${name}><password>${xmlText(secret)}</password><networks>${networks}</networks><profile>default</profile><quota>default</quota>${more}</${name}>`;

// The library's own session is `default`: only from within this container.
const loopback = '<ip>127.0.0.1</ip><ip>::1</ip>';
const users = [
  account('default', '', loopback),
  user === 'default'
    ? ''
    : account(user, password, '<ip>::/0</ip>', '<access_management>1</access_management>'),
].join('');
const everything = `<clickhouse><profiles><default/></profiles><quotas><default/></quotas><users>${users}</users></clickhouse>`;

const options = { mode: 0o600 };
writeFileSync(
  join(folder, configurationFiles.server),
  `<clickhouse><users_config>${configurationFiles.users}</users_config></clickhouse>`,
  options,
);
writeFileSync(join(folder, configurationFiles.users), everything, options);
// Files beside each of the two are merged into it: those of the official image's folders.
for (const [file, from] of [
  [configurationFiles.server, 'config.d'],
  [configurationFiles.users, 'users.d'],
] as const) {
  const merged = join(folder, file.replace(/xml$/, 'd'));
  rmSync(merged, { recursive: true, force: true });
  const given = `/etc/clickhouse-server/${from}`;
  if (existsSync(given)) symlinkSync(given, merged);
}

const mark = `tidemark-${randomUUID()}`;
const serving = { library: '/usr/lib/libchdb.so', folder, host: '0.0.0.0', port, mark, isUnconfined: true };
const script = fileURLToPath(new URL('../../../src/embedded/clickhouse-server.ts', import.meta.url));
const server = spawn(process.execPath, [script, JSON.stringify(serving)], {
  stdio: ['pipe', 'inherit', 'inherit'],
});
server.stdin.write(`${JSON.stringify({ user, password })}\n`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => server.kill(signal));
server.once('close', (code) => process.exit(code ?? 137));

const target = { host: '127.0.0.1', port, account: { user, password } };
const makeDatabase = async (): Promise<void> => {
  const isServing = await askClickhouse(target, markQuery(mark)).then(
    (count) => count === '1',
    () => false,
  );
  if (!isServing) {
    setTimeout(() => void makeDatabase(), 100);
    return;
  }
  if (CLICKHOUSE_DB !== undefined)
    await askClickhouse(target, `CREATE DATABASE IF NOT EXISTS ${CLICKHOUSE_DB}`);
};
void makeDatabase();
