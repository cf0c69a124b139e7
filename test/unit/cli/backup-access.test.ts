import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { backUpAll } from '../../../src/cli/streams-backup/back-up.ts';
import { requireReadableSources } from '../../../src/cli/streams-backup/readable.ts';
import { moveClickhouse } from '../../../src/cli/streams-backup/stores.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import type { Clickhouse } from '../../../src/stores/clickhouse/client.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

// As root, which tests may run as, everything can be read.
const closeToThisUser = (closed: string): void => {
  const { access } = fs.promises;
  vi.spyOn(fs.promises, 'access').mockImplementation(async (path, mode) => {
    if (path === closed) throw Object.assign(new Error(`EACCES: ${closed}`), { code: 'EACCES' });
    await access(path, mode);
  });
  syncBuiltinESMExports();
};

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

describe('what a backup may not read', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await tempFolder();
    for (const path of ['data', 'questdb/db/points~1', 'clickhouse/backups', 'to'])
      fs.mkdirSync(join(folder, path), { recursive: true });
    fs.writeFileSync(join(folder, 'data/admin.token'), 'secret', { mode: 0o600 });
  });

  // The token was copied after everything else, hours later.
  it.each(['data/admin.token', 'questdb', 'questdb/db', 'questdb/db/points~1', 'clickhouse/backups'])(
    'is reported before anything is copied, with its owner and the user of the backup: %s',
    async (path) => {
      const closed = join(folder, path);
      closeToThisUser(closed);
      // No NATS answers there: a backup that begins ends with another fault.
      const settings = loadSettings({
        TIDEMARK_DATA: join(folder, 'data'),
        TIDEMARK_NATS_URL: 'nats://operator:word@127.0.0.1:1',
      });
      const files = {
        questdbRoots: [['default', join(folder, 'questdb')]] as const,
        clickhouseFiles: join(folder, 'clickhouse/backups'),
        clickhouseTo: undefined,
      };
      const to = join(folder, 'to');
      const watch = { onStream: () => {}, onDatabase: () => {} };
      const failed = backUpAll(
        settings,
        { name: 'one', path: to },
        files,
        false,
        // It stops at once what would begin.
        { ...watch, signal: AbortSignal.abort() },
      );
      const owner = fs.statSync(closed).uid;
      await expect(failed).rejects.toMatchObject({
        kind: 'permanent',
        code: 'file_unreadable',
        message: expect.stringContaining(
          `${closed}, of user ${owner}, cannot be read by user ${process.getuid?.()} `,
        ),
      });
      expect(fs.readdirSync(to)).toEqual([]);
    },
  );
});

// Another user would find the same.
it('a link in a circle is none of what a backup may not read: the copy names it', async () => {
  const db = join(await tempFolder(), 'db');
  fs.mkdirSync(db);
  fs.symlinkSync('circle', join(db, 'circle'));
  await expect(requireReadableSources(db, [join(db, '..')], undefined)).resolves.toBeUndefined();
});

