import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { engineLogFile } from '../../src/embedded/engine-logs.ts';
import { makeAuthority } from '../support/stack/certificates.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { startImpostor } from '../support/stack/impostor.ts';
import { takePorts } from '../support/stack/ports.ts';
import { openTempFolder, tempFolder } from '../support/stack/temp-folder.ts';
import {
  addressOf,
  below,
  childrenOf,
  installationOn,
  isAlive,
  killUp,
  spawnUp,
  startUp,
  type Up,
  untilReady,
} from '../support/stack/up-process.ts';
import { waitFor } from '../support/wait.ts';

const run = promisify(execFile);

/** A command of the summary, in a terminal that has set what the summary says. */
const paste = async (up: Up, command: string): Promise<string> => {
  const script = `${below(up, 'In another terminal')}\n${command}`;
  return (await run('sh', ['-c', script], { cwd: tmpdir() })).stdout;
};

const pasteBelow = (up: Up, heading: string): Promise<string> => paste(up, below(up, heading));

const pushed = '{"code":"200","result":"true","message":""}';

describe('tidemark up, started twice on one folder', () => {
  let first: Up;
  let again: Up | undefined;
  let folder: string;
  let remove: () => Promise<void>;
  beforeAll(async () => {
    ({ path: folder, remove } = await openTempFolder());
    first = spawnUp(folder);
    await untilReady(first);
  });
  afterAll(async () => {
    for (const up of [first, again]) if (up !== undefined) await killUp(up);
    await remove?.();
  });

  const count = async (up: Up): Promise<number> =>
    (await pasteBelow(up, 'Read the points')).match(/ 10\.5\b/g)?.length ?? 0;

  it('prints commands that work as pasted', async () => {
    expect(await pasteBelow(first, 'Push a point')).toBe(pushed);
    // Until its first row has made the column, the command says so and fails.
    await waitFor('the point is read', 60_000, async () => (await count(first)) === 1);
    expect(await pasteBelow(first, 'Export a span')).toBe('{}');
    await expect.poll(() => pasteBelow(first, 'Read the spans')).toContain('shop');

    // Every other line is an address that answers, or a command.
    const addressed = ['admin API', 'QuestDB', 'ClickHouse', 'push metrics', 'export OTLP'];
    for (const name of addressed)
      expect((await fetch(addressOf(first, name))).status, name).toBeLessThan(500);
    const [, link = ''] = first.lines.flatMap(
      (line) => /^ {2}(http:\S+)#\d+\.[0-9a-f]{40}$/.exec(line) ?? [],
    );
    expect((await fetch(link)).status).toBe(200);
    expect(await paste(first, 'tidemark console')).toContain(link);
    expect(await paste(first, 'tidemark env')).toContain('QUESTDB_READONLY_PASSWORD=');
    const disks = await paste(first, 'tidemark usage --disk');
    expect(disks).toMatch(/^data +questdb, clickhouse .*( days?|10 years)$/m);
  });

  it('runs once on a folder, writes the lines of engines to files, and leaves no process and no lock', async () => {
    const second = startUp(folder);
    expect(await second.exitCode).toBe(1);
    expect(second.lines).toEqual([
      `tidemark: tidemark up already runs on ${folder} (process ${first.child.pid}): stop it first, or set TIDEMARK_DATA to another folder.`,
    ]);

    // The terminal has the lines of the roles; those of the engines are files, and a new folder has forty migrations.
    expect(first.lines.filter((line) => /^migrate +\|/.test(line))).toEqual([
      expect.stringMatching(/the tables of ClickHouse are up to date applied=\d+$/),
    ]);
    expect(first.lines.filter((line) => /^(nats|questdb|clickhouse) +\|/.test(line))).toEqual([]);
    const logOf = (name: 'nats' | 'questdb'): string => readFileSync(engineLogFile(folder, name), 'utf8');
    expect(logOf('nats')).toContain('Server is ready');
    expect(logOf('questdb')).toContain('server-main enjoy');

    const children = childrenOf(first.child.pid);
    expect(children).toHaveLength(6);
    first.child.kill('SIGTERM');
    expect(await first.exitCode).toBe(0);
    expect(children.filter(isAlive)).toEqual([]);
    expect((await readdir(folder)).filter((name) => name.includes('lock'))).toEqual([]);
  });

  it('finds everything again at its second start', async () => {
    again = spawnUp(folder);
    await untilReady(again);
    expect(again.lines).toContain(first.lines.find((line) => line.startsWith('  report demo')));
    expect(again.lines).toContain(first.lines.find((line) => line.startsWith('  application shop')));
    expect(await count(again)).toBe(1);
    expect(existsSync(`${engineLogFile(folder, 'nats')}.1`)).toBe(true);
  });

  // Ports and data of the next start must not be held by what a killed one left behind.
  it('restarts killed processes, and leaves nothing behind when it is killed itself', async () => {
    const up = again ?? expect.fail('the second start failed');
    for (const pid of childrenOf(up.child.pid)) process.kill(pid, 'SIGKILL');
    const names = ['clickhouse', 'ingress', 'metadata', 'nats', 'questdb', 'transfer'];
    const back = () => up.lines.flatMap((line) => /^(\w+) +\| is back after/.exec(line)?.[1] ?? []).sort();
    await expect.poll(back).toEqual(names);
    expect(await pasteBelow(up, 'Push a point')).toBe(pushed);
    const children = childrenOf(up.child.pid);
    up.child.kill('SIGKILL');
    await expect.poll(() => children.filter(isAlive)).toEqual([]);
  });
});

