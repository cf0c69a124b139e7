import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fileListName } from '../../../src/cli/streams-backup/file-list.ts';
import { fileName } from '../../../src/cli/streams-backup/folder.ts';
import {
  checkDatabaseFiles,
  finishWithList,
  readWholeFolder,
} from '../../../src/cli/streams-backup/whole-folder.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const partition = join('questdb', 'db', 'points~1', '2026-11-20.1');
const column = join(partition, 'value.d');
const data = join('clickhouse', 'data', 'otel', 'otel_traces', 'all_1_1_0', 'data.bin');
// Their order as paths is not that of their folders.
const others = [
  join('questdb', 'db', 'points~1.lock'),
  join('questdb', 'db', 'points', 'a'),
  join('clickhouse', 'back\\slash'),
  join('clickhouse', 'line\nbreak'),
  join('clickhouse', 'separator\u2028'),
];

const backup = { program: '1.0.0', started_at: '2026-11-23T02:10:00.000Z' };
const parts = ['nats', 'questdb', 'clickhouse'];

let folder: string;

const write = (path: string, content: string | Buffer): void => {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), content);
};
const change = (path: string, at: number): void => {
  const bytes = readFileSync(join(folder, path));
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(join(folder, path), bytes);
};
const check = async (): Promise<number | undefined> =>
  checkDatabaseFiles(folder, await readWholeFolder(folder));

beforeEach(async () => {
  folder = await tempFolder();
  // Larger than what is read at once.
  write(column, Buffer.alloc(3 * 1024 * 1024, 'points'));
  write(join(partition, 'timestamp.d'), 'times');
  write(data, 'spans');
  for (const path of others) write(path, path);
  write(join('nats', 'METRICS.snapshot'), 'messages');
  await finishWithList(folder, { ...backup, parts });
});

describe('the list of files of a backup', () => {
  it('has every file of the databases, and agrees with an untouched copy', async () => {
    expect(await check()).toBe(3 + others.length);
    const copy = join(await tempFolder(), 'copy');
    cpSync(folder, copy, { recursive: true });
    folder = copy;
    expect(await check()).toBe(3 + others.length);
    expect(statSync(join(folder, fileListName)).mode & 0o077).toBe(0);
  });

  // Where there is no tidemark; a command of docs/operations.md.
  it('is read by sha256sum without its second column', () => {
    const command = `sed 's/ [0-9]* /  /' ${fileListName} | sha256sum -c --quiet --strict`;
    execFileSync('sh', ['-c', command], { cwd: folder, stdio: 'pipe' });
    change(data, 0);
    expect(() => execFileSync('sh', ['-c', command], { cwd: folder, stdio: 'pipe' })).toThrow();
  });

  // The number is what an operator reads as the size of the check.
  it('is refused where backup.json has another number of files', async () => {
    const { files, parts: listed } = await readWholeFolder(folder);
    const count = (files?.count ?? 0) + 1000;
    const claimed = { parts: listed, ...(files && { files: { ...files, count } }) };
    await expect(checkDatabaseFiles(folder, claimed)).rejects.toMatchObject({
      code: 'backup_unusable',
      message: expect.stringContaining(`${fileListName} has ${3 + others.length} files instead of ${count}`),
    });
  });

  it('of more files than one write has agrees, too', async () => {
    for (let i = 0; i < 2_500; i++) write(join(partition, `column${i}.d`), `${i}`);
    await finishWithList(folder, { ...backup, parts });
    expect(await check()).toBe(2_503 + others.length);
  });
});

describe('a restore refuses copies of databases, and names what differs,', () => {
  it.each([
    [
      'a partition folder is missing',
      () => rmSync(join(folder, partition), { recursive: true }),
      [`2 files .*: ${join(partition, 'timestamp.d')} is missing; ${column} is missing$`],
    ],
    ['a file is missing', () => rmSync(join(folder, column)), [`1 file .*: ${column} is missing$`]],
    [
      'the folder of a database is missing',
      () => rmSync(join(folder, 'questdb'), { recursive: true }),
      ['^.*: 4 files'],
    ],
    ['a file is shorter', () => truncateSync(join(folder, column), 5), [`${column} has 5 bytes of 3145728`]],
    ['a file is longer', () => appendFileSync(join(folder, data), 'x'), [`${data} has 6 bytes of 5`]],
    ['a file has zeros', () => write(data, Buffer.alloc(5)), [`1 file .*: ${data} was changed$`]],
    [
      'a bit is another in the last piece of a file',
      () => change(column, 3 * 1024 * 1024 - 1),
      [`1 file .*: ${column} was changed$`],
    ],
    ['a file was added', () => write(join(partition, 'x.d'), ''), [`1 file .*: ${partition}/x.d was added$`]],
    [
      'a file is a folder now',
      () => {
        rmSync(join(folder, data));
        write(join(data, 'inner'), '');
      },
      [`2 files .*: ${data} is missing; ${data}/inner was added$`],
    ],
    ['the list is missing', () => rmSync(join(folder, fileListName)), [`${fileListName} cannot be read`]],
    [
      'a line of the list is missing',
      () => {
        const text = readFileSync(join(folder, fileListName), 'utf8');
        writeFileSync(join(folder, fileListName), text.slice(text.indexOf('\n') + 1));
      },
      [`${fileListName} was changed after the backup$`],
    ],
  ] as const)('where %s', async (_, damage, [message]) => {
    damage();
    await expect(check()).rejects.toMatchObject({
      kind: 'permanent',
      code: 'backup_unusable',
      message: expect.stringMatching(new RegExp(message)),
    });
  });

  it('of many the first five and their number', async () => {
    for (let i = 0; i < 7; i++) write(join(partition, `z${i}`), '');
    await expect(check()).rejects.toThrow(/7 files .*z0 was added; .*z4 was added; and 2 more$/);
  });
});

it('a backup without a list, of an earlier version, is taken without a comparison', async () => {
  const { files: _, ...earlier } = JSON.parse(readFileSync(join(folder, fileName), 'utf8'));
  writeFileSync(join(folder, fileName), JSON.stringify(earlier));
  expect(await check()).toBeUndefined();
});

it('a backup that is stopped while it lists files ends with an error', async () => {
  await expect(finishWithList(folder, { ...backup, parts }, AbortSignal.abort())).rejects.toMatchObject({
    code: 'copy_failed',
  });
});
