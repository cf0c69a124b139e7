import { execFile } from 'node:child_process';
import { chmod, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readCredentials } from '../../../src/config/engine-credentials.ts';
import { engineUrls, loadSettings } from '../../../src/config/settings.ts';
import { ensureCredentials } from '../../../src/embedded/credentials.ts';
import { openDataFolder } from '../../../src/embedded/data-folder.ts';
import { withoutAccount } from '../../../src/embedded/installation.ts';
import { runCli } from '../../support/clients/cli.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const envOf = (folder: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  TIDEMARK_DATA: folder,
  ...more,
});

describe('the credentials of the engines', () => {
  it('are made once, long and different, in a file of its owner alone', async () => {
    const folder = await tempFolder();
    const made = await ensureCredentials(folder);
    expect(await ensureCredentials(folder)).toEqual(made);
    expect(readCredentials(folder)).toEqual(made);
    const { nats, questdb, clickhouse } = made;
    const passwords = [nats, questdb, clickhouse].map(({ password }) => password);
    const all = [...passwords, questdb.readonlyPassword, clickhouse.readonlyPassword];
    expect(new Set(all).size).toBe(5);
    for (const password of all) expect(password).toMatch(/^[0-9a-f]{48}$/);
    expect((await stat(join(folder, 'credentials.json'))).mode & 0o777).toBe(0o600);
  });

  // New ones would lock out every user of the old ones.
  it('are not replaced where their file cannot be read', async () => {
    const folder = await tempFolder();
    const path = join(folder, 'credentials.json');
    await writeFile(path, '{"nats": {}}');
    await expect(ensureCredentials(folder)).rejects.toThrow(`${path} does not contain the credentials`);
    expect(await readFile(path, 'utf8')).toBe('{"nats": {}}');
  });

  it('give roles and commands on this data folder access, and none to an address that is set', async () => {
    const folder = await tempFolder();
    const { nats, questdb } = await ensureCredentials(folder);
    const urls = engineUrls(
      loadSettings({ TIDEMARK_DATA: folder, TIDEMARK_CLICKHOUSE_URL: 'http://clickhouse.example:8123' }),
    );
    expect(urls).toEqual({
      nats: `nats://tidemark:${nats.password}@127.0.0.1:4222`,
      questdb: `http://tidemark:${questdb.password}@127.0.0.1:9000`,
      clickhouse: 'http://clickhouse.example:8123',
    });
  });
});

describe('the data folder', () => {
  it('is closed to others, also one that an older version left open', async () => {
    const mask = process.umask();
    try {
      const folder = await tempFolder();
      await chmod(folder, 0o755);
      openDataFolder(folder);
      openDataFolder(join(folder, 'new'));
      for (const path of [folder, join(folder, 'new')]) expect((await stat(path)).mode & 0o777).toBe(0o700);
      await writeFile(join(folder, 'file'), '');
      expect((await stat(join(folder, 'file'))).mode & 0o777).toBe(0o600);
    } finally {
      process.umask(mask);
    }
  });
});

it.each([
  ['nats://user:pw@a:1,nats://user:pw@b:2', 'nats://a:1,nats://b:2'],
  ['http://user:p%40w@a:1', 'http://a:1'],
  ['http://a:1', 'http://a:1'],
])('an address is shown without its credentials: %s', (url, shown) => {
  expect(withoutAccount(url)).toBe(shown);
});

