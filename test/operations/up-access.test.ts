import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connect } from '@nats-io/transport-node';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { basicAuthorization } from '../../src/embedded/credentials.ts';
import { logsFolder } from '../../src/embedded/engine-logs.ts';
import type { Installation } from '../../src/embedded/installation.ts';
import { ensureChromium } from '../support/clients/chromium.ts';
import { runCli } from '../support/clients/cli.ts';
import { wireQuery } from '../support/stack/postgres-wire.ts';
import { openTempFolder } from '../support/stack/temp-folder.ts';
import {
  below,
  childrenOf,
  installationOn,
  spawnUp,
  type Up,
  untilReady,
} from '../support/stack/up-process.ts';
import { waitFor } from '../support/wait.ts';

const run = promisify(execFile);

let folder: { path: string; remove(): Promise<void> };
let up: Up;
let own: Installation;

beforeAll(async () => {
  folder = await openTempFolder();
  up = spawnUp(join(folder.path, 'data'));
  await untilReady(up);
  own = await installationOn(join(folder.path, 'data'));
});
afterAll(async () => {
  up.child.kill('SIGKILL');
  await up.exitCode;
  await folder.remove();
});

const accountOf = ({ user, password }: Pick<Installation['nats'], 'user' | 'password'>) => ({
  user: user ?? '',
  password: password ?? '',
});

const readerOf = ({
  readonly_user: user,
  readonly_password: password,
}: Installation['questdb' | 'clickhouse']) => ({
  user: user ?? '',
  password: password ?? '',
});

const questdb = async (sql: string, account = accountOf(own.questdb)): Promise<string> => {
  const headers = { authorization: basicAuthorization(account) };
  return (await fetch(`${own.questdb.url}/exec?query=${encodeURIComponent(sql)}`, { headers })).text();
};

const clickhouse = async (sql: string, account = accountOf(own.clickhouse)): Promise<string> => {
  const headers = { authorization: basicAuthorization(account) };
  return (await fetch(own.clickhouse.url, { method: 'POST', body: sql, headers })).text();
};

const passwords = (): string[] =>
  [
    ...[own.nats.password, own.questdb.password, own.clickhouse.password],
    ...[own.questdb.readonly_password, own.clickhouse.readonly_password, own.admin.token],
  ].map((password) => password ?? '');

const portOf = (url: string | null): number => Number(new URL(url ?? '').port);

// Its ports are free ones, which this terminal does not have in its variables.
describe('a terminal that knows the data folder alone', () => {
  const command = async (...args: string[]): Promise<string> => {
    const env = {
      PATH: process.env['PATH'],
      TIDEMARK_DATA: join(folder.path, 'data'),
    };
    const { code, stdout, stderr } = await runCli(args, env);
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stderr: '' });
    return stdout;
  };

  it('pushes a point, sends a span and checks every stage of its own stack', async () => {
    const [, dataId = ''] = /data_id (\d+), access_token/.exec(below(up, 'Credentials of the demo')) ?? [];
    const applications = z
      .object({ items: z.array(z.object({ app_id: z.number() })) })
      .parse(JSON.parse(await command('app', 'list', '--json')));
    expect(await command('push', dataId, 'from_terminal=1')).toContain('receiver');
    expect(await command('trace', '--send', String(applications.items[0]?.app_id))).toContain('receiver');
    const doctor = await command('doctor');
    expect(doctor).not.toContain('NOT OK');
    expect(doctor).toContain('gRPC');
  }, 120_000);
});

