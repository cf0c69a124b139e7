import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DatabaseAccounts } from '../../src/config/engine-credentials.ts';
import { basicAuthorization } from '../../src/embedded/credentials.ts';
import { rawRequest } from '../support/http/raw-request.ts';
import type { ClickhouseNames } from '../support/stack/clickhouse-ways-out.ts';
import {
  type Account,
  type ConfinedClickhouse,
  host,
  startConfinedClickhouse,
} from '../support/stack/confined-clickhouse.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

let on: ConfinedClickhouse;
let ask: ConfinedClickhouse['ask'];
let accounts: DatabaseAccounts;
let reader: Account;
let port: number;

beforeAll(async () => {
  on = await startConfinedClickhouse();
  ({ ask, accounts, reader, port } = on);
});
afterAll(() => on?.stop());

/** What the server's process has open, by the name below /proc. */
const openFiles = (): { readonly name: string; readonly target: string }[] => {
  const pid = /^PID: (\d+)$/m.exec(readFileSync(join(on.folder, 'status'), 'utf8'))?.[1];
  return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return [{ name, target: readlinkSync(`/proc/${pid}/fd/${name}`) }];
    } catch {
      return [];
    }
  });
};

const rawStatus = async (headers: Record<string, string>): Promise<number> =>
  (
    await rawRequest(
      `http://${host}:${port}/`,
      { authorization: basicAuthorization(accounts), ...headers },
      { method: 'POST', body: 'SELECT 1' },
    )
  ).status;

/** Of each kind those that are known to lead out of a ClickHouse that is not confined; `make test-upkeep` has every name there is. */
const knownWays: ClickhouseNames = {
  tableFunctions: [
    'file',
    'url',
    'executable',
    'sqlite',
    's3',
    'remote',
    'mysql',
    'hdfs',
    'azureBlobStorage',
  ],
  tableEngines: ['File', 'URL', 'SQLite', 'EmbeddedRocksDB', 'Executable', 'S3', 'Distributed', 'NATS'],
  databaseEngines: ['Filesystem', 'SQLite', 'MySQL'],
  functions: ['file', 'catboostEvaluate', 'dictGet'],
};

