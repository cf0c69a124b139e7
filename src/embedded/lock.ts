import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Another `tidemark up` runs on the same data folder. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError';
}

const holderSchema = z.object({ pid: z.number().int(), startedAt: z.string() });

/** When a process started, in the kernel's ticks: tells it from a later one with the same number. Linux only. */
const startOf = async (pid: number): Promise<string> => {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name may hold spaces and brackets; the fields after it do not.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

/** Process id of the living holder of the lock, undefined when it was left behind. */
const livingHolder = async (path: string): Promise<number | undefined> => {
  try {
    const { pid, startedAt } = holderSchema.parse(JSON.parse(await readFile(path, 'utf8')));
    return isAlive(pid) && (await startOf(pid)) === startedAt ? pid : undefined;
  } catch {
    return undefined;
  }
};

const isTaken = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EEXIST';

/** Links a written file into place: nobody ever sees a lock without its holder. */
const take = async (own: string, path: string, folder: string): Promise<void> => {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      return await link(own, path);
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
    const holder = await livingHolder(path);
    if (holder !== undefined) {
      throw new FolderInUseError(
        `tidemark up already runs on ${folder} (process ${holder}): stop it first, or choose another folder by TIDEMARK_DATA.`,
      );
    }
    await rm(path, { force: true });
  }
  throw new FolderInUseError(`Another tidemark up is starting on ${folder} right now.`);
};

/**
 * Makes this process the only one on `folder` until the returned function is called. A lock that a dead process left
 * behind is taken over. Throws FolderInUseError with one sentence that names the holder.
 */
export const lockFolder = async (folder: string): Promise<() => Promise<void>> => {
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'up.lock');
  const own = `${path}.${process.pid}`;
  await writeFile(own, JSON.stringify({ pid: process.pid, startedAt: await startOf(process.pid) }));
  try {
    await take(own, path, folder);
  } finally {
    await rm(own, { force: true });
  }
  return () => rm(path, { force: true });
};