describe('tidemark env', () => {
  it('reports that there are no credentials yet, and ends with 1', async () => {
    const folder = await tempFolder();
    const { code, stdout, stderr } = await runCli(['env'], envOf(folder));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`${folder} has no credentials`);
  });

  it('prints the known values as one object, and reports on stderr that nothing runs', async () => {
    const folder = await tempFolder();
    const { nats, questdb, clickhouse } = await ensureCredentials(folder);
    await writeFile(join(folder, 'admin.token'), 'abc\n');
    const { code, stdout, stderr } = await runCli(['env', '--json'], envOf(folder));
    expect(code).toBe(0);
    expect(stderr).toContain('tidemark up is not running');
    const access = ({ user, password, readonlyUser, readonlyPassword }: typeof questdb) => ({
      user,
      password,
      readonly_user: readonlyUser,
      readonly_password: readonlyPassword,
    });
    expect(JSON.parse(stdout)).toEqual({
      push_url: 'http://127.0.0.1:10205',
      otlp_url: 'http://127.0.0.1:4318',
      admin: { url: 'http://127.0.0.1:10300', token: 'abc' },
      questdb: {
        url: 'http://127.0.0.1:9000',
        pg_url: 'postgresql://127.0.0.1:8812/qdb',
        ...access(questdb),
      },
      clickhouse: { url: 'http://127.0.0.1:8123', ...access(clickhouse) },
      nats: { url: 'nats://127.0.0.1:4222', monitor_url: null, ...nats },
    });
  });

  it('prints lines that a shell accepts, with any values, and no setting of the program', async () => {
    const folder = await tempFolder();
    const { questdb } = await ensureCredentials(folder);
    const token = `a'b "c" $(false) \\`;
    const env = envOf(folder, { TIDEMARK_ADMIN_TOKEN: token });
    const { stdout: lines } = await runCli(['env'], env);
    expect(lines).not.toMatch(/TIDEMARK_/);
    const script =
      'eval "$LINES"; printf "%s\\n" "$ADMIN_TOKEN" "$QUESTDB_READONLY_PASSWORD" "$NATS_MONITOR_URL"';
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { env: { LINES: lines } });
    expect(stdout.split('\n')).toEqual([token, questdb.readonlyPassword, '', '']);
  });

  it('takes user and password of an engine of one’s own out of its address', async () => {
    const env = envOf(await tempFolder(), {
      TIDEMARK_NATS_URL: 'nats://n.example:4222',
      TIDEMARK_QUESTDB_URL: 'http://points:p%40w@q.example:9000',
      TIDEMARK_CLICKHOUSE_URL: 'http://c.example:8123',
    });
    const { stdout } = await runCli(['env', '--json'], env);
    const none = { readonly_user: null, readonly_password: null };
    expect(JSON.parse(stdout)).toMatchObject({
      questdb: { url: 'http://q.example:9000', pg_url: null, user: 'points', password: 'p@w', ...none },
      clickhouse: { url: 'http://c.example:8123', user: null, password: null, ...none },
      nats: { url: 'nats://n.example:4222', user: null, password: null },
    });
  });
});

describe('a data folder that cannot be read', () => {
  // A loop of links stands for a folder of another user: it is refused to every user.
  const folderWithLoops = async (): Promise<string> => {
    const folder = await tempFolder();
    for (const name of ['admin.token', 'credentials.json']) await symlink(name, join(folder, name));
    return folder;
  };

  it.each([
    ['env', 'no credentials'],
    ['report list', 'no admin token'],
  ])('is reported with its file, its error and the remedy, not as a missing file: %s', async (line, what) => {
    const folder = await folderWithLoops();
    const { stderr } = await runCli(line.split(' '), envOf(folder));
    expect(stderr).toContain(what);
    expect(stderr).toMatch(/(admin\.token|credentials\.json) cannot be read \(ELOOP\): run it as the user/);
  });

  it.each(['env', 'report list'])('may be a plain file, which is no folder: %s', async (line) => {
    const path = join(await tempFolder(), 'plain');
    await writeFile(path, '');
    const { stderr } = await runCli(line.split(' '), envOf(path));
    expect(stderr).toContain(`${path} is not a folder: set TIDEMARK_DATA to a folder`);
  });

  it('is refused to tidemark up with the remedy', async () => {
    const path = join(await tempFolder(), 'plain');
    await writeFile(path, '');
    const mask = process.umask();
    try {
      expect(() => openDataFolder(path)).toThrow(`${path} cannot be the data folder (EEXIST`);
    } finally {
      process.umask(mask);
    }
  });
});