describe('the folder of backups that ClickHouse writes to', () => {
  let files: string;

  /** A server that says this of its first backup, with the name of that for {name}. */
  const failing = (error: string): Clickhouse => {
    let name = '';
    return {
      ping: async () => {},
      insert: async () => 0,
      run: async (statement) => {
        name = /File\('(.+)'\)/.exec(statement)?.[1] ?? '';
      },
      rows: async (schema) => [
        schema.parse({ status: 'BACKUP_FAILED', error: error.replace('{name}', name) }),
      ],
      close: async () => {},
    };
  };
  const move = (error: string): Promise<void> =>
    moveClickhouse(
      { clickhouse: failing(error), cluster: undefined, name: 'one' },
      { files, to: join(files, '../../copy') },
    );

  beforeEach(async () => {
    const folder = join(await tempFolder(), 'clickhouse');
    fs.mkdirSync(folder);
    files = join(folder, 'backups');
  });

  const withStack = (reason: string): string =>
    `${reason}, Stack trace (when copying this message, always include the lines below):\n\n0. ? @ 0x00007f8982`;
  const closed =
    'std::exception. Code: 1001, type: std::__1::filesystem::filesystem_error, e.what() = filesystem error: in create_directories: Permission denied ["/var/lib/clickhouse/backups/{name}"]';

  const belongsTo = (path: string, uid: number): void => {
    const { stat } = fs.promises;
    vi.spyOn(fs.promises, 'stat').mockImplementation(async (of) =>
      Object.assign(await stat(of), of === path ? { uid } : {}),
    );
    syncBuiltinESMExports();
  };

  // Of another user, as after a backup of an earlier version that root ran. A folder above that is one of root leads back to root.
  it.each([
    ['of ClickHouse', 101, (above: string) => [`--reference=${above}`, `--reference=${above}`]],
    ['of root', 0, () => ['--reference=<data folder of ClickHouse>', '750']],
  ])(
    'is named, below a folder %s, with what opens it where the server may not write there, and with its reason',
    async (_, uid, options) => {
      fs.mkdirSync(files);
      const above = join(files, '..');
      belongsTo(above, uid);
      const [owner, mode] = options(above);
      const failed = await move(withStack(closed)).catch((error: unknown) => error);
      expect(failed).toMatchObject({ kind: 'permanent', code: 'file_unwritable' });
      expect(String(failed)).toContain(
        `${files} has to belong to the user of ClickHouse: mkdir -p ${files} && chown ${owner} ${files} && chmod ${mode} ${files} (ClickHouse: BACKUP_FAILED std::exception`,
      );
      expect(String(failed)).toMatch(
        /Permission denied \["\/var\/lib\/clickhouse\/backups\/tidemark-one-[0-9a-f]{8}"\]\)$/,
      );
      expect(fs.existsSync(files)).toBe(true);
    },
  );

  // Its owner was changed by a copy of the data, for instance.
  it('is not blamed for a file of a table that the server may not read, which is named', async () => {
    fs.mkdirSync(files);
    const reason =
      'Code: 76. DB::ErrnoException: Cannot open file /var/lib/tidemark/clickhouse/store/63d/63dd45f0/all_1_1_0/count.txt: , errno: 13, strerror: Permission denied. (CANNOT_OPEN_FILE)';
    await expect(move(withStack(reason))).rejects.toMatchObject({
      kind: 'permanent',
      code: 'clickhouse_backup_failed',
      message: `ClickHouse: BACKUP_FAILED ${reason}`,
    });
  });

  it('is removed after a failure by the backup that made it', async () => {
    await expect(move('disk full')).rejects.toMatchObject({ code: 'clickhouse_backup_failed' });
    expect(fs.existsSync(files)).toBe(false);
  });

  it('is none where there is no ClickHouse', async () => {
    files = join(files, 'of', 'nothing');
    await expect(move('')).rejects.toMatchObject({ code: 'file_unreadable' });
  });

  // The server is another user: the umask of a backup closes what it makes to all others.
  it('gets the mode and the owner of the folder of ClickHouse', async () => {
    const above = join(files, '..');
    fs.chmodSync(above, 0o750);
    if (process.getuid?.() === 0) fs.chownSync(above, 101, 102);
    let made: fs.Stats | undefined;
    const clickhouse: Clickhouse = {
      ...failing('stop'),
      run: async () => {
        made = fs.statSync(files);
      },
    };
    const copy = { clickhouse, cluster: undefined, name: 'one' };
    await expect(moveClickhouse(copy, { files, to: join(above, '../copy') })).rejects.toThrow(/stop/);
    const { uid, gid } = fs.statSync(above);
    expect([(made?.mode ?? 0) & 0o777, made?.uid, made?.gid]).toEqual([0o750, uid, gid]);
  });
});
