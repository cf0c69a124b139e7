import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FolderInUseError, isLocked, lockFolder } from '../../src/embedded/lock.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

const lockModule = JSON.stringify(resolve('src/embedded/lock.ts'));

/** A process that takes the lock, prints a line, and runs `then`. */
const holderOf = async (folder: string, then: string, prefix: readonly string[] = []) => {
  const script = `
    import { spawn } from 'node:child_process';
    import { lockFolder } from ${lockModule};
    const lock = await lockFolder(${JSON.stringify(folder)}).catch((error) => {
      console.log(error.message);
      process.exit(1);
    });
    ${then}`;
  const [command = '', ...args] = [
    ...prefix,
    ...[process.execPath, '--input-type=module-typescript', '-e', script],
  ];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const [line]: string[] = await once(createInterface({ input: child.stdout }), 'line');
  return { child, line: line ?? '' };
};

const isAloneInFolder = async (folder: string): Promise<void> => {
  const lock = await lockFolder(folder);
  lock.release();
};

describe('the lock of a data folder', () => {
  it('admits one living process and names it to the next', async () => {
    const folder = await tempFolder();
    const lock = await lockFolder(folder);
    await expect(lockFolder(folder)).rejects.toThrow(FolderInUseError);
    await expect(lockFolder(folder)).rejects.toThrow(
      `tidemark up already runs on ${folder} (process ${process.pid}): stop it first, or set TIDEMARK_DATA to another folder.`,
    );
    expect(isLocked(folder)).toBe(true);
    lock.release();
    expect(isLocked(folder)).toBe(false);
    expect(await readdir(folder)).toEqual([]);
    await isAloneInFolder(folder);
  });

  // A killed `up` leaves its file; another process may have its number now.
  it.each([
    ['of a dead process', { pid: 2 ** 22 + 1, startedAt: '1' }],
    ['of a number that another process has now', { pid: process.pid, startedAt: '1' }],
    ['that was never written', undefined],
  ])('is taken over when it is one %s', async (_what, content) => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'up.lock'), content === undefined ? '' : JSON.stringify(content));
    await isAloneInFolder(folder);
  });

  // One of before wrote its file and did not lock it.
  it('is respected when it is one of an older version that lives', async () => {
    const folder = await tempFolder();
    const parent = process.ppid;
    const stat = await readFile(`/proc/${parent}/stat`, 'utf8');
    const startedAt = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    const content = JSON.stringify({ pid: parent, startedAt });
    await writeFile(join(folder, 'up.lock'), content);
    await expect(lockFolder(folder)).rejects.toThrow(`(process ${parent})`);
    expect(await readFile(join(folder, 'up.lock'), 'utf8')).toBe(content);
  });

  it('goes with the process that is killed', async () => {
    const folder = await tempFolder();
    const { child, line } = await holderOf(folder, "console.log('held'); setInterval(() => {}, 1000);");
    expect(line).toBe('held');
    await expect(lockFolder(folder)).rejects.toThrow(`(process ${child.pid})`);
    child.kill('SIGKILL');
    await isAloneInFolder(folder);
  });

  // An engine that outlives its `up` for a moment still writes: the next one has to wait for it.
  it('stays with a child that inherited it, names that child, and ends with it', async () => {
    const folder = await tempFolder();
    const { child, line } = await holderOf(
      folder,
      `const engine = spawn('sleep', ['600'], { stdio: ['ignore', 'ignore', 'ignore', lock.fd], detached: true });
      console.log(engine.pid);
      setInterval(() => {}, 1000);`,
    );
    const engine = Number(line);
    onTestFinished(() => {
      try {
        process.kill(engine, 'SIGKILL');
      } catch {
        // It has ended.
      }
    });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isLocked(folder)).toBe(true);
    await expect(lockFolder(folder)).rejects.toThrow(
      `Processes of an earlier tidemark up still use ${folder}: sleep (process ${engine}). Stop them first`,
    );
    const waiting = lockFolder(folder);
    process.kill(engine, 'SIGKILL');
    (await waiting).release();
  });

  it('is not taken away from the next holder by one whose file was removed', async () => {
    const folder = await tempFolder();
    const first = await lockFolder(folder);
    await rm(join(folder, 'up.lock'));
    const second = await lockFolder(folder);
    first.release();
    expect(isLocked(folder)).toBe(true);
    await expect(lockFolder(folder)).rejects.toThrow(FolderInUseError);
    second.release();
  });

  it('leaves no open file where another process has it', async () => {
    const folder = await tempFolder();
    const lock = await lockFolder(folder);
    const files = '/proc/self/fd';
    /** Those of this folder: other files of tests share the process. */
    const open = async (): Promise<string[]> => {
      const targets = (await readdir(files)).map((name) => readlink(join(files, name)).catch(() => ''));
      return (await Promise.all(targets)).filter((target) => target.startsWith(folder));
    };
    const before = await open();
    expect(before).toHaveLength(1);
    await expect(lockFolder(folder)).rejects.toThrow(FolderInUseError);
    expect(await open()).toEqual(before);
    lock.release();
    expect(() => closeSync(lock.fd)).toThrow(/EBADF/);
  });
});

const unshare = ['unshare', '--pid', '--fork', '--net', '--mount-proc'];
const canUnshare = spawnSync(unshare[0] ?? '', [...unshare.slice(1), 'true']).status === 0;

// In another container a process number has no meaning: it is unused there, or belongs to another process.
it.skipIf(!canUnshare)(
  'the lock of a data folder holds for another PID and network namespace too (where unshare is permitted)',
  async () => {
    const folder = await tempFolder();
    const lock = await lockFolder(folder);
    const other = await holderOf(folder, "console.log('held');", unshare);
    expect(other.line).toBe(
      `tidemark up already runs on ${folder}, in another container or as another user: stop it first, or set TIDEMARK_DATA to another folder.`,
    );
    expect(isLocked(folder)).toBe(true);
    lock.release();
    expect((await holderOf(folder, "console.log('held');", unshare)).line).toBe('held');
  },
);