describe('the embedded ClickHouse', () => {
  it.each([
    ['the operator', () => accounts],
    ['the reader', () => reader],
  ])('reaches no file but its own and no other server by the known ways of %s', async (_who, account) => {
    await on.expectNoWayOut(knownWays, account(), { statements: 400, denied: 50 });
  });

  // Neither the limit of time nor KILL QUERY ends a read of a pipe, and 32 of them lock out all readers.
  it.each([
    ['the operator', () => accounts],
    ['the reader', () => reader],
  ])('opens no pipe of its process for %s', async (_who, account) => {
    const pipes = openFiles().filter(({ target }) => target.startsWith('pipe:'));
    expect(pipes.length).toBeGreaterThan(0);
    for (const { name } of pipes)
      for (const folder of ['fd', 'task/../fd']) {
        const sql = `SELECT length(file('/proc/self/${folder}/${name}')) SETTINGS max_execution_time = 1`;
        expect((await ask(sql, account())).body).toMatch(/^Code: 76\./);
      }
  });

  it.each([
    ['the operator', () => accounts],
    ['the reader', () => reader],
  ])('shows neither its configuration nor its process to %s', async (_who, account) => {
    const files = [
      ...['tidemark-users.xml', 'tidemark-server.xml'].map((name) => join(on.folder, name)),
      ...['environ', 'cmdline', 'maps', 'auxv', 'syscall', 'mem', 'task/../environ'].map(
        (name) => `/proc/self/${name}`,
      ),
      ...['/proc/thread-self/environ', '/proc/1/environ', '/proc/kmsg', '/sys/kernel/vmcoreinfo'],
    ];
    for (const path of files) {
      const sql = `SELECT file('${path}')`;
      expect((await ask(sql, account())).body, path).toMatch(/^Code: (76|107)\./);
    }
    const own = files.slice(0, 2).filter((path) => statSync(path, { throwIfNoEntry: false }) !== undefined);
    expect(own).toEqual([]);
  });

  it('lets the operator run the statements of roles, migrations and backups', async () => {
    const statements = [
      'CREATE DATABASE kept',
      'CREATE TABLE kept.t (n UInt64) ENGINE = ReplacingMergeTree ORDER BY n TTL toDate(60000) + n',
      'CREATE MATERIALIZED VIEW kept.v ENGINE = MergeTree ORDER BY n AS SELECT n FROM kept.t',
      'INSERT INTO kept.t SELECT number FROM numbers(10)',
      'ALTER TABLE kept.t ADD COLUMN m String',
      'ALTER TABLE kept.t ADD CONSTRAINT positive CHECK n < 100',
      'OPTIMIZE TABLE kept.t FINAL',
      'SYSTEM STOP MERGES kept.t',
      'SYSTEM START MERGES kept.t',
      "KILL QUERY WHERE query_id = 'none'",
      "BACKUP DATABASE kept TO File('night')",
      'DROP DATABASE kept SYNC',
      "RESTORE DATABASE kept FROM File('night')",
      'TRUNCATE TABLE kept.v',
    ];
    for (const sql of statements) expect({ sql, ...(await ask(sql)) }).toMatchObject({ sql, status: 200 });
    expect((await ask('SELECT count() FROM kept.t')).body).toBe('10');
  });

  it('lets the reader read, and change nothing', async () => {
    expect((await ask('SELECT c, d FROM trial.t', reader)).body).toBe('a\tb');
    const refused = [
      "INSERT INTO trial.t VALUES ('x', 'y')",
      'CREATE TABLE trial.x (c String) ENGINE = Memory',
      'DROP TABLE trial.t',
      'ALTER TABLE trial.t DELETE WHERE 1',
      "BACKUP TABLE trial.t TO File('x')",
      'SYSTEM STOP MERGES trial.t',
      'SET readonly = 0',
    ];
    for (const sql of refused)
      expect({ sql, ...(await ask(sql, reader)) }).toMatchObject({ sql, status: 500 });
    // Of its own it may end what it likes; of others, and of the library, nothing.
    await ask('KILL QUERY WHERE 1 SYNC', reader);
    expect((await ask('SELECT count() FROM trial.t')).body).toBe('1');
  });

  // Without an end a reader's query takes what inserts need.
  it.each([
    [
      'time',
      'SELECT sleep(3) FROM numbers(100) SETTINGS max_block_size = 1, max_execution_time = 1',
      'TIMEOUT_EXCEEDED',
    ],
    ['rows', 'SELECT number FROM numbers(1000001)', 'TOO_MANY_ROWS_OR_BYTES'],
    [
      'memory',
      "SELECT length(groupArray(repeat('x', 1000))) FROM numbers(1000000) SETTINGS max_memory_usage = 100000000",
      'MEMORY_LIMIT_EXCEEDED',
    ],
    [
      'temporary files',
      'SELECT count() FROM (SELECT number, count() FROM numbers(10000000) GROUP BY number) SETTINGS max_bytes_before_external_group_by = 10000000, ' +
        "max_temporary_data_on_disk_size_for_query = 10000000, temporary_files_codec = 'NONE'",
      'TOO_MANY_ROWS_OR_BYTES',
    ],
    ['the limit itself', 'SELECT 1 SETTINGS max_execution_time = 0', 'SETTING_CONSTRAINT_VIOLATION'],
    ['the other limits', 'SELECT 1 SETTINGS max_memory_usage = 0', 'SETTING_CONSTRAINT_VIOLATION'],
    [
      'the temporary files of all its queries',
      'SELECT 1 SETTINGS max_temporary_data_on_disk_size_for_user = 9000000000',
      'SETTING_CONSTRAINT_VIOLATION',
    ],
  ])('ends a query of the reader at its limit: %s', async (_what, sql, code) => {
    expect((await ask(sql, reader, { query: '?wait_end_of_query=1' })).body).toContain(code);
  });

  it('is opened by its two users alone, and not by the one of the library', async () => {
    expect(await ask('SELECT currentUser()')).toEqual({ status: 200, body: accounts.user });
    expect((await ask('SELECT 1', { ...accounts, password: 'wrong' })).body).toContain('Code: 516.');
    const unknown = await fetch(`http://${host}:${port}/`, { method: 'POST', body: 'SELECT 1' });
    expect(unknown.status).toBe(401);
    expect(unknown.headers.get('www-authenticate')).toContain('Basic');
    const none = { user: 'default', password: '' };
    expect((await ask('SELECT file(1)', none)).body).toContain('USER_SESSION_LIMIT_EXCEEDED');
    const named = await ask('SELECT 1', reader, { query: '?user=default' });
    expect(named.body).toContain('USER_SESSION_LIMIT_EXCEEDED');
  });

  it.each([
    [{ host: 'evil.example' }, 403],
    [{ host: 'evil.example:8123' }, 403],
    [{ origin: 'http://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://127.0.0.1:3000' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'none' }, 200],
  ])('answers a request with %j and the right password with %i', async (headers, status) => {
    expect(await rawStatus(headers)).toBe(status);
  });

  it('answers a page of its own', async () => {
    expect(await rawStatus({ origin: `http://localhost:${port}`, host: `localhost:${port}` })).toBe(200);
  });
});

describe('on a kernel that cannot confine it', () => {
  const start = async (isUnconfined: boolean): Promise<{ code: number | null; output: string }> => {
    const [own = 0] = await takePorts(1);
    const script = `
      import { createClickhouseEngine } from ${JSON.stringify(resolve('src/embedded/clickhouse.ts'))};
      const engine = createClickhouseEngine({
        folder: ${JSON.stringify(await tempFolder())}, host: '${host}', ports: { http: ${own} },
        log: () => {}, isUnconfined: ${isUnconfined},
      });
      await engine.start().then(() => console.log('started'), (error) => console.log(error.message));
      await engine.kill();`;
    const child = spawn(process.execPath, [
      'test/support/stack/without-landlock.ts',
      ...['--input-type=module-typescript', '-e', script],
    ]);
    const output = await text(child.stdout);
    return { code: child.exitCode, output };
  };

  // An undocumented open door would be worse than a closed one.
  it('ClickHouse does not start, and names the remedy', async () => {
    const { output } = await start(false);
    expect(output).toContain('clickhouse exited with code 1 while starting');
    expect(output).toContain('TIDEMARK_CLICKHOUSE_UNCONFINED=true');
  });

  it('it starts with the setting', async () => {
    expect((await start(true)).output).toContain('started');
  });
});
