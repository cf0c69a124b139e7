import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DatabaseAccounts, EngineAccount } from '../../src/config/engine-credentials.ts';
import { basicAuthorization, createDatabaseAccounts } from '../../src/embedded/credentials.ts';
import type { Engine } from '../../src/embedded/engine.ts';
import { createInstaller } from '../../src/embedded/install.ts';
import { createQuestdbEngine } from '../../src/embedded/questdb.ts';
import { type RawAnswer, rawRequest } from '../support/http/raw-request.ts';
import { takePorts } from '../support/stack/ports.ts';
import { wireQuery } from '../support/stack/postgres-wire.ts';
import { openTempFolder, tempFolder } from '../support/stack/temp-folder.ts';
import { waitFor } from '../support/wait.ts';

const run = promisify(execFile);
const host = '127.0.0.1';
const accounts: DatabaseAccounts = createDatabaseAccounts();
const reader: EngineAccount = { user: accounts.readonlyUser, password: accounts.readonlyPassword };

let http: number;
let pg: number;
let engine: Engine;
let folder: { path: string; remove(): Promise<void> };

beforeAll(async () => {
  [http = 0, pg = 0] = await takePorts(2);
  folder = await openTempFolder();
  engine = createQuestdbEngine({ folder: folder.path, host, ports: { http, pg }, log: () => {}, accounts });
  await engine.start();
  await exec(
    accounts,
    'CREATE TABLE kept (timestamp TIMESTAMP, n LONG) TIMESTAMP(timestamp) PARTITION BY DAY WAL',
  );
  await exec(accounts, "INSERT INTO kept VALUES ('2026-01-01', 7)");
  await waitFor('the row is there', 30_000, async () =>
    (await exec(accounts, 'SELECT n FROM kept')).body.includes('[[7]]'),
  );
});
afterAll(async () => {
  await engine.kill();
  await folder.remove();
});

const exec = (
  account: EngineAccount | undefined,
  sql: string,
  headers: Record<string, string> = {},
): Promise<RawAnswer> =>
  rawRequest(`http://${host}:${http}/exec?query=${encodeURIComponent(sql)}`, {
    ...(account === undefined ? {} : { authorization: basicAuthorization(account) }),
    ...headers,
  });

const wire = (account: EngineAccount, sql: string) =>
  wireQuery({ port: pg, ...account, database: 'qdb' }, sql);

const changes = [
  'CREATE TABLE other (n LONG)',
  'DROP TABLE kept',
  'TRUNCATE TABLE kept',
  'ALTER TABLE kept ADD COLUMN m LONG',
  'RENAME TABLE kept TO lost',
  "INSERT INTO kept VALUES ('2026-01-02', 8)",
  'UPDATE kept SET n = 8',
  'CREATE VIEW seen AS (SELECT * FROM kept)',
  "COPY kept FROM 'file'",
  'VACUUM TABLE kept',
  'CHECKPOINT CREATE',
];

