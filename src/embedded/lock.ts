import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

/** Another `tidemark up`, or an engine that one left behind, is on the same data folder. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError';
}

/**
 * The folder belongs to this process while it holds the lock: by the kernel, for every process and container of this
 * machine.
 */
export type FolderLock = {
  /** Held by every process that has it open, too: pass it to each process that writes into the folder. */
  readonly fd: number;
  /** Gives the folder back, where no such process is left. */
  release(): void;
};

const fileName = 'up.lock';

const holderSchema = z.looseObject({ pid: z.number().int(), startedAt: z.string() });
type Holder = z.infer<typeof holderSchema>;

/** States of a process that has ended and is only still listed. */
const ended = ['Z', 'X'];

/**
 * When a process started, in the kernel's ticks: distinguishes it from a later one with the same number. Empty where
 * there is none. Linux only.
 */
const startOf = (pid: number): string => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name may hold spaces and brackets; the fields after it do not.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ended.includes(fields[0] ?? '') ? '' : (fields[19] ?? '');
  } catch {
    return '';
  }
};

/** The process that noted in the file that it holds the folder; undefined without a note. */
const holderIn = (path: string): Holder | undefined => {
  try {
    return holderSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
};

/**
 * Whether this process is visible: the number of one in another container is unused here, or belongs to another
 * process.
 */
const isSeen = ({ pid, startedAt }: Holder): boolean => startedAt !== '' && startOf(pid) === startedAt;

/**
 * flock(2) on an open file, by the command of that name: the lock is the open file's, so it stays when the command ends. False when
 * another open file has it.
 */
const tryFlock = (fd: number, mode: 'exclusive' | 'shared'): boolean => {
  const { status, error, stderr } = spawnSync('flock', [mode === 'exclusive' ? '-x' : '-s', '-n', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', fd],
    encoding: 'utf8',
  });
  if (status === 0) return true;
  if (status === 1 && stderr === '') return false;
  throw new Error(
    `The data folder cannot be locked: ${error?.message ?? stderr.trim()}. Install flock (util-linux), and use a local file system.`,
  );
};

const isSameFile = (path: string, fd: number): boolean => {
  try {
    const [named, open] = [statSync(path), fstatSync(fd)];
    return named.ino === open.ino && named.dev === open.dev;
  } catch {
    return false;
  }
};

/** The visible processes that have this file open, as `name (process 5)`. */
const openersOf = (path: string): string[] => {
  const found: string[] = [];
  for (const pid of readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && Number(name) !== process.pid,
  )) {
    try {
      const files = readdirSync(`/proc/${pid}/fd`);
      if (files.some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === path))
        found.push(`${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()} (process ${pid})`);
    } catch {
      // It ended, or belongs to another user.
    }
  }
  return found;
};

const refusal = (folder: string, path: string): FolderInUseError => {
  const way = 'or set TIDEMARK_DATA to another folder.';
  const holder = holderIn(path);
  if (holder !== undefined && isSeen(holder)) {
    return new FolderInUseError(
      `tidemark up already runs on ${folder} (process ${holder.pid}): stop it first, ${way}`,
    );
  }
  const openers = openersOf(path);
  return new FolderInUseError(
    openers.length > 0
      ? `Processes of an earlier tidemark up still use ${folder}: ${openers.join(', ')}. Stop them first, ${way}`
      : `tidemark up already runs on ${folder}, in another container or as another user: stop it first, ${way}`,
  );
};

/** The file under its present name, locked; undefined while another process has it. */
const openLocked = (path: string): number | undefined => {
  for (;;) {
    const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    let isOurs = false;
    try {
      if (!tryFlock(fd, 'exclusive')) return undefined;
      // Its former holder may have removed it between the opening and the lock here: then no other process will find
      // it.
      isOurs = isSameFile(path, fd);
      if (isOurs) return fd;
    } finally {
      if (!isOurs) closeSync(fd);
    }
  }
};

/** How long a holder may take to end: a killed process dies while its successor starts. Shorter for a visible one. */
const dyingMs = { seen: 500, unseen: 5_000 } as const;
const pollMs = 50;

/**
 * Makes this process the only one on `folder`, which must exist, until it releases it or dies and no process that
 * inherited the lock is left. Throws FolderInUseError with one sentence that names the holder: after half a second
 * where that process is visible, else after five. Holds for all processes and containers of one machine; not over a
 * network file system.
 */
export const lockFolder = async (folder: string): Promise<FolderLock> => {
  const path = join(folder, fileName);
  const begunAt = performance.now();
  for (;;) {
    const fd = openLocked(path);
    const holder = holderIn(path);
    const isHeld = holder !== undefined && isSeen(holder);
    // An older version notes itself in the file, and does not lock it.
    if (fd !== undefined && (!isHeld || holder.pid === process.pid)) {
      ftruncateSync(fd);
      writeSync(fd, JSON.stringify({ pid: process.pid, startedAt: startOf(process.pid) }), 0);
      return {
        fd,
        release: () => {
          if (isSameFile(path, fd)) rmSync(path);
          closeSync(fd);
        },
      };
    }
    if (fd !== undefined) closeSync(fd);
    const waitedMs = performance.now() - begunAt;
    if (waitedMs > dyingMs[isHeld ? 'seen' : 'unseen']) throw refusal(folder, path);
    await delay(pollMs);
  }
};

/** Whether any process holds the folder now. */
export const isLocked = (folder: string): boolean => {
  let fd: number;
  try {
    fd = openSync(join(folder, fileName), constants.O_RDONLY);
  } catch {
    return false;
  }
  try {
    return !tryFlock(fd, 'shared');
  } finally {
    closeSync(fd);
  }
};