describe('the output of tidemark env', () => {
  it('opens the two databases and NATS, to the reader for reading', async () => {
    expect(await questdb('SELECT 1')).toContain('[[1]]');
    expect(await questdb('SELECT 1', readerOf(own.questdb))).toContain('[[1]]');
    const wire = { port: portOf(own.questdb.pg_url), database: 'qdb' };
    for (const account of [accountOf(own.questdb), readerOf(own.questdb)])
      expect((await wireQuery({ ...wire, ...account }, 'SELECT 1')).rows).toEqual([['1']]);
    expect(await clickhouse('SELECT count() >= 0 FROM otel.otel_traces')).toBe('1\n');
    expect(await clickhouse('SELECT count() >= 0 FROM otel.otel_traces', readerOf(own.clickhouse))).toBe(
      '1\n',
    );
    const { user, password: pass } = accountOf(own.nats);
    const nc = await connect({ servers: new URL(own.nats.url).host, user, pass });
    expect(String(await nc.request('$JS.API.STREAM.NAMES'))).toBeDefined();
    await nc.close();
    const headers = { authorization: `Bearer ${own.admin.token}` };
    expect((await fetch(`${own.admin.url}/api/v1/custom-reports`, { headers })).status).toBe(200);
  });

  // The operator's password is in every shell that took it: it must not be one that writes rows or empties a stream.
  it('makes its reader an operator of NATS, who is none of the roles', async () => {
    const addresses = ['nats', 'nats-ingress', 'nats-transfer', 'nats-metadata'].map(
      (name) => new URL(readFileSync(join(folder.path, 'data', 'up', `${name}.url`), 'utf8').trim()),
    );
    expect(addresses.map(({ username }) => username)).toEqual([
      own.nats.user,
      'ingress',
      'transfer',
      'metadata',
    ]);
    expect(new Set(addresses.map(({ password }) => password)).size).toBe(4);
    const { user, password: pass } = accountOf(own.nats);
    const nc = await connect({ servers: new URL(own.nats.url).host, user, pass });
    const purge = nc.request('$JS.API.STREAM.PURGE.METRICS');
    await expect(purge).rejects.toThrow(
      /Permissions Violation for Publish to "\$JS\.API\.STREAM\.PURGE\.METRICS"/,
    );
    await nc.close();
  });

  it('is in no line, argument or file that another user of this machine can read', () => {
    const data = join(folder.path, 'data');
    const seen = [
      ...up.lines,
      ...[up.child.pid, ...childrenOf(up.child.pid)].map((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
      ),
      ...readdirSync(logsFolder(data)).map((name) => readFileSync(join(logsFolder(data), name), 'utf8')),
    ].join('\n');
    for (const password of passwords()) {
      expect(password.length).toBeGreaterThan(20);
      expect(seen).not.toContain(password);
    }
    expect(statSync(data).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(data)) expect(statSync(join(data, name)).mode & 0o077, name).toBe(0);
    for (const name of readdirSync(join(data, 'up')))
      expect(statSync(join(data, 'up', name)).mode & 0o777, name).toBe(0o600);
  });
});

const somebody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--'];
const canBeSomebody = spawnSync(somebody[0] ?? '', [...somebody.slice(1), 'true']).status === 0;

describe.skipIf(!canBeSomebody)('another user of this machine (where this one may become another)', () => {
  const asSomebody = async (...command: string[]): Promise<{ code: unknown; output: string }> => {
    const [program = '', ...args] = [...somebody, ...command];
    return run(program, args).then(
      ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
      (error: { code: unknown; stdout: string; stderr: string }) => ({
        code: error.code,
        output: error.stdout + error.stderr,
      }),
    );
  };
  const status = async (...args: string[]): Promise<string> =>
    (await asSomebody('curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', ...args)).output;

  it('reads nothing in the data folder and nothing of the processes', async () => {
    const data = join(folder.path, 'data');
    for (const path of [data, join(data, 'credentials.json'), join(data, 'up', 'questdb.curl')])
      expect(await asSomebody('cat', path)).toMatchObject({
        output: expect.stringMatching(/Permission denied/),
      });
    for (const pid of [up.child.pid, ...childrenOf(up.child.pid)])
      expect((await asSomebody('cat', `/proc/${pid}/environ`)).output).toMatch(/Permission denied/);
  });

  it('gets nothing from an engine', async () => {
    expect(await status(`${own.questdb.url}/exec?query=SHOW+TABLES`)).toBe('401');
    expect(await status(`${own.questdb.url}/write`, '-d', 'x y=1')).toBe('401');
    expect(await status(own.clickhouse.url, '-d', 'SELECT 1')).toBe('401');
    expect(await status('-u', 'default:', own.clickhouse.url, '-d', 'SELECT file(1)')).not.toBe('200');
    const { output } = await asSomebody(
      ...['curl', '-s', '--max-time', '1'],
      `telnet://${new URL(own.nats.url).host}`,
    );
    expect(output).toContain('"auth_required":true');
    expect(own.nats.monitor_url).toBe(null);
  });
});

const browserPath = await ensureChromium();

// Chromium itself decides what a page may send, with which headers: no list of the test's own would be complete.
describe.skipIf(browserPath === undefined)(
  'a page of another origin (in Chromium, where that is or can be installed)',
  () => {
    const stranger = 'evil.example';
    const pages = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<title>page</title>');
    });
    let browser: Browser;
    let port: number;

    beforeAll(async () => {
      pages.listen(0, '127.0.0.1');
      await once(pages, 'listening');
      ({ port } = pages.address() as AddressInfo);
      browser = await chromium.launch({
        executablePath: browserPath ?? '',
        args: ['--no-sandbox', `--host-resolver-rules=MAP ${stranger} 127.0.0.1`],
      });
      await questdb('CREATE TABLE victim (n LONG)');
      await questdb('INSERT INTO victim VALUES (1)');
      await clickhouse('CREATE TABLE otel.victim (n UInt64) ENGINE = MergeTree ORDER BY n');
    });
    afterAll(async () => {
      await browser?.close();
      pages.close();
    });

    /** A page at this address, in a browser that sends these credentials with every request, wherever it goes. */
    const pageAt = async (address: string, authorization?: string) => {
      const context = await browser.newContext(
        authorization === undefined ? {} : { extraHTTPHeaders: { authorization } },
      );
      const page = await context.newPage();
      const response = await page.goto(address);
      return { page, status: response?.status() };
    };

    /** What the page can read of the answers to a request sent in every way that a page has. */
    const tryAll = async (address: string, authorization: string | undefined, url: string, body: string) => {
      const { page } = await pageAt(address, authorization);
      const read = await page.evaluate(
        `(async () => {
        const url = ${JSON.stringify(url)};
        const body = ${JSON.stringify(body)};
        const get = url + (url.includes('?') ? '&' : '?') + 'query=' + encodeURIComponent(body);
        const text = async (input, init) => {
          try {
            const answer = await fetch(input, { credentials: 'include', ...init });
            return answer.type === 'opaque' ? '' : answer.status + ' ' + (await answer.text());
          } catch {
            return '';
          }
        };
        const element = (name, attribute) => new Promise((done) => {
          const made = document.createElement(name);
          made.onload = made.onerror = () => done('');
          made[attribute] = get;
          document.body.append(made);
        });
        return Promise.all([
          text(get, {}),
          text(get, { mode: 'no-cors' }),
          text(url, { method: 'POST', body }),
          text(url, { method: 'POST', body, mode: 'no-cors' }),
          text(url + '?add_http_cors_header=1', { method: 'POST', body, headers: { 'content-type': 'text/plain' } }),
          element('img', 'src'),
          element('script', 'src'),
          element('iframe', 'src'),
        ]);
      })()`,
      );
      await page.context().close();
      return read;
    };

    const strangers = (): [string, string][] => [
      ['on another port of this machine', `http://127.0.0.1:${port}/`],
      ['of another name', `http://${stranger}:${port}/`],
    ];

    it('changes and reads nothing, also with the right credentials', async () => {
      for (const [, address] of strangers()) {
        for (const withCredentials of [false, true]) {
          const header = (account: { user: string; password: string }) =>
            withCredentials ? basicAuthorization(account) : undefined;
          const made = join(folder.path, 'made.txt');
          const reads = [
            await tryAll(
              address,
              header(accountOf(own.questdb)),
              `${own.questdb.url}/exec`,
              'DROP TABLE victim',
            ),
            await tryAll(
              address,
              header(accountOf(own.clickhouse)),
              `${own.clickhouse.url}/`,
              'DROP TABLE otel.victim',
            ),
            await tryAll(
              address,
              header(accountOf(own.clickhouse)),
              `${own.clickhouse.url}/`,
              `INSERT INTO FUNCTION file('${made}', 'RawBLOB') SELECT 'x'`,
            ),
            await tryAll(address, undefined, `http://${new URL(own.nats.url).host}/`, 'PUB x 0\r\n\r\n'),
          ];
          expect(reads.flat().filter((text) => text !== '')).toEqual([]);
          expect(existsSync(made)).toBe(false);
        }
      }
      expect(await questdb('SELECT count() FROM victim')).toContain('"dataset"');
      expect(await clickhouse('EXISTS otel.victim')).toBe('1\n');
    });

    // A name that its owner points at this machine makes every page of it one of the same origin.
    it('gets nothing by a name of its own for this machine', async () => {
      for (const [address, account] of [
        [`http://${stranger}:${portOf(own.questdb.url)}/exec?query=DROP+TABLE+victim`, own.questdb],
        [`http://${stranger}:${portOf(own.questdb.url)}/index.html`, own.questdb],
        [`http://${stranger}:${portOf(own.clickhouse.url)}/?query=SELECT+1`, own.clickhouse],
      ] as const) {
        const { page, status } = await pageAt(address, basicAuthorization(accountOf(account)));
        expect(status).toBe(403);
        await page.context().close();
      }
      expect(await questdb('SELECT count() FROM victim')).toContain('"dataset"');
    });

    // Else all of the above would hold because nothing is answered at all.
    it('is distinguished from a page of the engine itself, which gets its answers', async () => {
      const { page } = await pageAt(
        `${own.questdb.url}/index.html`,
        basicAuthorization(accountOf(own.questdb)),
      );
      const read = await page.evaluate(`fetch('/exec?query=SELECT+1').then((answer) => answer.status)`);
      expect(read).toBe(200);
      await page.context().close();
    });
  },
);