describe('tidemark up', () => {
  it('prints the last lines of an engine that does not start, and where the others are', async () => {
    const folder = await tempFolder();
    await mkdir(join(folder, 'questdb', 'conf'), { recursive: true });
    await writeFile(join(folder, 'questdb', 'conf', 'server.conf'), 'cairo.max.uncommitted.rows=many\n');
    const up = startUp(folder);
    expect(await up.exitCode).toBe(1);
    const said = up.lines.slice(up.lines.findIndex((line) => line.startsWith('tidemark: ')));
    expect(said[0]).toMatch(/^tidemark: questdb exited with code \d+ while starting; last lines of its log /);
    expect(said[0]).toContain(engineLogFile(folder, 'questdb'));
    expect(said.slice(1).join('\n')).toContain('many');
  });

  it('names the ports that are in use and the settings that move them, before anything starts', async () => {
    const folder = await tempFolder();
    const [nats = 0, push = 0] = await takePorts(2);
    await startImpostor(nats);
    await startImpostor(push);
    const up = startUp(folder, {
      TIDEMARK_NATS_CLIENT_PORT: `${nats}`,
      TIDEMARK_INGRESS_PUSH_PORT: `${push}`,
    });
    expect(await up.exitCode).toBe(1);
    expect(up.lines).toEqual([
      `tidemark: Port ${nats} (NATS clients) is in use; set TIDEMARK_NATS_CLIENT_PORT to another port.`,
      `Port ${push} (push receiver) is in use; set TIDEMARK_INGRESS_PUSH_PORT to another port.`,
    ]);
    expect(await readdir(folder)).toEqual([]);
  });

  // Each of them alone is free, so the second one failed in the middle of the start.
  it('names two settings that want the same port, before anything starts', async () => {
    const folder = await tempFolder();
    const [port = 0] = await takePorts(1);
    const up = startUp(folder, {
      TIDEMARK_INGRESS_PUSH_PORT: `${port}`,
      TIDEMARK_METADATA_API_PORT: `${port}`,
    });
    expect(await up.exitCode).toBe(78);
    expect(up.lines).toEqual([
      `tidemark: TIDEMARK_INGRESS_PUSH_PORT and TIDEMARK_METADATA_API_PORT: both are port ${port} (push receiver, admin API). Set one of them to another port`,
    ]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('runs the engines alone where that is asked for', async () => {
    const folder = await tempFolder();
    const engines = startUp(folder, {}, ['--engines-only']);
    await untilReady(engines);
    expect(childrenOf(engines.child.pid)).toHaveLength(3);
    const { questdb, clickhouse, nats } = await installationOn(folder);
    expect(engines.lines).toEqual(
      expect.arrayContaining([
        expect.stringContaining(`  QuestDB          ${questdb.url} (`),
        `  ClickHouse       ${clickhouse.url} (user readonly)`,
        `  NATS             ${nats.url}`,
      ]),
    );
    engines.child.kill('SIGTERM');
    expect(await engines.exitCode).toBe(0);
  });

  // The receivers need neither the certificate nor the token with which the link is made.
  it('goes on without a console link and the demo where the admin API cannot be asked, and says why', async () => {
    const folder = await tempFolder();
    const certificates = await tempFolder();
    const authority = makeAuthority(certificates, 'own');
    const up = startUp(folder, {
      TIDEMARK_METADATA_TLS_CERT_FILE: authority.certFile,
      TIDEMARK_METADATA_TLS_KEY_FILE: authority.keyFile,
      TIDEMARK_METADATA_API_PORT: '10300',
    });
    await untilReady(up);
    const said = up.lines.filter((line) => line.startsWith('  console '));
    expect(said).toEqual([
      expect.stringMatching(/no demo, no link: the admin API .*self-signed.*set TIDEMARK_ADMIN_CA_FILE/),
    ]);
    expect(up.lines).not.toContain('Push a point');
    const url = `${(await installationOn(folder)).push_url}/v2/push/`;
    const body = JSON.stringify({ data_id: 1, access_token: 'none', data: [{ metrics: { number: 1 } }] });
    expect((await fetch(url, { method: 'POST', body })).status).toBe(401);
  });

  it('takes the records of another installation in place of an unused demo, and not of one with items', async () => {
    const folder = await tempFolder();
    const up = startUp(folder);
    await untilReady(up);
    const { admin } = await installationOn(folder);
    const ask = async (
      method: string,
      path: string,
      body?: string,
    ): Promise<{ status: number; text: string }> => {
      const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' };
      const answer = await fetch(`${admin.url}/api/v1/${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    const { text } = await ask('GET', 'export');
    const tokens = [
      ...new Set([...text.matchAll(/"token":"([0-9a-f]{32})"/g)].map(([, token]) => token ?? '')),
    ];
    expect(tokens).toHaveLength(2);
    // An installation elsewhere has a demo, too, with the same ids and other tokens.
    const elsewhere = (start: string): string =>
      tokens.reduce((all, token) => all.replaceAll(token, start + token.slice(1)), text);
    // Two tokens leave two digits.
    const [first, second] = ['0', '1', '2', '3'].filter(
      (start) => !tokens.some((token) => token.startsWith(start)),
    );
    const imported = await ask('POST', 'import', elsewhere(first ?? ''));
    expect([imported.status, imported.text]).toEqual([200, expect.stringContaining('"unchanged":0')]);
    expect(
      z.looseObject({ exported_at: z.number() }).parse(JSON.parse((await ask('GET', 'export')).text)),
    ).toEqual({
      ...JSON.parse(elsewhere(first ?? '')),
      exported_at: expect.any(Number),
    });
    const { data_sources: sources } = z
      .object({ data_sources: z.record(z.string(), z.object({ token: z.string() })) })
      .parse(JSON.parse(text));
    const [[id, { token: own }] = ['', { token: '' }]] = Object.entries(sources);
    const answerOf = async (token: string): Promise<string> => {
      const body = { data_id: Number(id), access_token: token, data: [{ metrics: { number: 1 } }] };
      const url = `${(await installationOn(folder)).push_url}/v2/push/`;
      return (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).text();
    };
    await expect.poll(() => answerOf((first ?? '') + own.slice(1))).toContain('"code":"200"');
    expect(await answerOf(own)).toContain('"code":"401"');

    // At once: the item may still be on its way.
    const refused = await ask('POST', 'import', elsewhere(second ?? ''));
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('tidemark up --no-demo')]);
  });

  it('refuses pipelines that cannot be used before anything starts, with the file', async () => {
    const folder = await tempFolder();
    const pipelines = await tempFolder();
    const up = startUp(folder, { TIDEMARK_PIPELINES: pipelines });
    expect(await up.exitCode).toBe(78);
    expect(up.lines).toEqual([expect.stringMatching(/^tidemark: .*: cannot be read /)]);
    expect(up.lines[0]).toContain(pipelines);
    expect(await readdir(folder)).toEqual([]);
  });

  // A role with unusable settings reports them once; repeated restarts would hide the message.
  it('stops when a role refuses its configuration, with the sentence of that role', async () => {
    const up = startUp(await tempFolder(), { TIDEMARK_REFRESH_CRON: 'every now and then' });
    expect(await up.exitCode).toBe(78);
    expect(up.lines.findLast((line) => line.startsWith('tidemark: '))).toMatch(
      /^tidemark: metadata exited with code 78 while starting/,
    );
    expect(up.lines.slice(-15).join('\n')).toContain('every now and then');
  });
});

describe('tidemark up on engines that run already', () => {
  let engines: TestEngines;
  let folder: string;
  beforeAll(async () => {
    engines = await startEngines({ nats: true, questdb: true, clickhouse: true });
    folder = join(engines.folder, 'up');
  });
  afterAll(() => engines?.stop());

  it('makes no records of a demo where none is asked for', async () => {
    const up = startUp(folder, engines.env, ['--no-demo']);
    await untilReady(up);
    const { admin } = await installationOn(folder);
    for (const path of ['custom-reports', 'applications']) {
      const headers = { authorization: `Bearer ${admin.token}` };
      const answer = await fetch(`${admin.url}/api/v1/${path}`, { headers });
      expect([path, await answer.json()]).toEqual([path, { items: [], next_cursor: null }]);
    }
    expect(up.lines.join('\n')).not.toContain('Credentials of the demo');
    up.child.kill('SIGTERM');
    expect(await up.exitCode).toBe(0);
  });

  // The shell and the kernel may send one each: the second is nobody who is tired of waiting.
  it('stops in order at the end of its terminal, however often SIGHUP comes', async () => {
    const up = startUp(folder, engines.env, ['--no-demo']);
    await untilReady(up);
    const children = childrenOf(up.child.pid);
    up.child.kill('SIGHUP');
    await waitFor('it stops', 10_000, () => up.lines.some((line) => line.startsWith('Stopping')));
    up.child.kill('SIGHUP');
    expect(await up.exitCode).toBe(0);
    expect(children.filter(isAlive)).toEqual([]);
    expect((await readdir(folder)).filter((name) => name.includes('lock'))).toEqual([]);
  });

  it('passes SIGUSR2 on to its roles, and goes on', async () => {
    const up = startUp(folder, engines.env, ['--no-demo']);
    await untilReady(up);
    const children = childrenOf(up.child.pid);
    up.child.kill('SIGUSR2');
    const changed = /^(ingress|transfer|metadata) +\|.* the log level has changed log_level="debug"$/;
    const roles = () => new Set(up.lines.flatMap((line) => changed.exec(line)?.[1] ?? []));
    await waitFor('each role has changed its level', 10_000, () => roles().size === 3);
    expect(childrenOf(up.child.pid)).toEqual(children);
    up.child.kill('SIGTERM');
    expect(await up.exitCode).toBe(0);
  });

  it('starts none of its own', async () => {
    const up = startUp(folder, engines.env);
    await untilReady(up);
    expect(childrenOf(up.child.pid)).toHaveLength(3);
    // Addresses without what opens them.
    expect(up.lines.join('\n')).toContain(`QuestDB          ${new URL(engines.questdb.url).origin}`);
    expect(up.lines.join('\n')).not.toContain(new URL(engines.questdb.url).password);
    expect(await pasteBelow(up, 'Push a point')).toBe(pushed);
    // Each store has a disk of its own, and only one of them tells its space.
    const disks = await paste(up, 'tidemark usage --disk');
    expect(disks).toMatch(/^questdb +questdb .* not known$/m);
    expect(disks).toMatch(/^clickhouse +clickhouse .*( days?|10 years)$/m);
    expect(disks).toContain('questdb: QuestDB does not report the space of its disk');
    up.child.kill('SIGINT');
    expect(await up.exitCode).toBe(0);
    expect(engines.nats.running).toBe(true);
  });
});