describe('the embedded QuestDB', () => {
  it('is opened over HTTP and the Postgres wire by its two users alone', async () => {
    for (const account of [accounts, reader]) {
      expect(await exec(account, 'SELECT n FROM kept')).toMatchObject({
        status: 200,
        body: expect.stringContaining('[[7]]'),
      });
      expect((await wire(account, 'SELECT n FROM kept')).rows).toEqual([['7']]);
      const wrong = { ...account, password: `${account.password}x` };
      expect(await exec(wrong, 'SELECT 1')).toMatchObject({ status: 401 });
      await expect(wire(wrong, 'SELECT 1')).rejects.toThrow(/invalid username\/password/);
    }
    expect(await exec(undefined, 'SELECT 1')).toMatchObject({ status: 401 });
    // The ones that it has without any setting.
    for (const [user, password] of [
      ['admin', 'quest'],
      ['user', 'quest'],
    ] as const)
      await expect(wire({ user, password }, 'SELECT 1')).rejects.toThrow(/invalid username\/password/);
  });

  it('lets the operator change tables, also by GET', async () => {
    expect(await exec(accounts, 'CREATE TABLE passing (n LONG)')).toMatchObject({ body: '{"ddl":"OK"}' });
    expect(await exec(accounts, 'DROP TABLE passing')).toMatchObject({ body: '{"ddl":"OK"}' });
  });

  it.each(changes)('refuses the reader over both interfaces: %s', async (sql) => {
    const answer = await exec(reader, sql);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.body).toMatch(/permission denied/i);
    await expect(wire(reader, sql)).rejects.toThrow(/permission denied/i);
  });

  it('takes no rows and no files from the reader', async () => {
    const url = `http://${host}:${http}`;
    const headers = { authorization: basicAuthorization(reader) };
    const written = await rawRequest(`${url}/write`, headers, { method: 'POST', body: 'kept n=8i\n' });
    expect(written.status).toBe(403);
    // It refuses before it has read the file, and may close the connection then: only the result counts.
    const importAs = async (account: EngineAccount, table: string): Promise<void> => {
      const form = new FormData();
      form.set('data', new Blob(['a,b\n1,2\n3,4\n']), 'data.csv');
      const authorization = { authorization: basicAuthorization(account) };
      const options = { method: 'POST', headers: authorization, body: form };
      await fetch(`${url}/imp?name=${table}`, options).then(
        (response) => response.text(),
        () => 'cut',
      );
    };
    await importAs(reader, 'other');
    await importAs(accounts, 'imported');
    expect((await exec(accounts, "SELECT table_name FROM tables() WHERE table_name != 'kept'")).body).toMatch(
      /"dataset":\[\["imported"\]\]/,
    );
    await exec(accounts, 'DROP TABLE imported');
    expect((await exec(accounts, 'SHOW TABLES')).body).toMatch(/"dataset":\[\["kept"\]\]/);
  });

  it.each([
    [{ host: 'evil.example' }, 403],
    [{ host: 'evil.example:9000' }, 403],
    [{ origin: 'http://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://127.0.0.1:3000' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ host: 'localhost' }, 200],
    [{ host: 'localhost:9000', origin: 'http://localhost:9000', 'sec-fetch-site': 'same-origin' }, 200],
  ])('answers a request with %j and the right password with %i', async (headers, status) => {
    expect(await exec(accounts, 'SELECT 1', headers)).toMatchObject({ status });
  });

  // What needs no password needs the right name all the same.
  it('shows its console to its own name alone', async () => {
    expect(await rawRequest(`http://${host}:${http}/index.html`, {})).toMatchObject({ status: 200 });
    expect(await rawRequest(`http://${host}:${http}/index.html`, { host: 'evil.example' })).toMatchObject({
      status: 403,
    });
  });

  // Each request must authenticate: users of one client share a connection.
  it('does not remember the user of an earlier request on a connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (headers: Record<string, string>): Promise<{ status: number; reused: boolean }> =>
      new Promise((done, fail) => {
        const sent = request(`http://${host}:${http}/exec?query=SELECT+1`, { agent, headers }, (response) => {
          response.resume().once('end', () => {
            done({ status: response.statusCode ?? 0, reused: sent.reusedSocket });
          });
        });
        sent.once('error', fail);
        sent.end();
      });
    expect(await ask({ authorization: basicAuthorization(accounts) })).toEqual({
      status: 200,
      reused: false,
    });
    expect(await ask({})).toEqual({ status: 401, reused: true });
    expect(await ask({ authorization: basicAuthorization(reader) })).toMatchObject({ status: 200 });
    agent.destroy();
  });

  // It makes a table of its own, and leaves the statement waiting for a worker.
  it('copies no table into a file of the server, for neither user, and exports Parquet over HTTP', async () => {
    for (const account of [accounts, reader]) {
      for (const sql of ["COPY kept TO 'x' WITH FORMAT PARQUET", "COPY (SELECT n FROM kept) TO 'x'"]) {
        expect((await exec(account, sql)).body).toContain('COPY TO is disabled');
        await expect(wire(account, sql)).rejects.toThrow(/COPY TO is disabled/);
      }
    }
    const exported = await rawRequest(
      `http://${host}:${http}/exp?fmt=parquet&query=${encodeURIComponent('SELECT n, count() FROM kept')}`,
      { authorization: basicAuthorization(reader) },
    );
    expect(exported).toMatchObject({ status: 200, body: expect.stringMatching(/^PAR1/) });
    expect((await exec(reader, 'SELECT table_name FROM tables()')).body).not.toContain('copy_export_log');
  });

  it('lets a fourth reader log in beside three queries that never end, and takes writes and answers over HTTP beside more', {
    timeout: 90_000,
  }, async () => {
    const endless = 'SELECT count() FROM long_sequence(1000000000000) WHERE rnd_double() > 2';
    const start = (count: number): void => {
      for (let each = 0; each < count; each++) wire(reader, endless).catch(() => undefined);
    };
    const running = (count: number): Promise<boolean> =>
      waitFor(`${count} of them run`, 30_000, async () => {
        const sql = `SELECT query_id FROM query_activity() WHERE worker_pool = 'pgwire'`;
        return (await exec(accounts, sql)).body.includes(`"count":${count}`);
      });
    start(3);
    await running(3);
    expect(await wire(reader, 'SELECT n FROM kept LIMIT 1')).toMatchObject({ rows: [['7']] });
    start(2);
    await running(4);
    await exec(accounts, "INSERT INTO kept VALUES ('2026-01-03', 9)");
    await waitFor('the row is there', 30_000, async () =>
      (await exec(accounts, 'SELECT n FROM kept')).body.includes('[9]'),
    );
  });
});

// The jar is in the repository because neither this machine nor QuestDB's image needs to have a compiler.
const compiler = await run('javac', ['-version']).then(
  ({ stdout, stderr }) => /javac (\d+)/.exec(stdout + stderr)?.[1],
  () => undefined,
);

it.skipIf(compiler !== '17')(
  'the guard in deploy/questdb is what its source compiles to (where javac 17 is)',
  async () => {
    const built = join(await tempFolder(), 'questdb-guard.jar');
    const { jar } = await createInstaller().questdb();
    await run('deploy/questdb/build.sh', [jar, built]);
    const [ours, theirs] = await Promise.all(
      [resolve('deploy/questdb/questdb-guard.jar'), built].map((path) => readFile(path)),
    );
    expect(ours?.equals(theirs ?? Buffer.alloc(0))).toBe(true);
  },
);