const container = ['unshare', '--pid', '--fork', '--net', '--mount-proc'];
const canUnshare = spawnSync(container[0] ?? '', [...container.slice(1), 'true']).status === 0;

// Its nats-server would take the files of the first one for its own, and what the first acknowledges from then on would be gone.
describe.skipIf(!canUnshare)('a second tidemark up in another container (where unshare is permitted)', () => {
  it('starts nothing, and the acknowledged items of the first are stored', async () => {
    const data = join(folder.path, 'data');
    const pids = new Map(
      childrenOf(up.child.pid).map((pid) => [
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '),
        pid,
      ]),
    );
    const pidOf = (part: string): number => [...pids].find(([line]) => line.includes(part))?.[1] ?? 0;
    process.kill(pidOf('main.ts transfer'), 'SIGSTOP');
    const second = spawnUp(data, {}, container);
    expect(await second.exitCode).toBe(1);
    expect(second.lines).toEqual([expect.stringContaining('tidemark up already runs on')]);
    expect(existsSync(join(data, 'up', 'addresses.json'))).toBe(true);

    const [, dataId = '', token = ''] =
      /data_id (\d+), access_token (\w+)/.exec(below(up, 'Credentials of the demo')) ?? [];
    const points = 50;
    for (let point = 0; point < points; point++) {
      const response = await fetch(`${own.push_url}/v2/push/`, {
        method: 'POST',
        headers: { 'idempotency-key': `point-${point}` },
        body: JSON.stringify({
          data_id: Number(dataId),
          access_token: token,
          data: [{ metrics: { numbered: point }, timestamp: Date.now() }],
        }),
      });
      expect(await response.text()).toContain('"code":"200"');
    }
    process.kill(pidOf('nats.conf'), 'SIGKILL');
    process.kill(pidOf('main.ts transfer'), 'SIGCONT');
    const count = `SELECT count() FROM "2_mon_time_series_${dataId}.__default__" WHERE numbered IS NOT NULL`;
    await waitFor('every acknowledged point is stored', 120_000, async () =>
      (await questdb(count)).includes(`[[${points}]]`),
    );
  });
});
