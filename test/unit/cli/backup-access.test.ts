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

  /** A server that says this of its first backup. */
  const failing = (error: string): Clickhouse => ({
    ping: async () => {},
    insert: async () => 0,
    run: async () => {},
    rows: async (schema) => [schema.parse({ status: 'BACKUP_FAILED', error })],
    close: async () => {},
  });
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

  // Of another user, as after a backup of an earlier version that root ran.
  it('is named with what opens it where the server may not write there, and without the stack of the server', async () => {
    fs.mkdirSync(files);
    const said =
      'Code: 1001. DB::Exception: std::__1::__fs::filesystem::filesystem_error: filesystem error: in create_directories: Permission denied ["/var/lib/clickhouse/backups/x"], Stack trace: 0. ./contrib/llvm';
    await expect(move(said)).rejects.toMatchObject({
      kind: 'permanent',
      code: 'file_unwritable',
      message: expect.stringMatching(
        new RegExp(`^${files} has to belong to the user of ClickHouse .*chown --reference=\\S+ ${files}`),
      ),
    });
    await expect(move(said)).rejects.not.toThrow(/Stack trace/);
    expect(fs.existsSync(files)).toBe(true);
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
