import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { exists, isMissing, unwritable } from '../../runtime/files.ts';
import { fileName } from './folder.ts';

/** In the order of their names they are in that of their times. */
const named = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(?:-\d+)?$/;
const incomplete = '.incomplete';
/** The process of an older one was killed. */
const abandonedMs = 24 * 3_600_000;

const nameAt = (now: Date, attempt: number): string => {
  const seconds = now.toISOString().slice(0, 19).replaceAll(':', '-');
  return `${seconds}Z${attempt === 0 ? '' : `-${attempt}`}`;
};

/** A backup in the making. */
export type NamedFolder = {
  /** By the time of its start, UTC. No two backups have the same one. */
  readonly name: string;
  /** Where it is written. */
  readonly path: string;
  /** Gives it its name: a folder with such a name is a whole backup. Answers the path from then on. */
  finish(): Promise<string>;
  /** Removes it, so that a backup that failed takes no room from the next one. Permanent Fault `file_unwritable`. */
  discard(): Promise<void>;
};

/** Makes a folder for one backup among others. Permanent Fault `file_unwritable`. */
export const createNamedFolder = async (parent: string, now: Date): Promise<NamedFolder> => {
  try {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    for (let attempt = 0; ; attempt++) {
      const name = nameAt(now, attempt);
      const whole = join(parent, name);
      if (await exists(whole)) continue;
      const path = `${whole}${incomplete}`;
      // Without `recursive` it fails where another process makes the same one.
      const isOurs = await mkdir(path, { mode: 0o700 }).then(
        () => true,
        async (error: unknown) => {
          if (await exists(path)) return false;
          throw error;
        },
      );
      if (!isOurs) continue;
      return {
        name,
        path,
        finish: async () => {
          await rename(path, whole);
          return whole;
        },
        discard: () => removeAll(parent, [basename(path)]),
      };
    }
  } catch (error) {
    throw unwritable(parent, error);
  }
};

const removeAll = async (parent: string, names: readonly string[]): Promise<void> => {
  try {
    for (const name of names) await rm(join(parent, name), { recursive: true, force: true });
  } catch (error) {
    throw unwritable(parent, error);
  }
};

/** The entries of the folder in the order of their names; none where it is not there. */
const entriesOf = async (parent: string): Promise<string[]> => {
  try {
    return (await readdir(parent)).toSorted();
  } catch (error) {
    if (isMissing(error)) return [];
    throw unwritable(parent, error);
  }
};

const kindSchema = z.object({ format: z.string(), parts: z.array(z.string()).default([]) });

/** What a backup has copied, as a text; undefined for a folder that is no backup. */
const partsOf = async (folder: string): Promise<string | undefined> => {
  try {
    const { format, parts } = kindSchema.parse(JSON.parse(await readFile(join(folder, fileName), 'utf8')));
    return [format, ...parts.toSorted()].join(' ');
  } catch {
    return undefined;
  }
};

/**
 * Removes all but the newest `count` backups that have the same parts as `made`, the one just made, which stays. Those of later times
 * stay, too, and are not counted: the clock was ahead once, or another process has made one. Other entries stay. Permanent Fault
 * `file_unwritable`.
 */
export const keepNewest = async (
  parent: string,
  count: number,
  made: string,
): Promise<{ readonly removed: string[]; readonly later: string[] }> => {
  const whole = (await entriesOf(parent)).filter((name) => named.test(name));
  const parts = await partsOf(join(parent, made));
  const older: string[] = [];
  for (const name of whole)
    if (name < made && parts !== undefined && (await partsOf(join(parent, name))) === parts) older.push(name);
  const removed = older.slice(0, Math.max(0, older.length - (count - 1)));
  await removeAll(parent, removed);
  return { removed, later: whole.filter((name) => name > made) };
};

/**
 * Removes backups that were begun more than a day ago and never finished. Answers the removed names. Permanent Fault
 * `file_unwritable`.
 */
export const removeAbandoned = async (parent: string, now: Date): Promise<string[]> => {
  const begun = (await entriesOf(parent)).filter(
    (name) => name.endsWith(incomplete) && named.test(name.slice(0, -incomplete.length)),
  );
  const removed: string[] = [];
  for (const name of begun) {
    // Another process may have finished or removed it meanwhile.
    const stats = await stat(join(parent, name)).catch(() => undefined);
    if (stats === undefined) continue;
    if (now.getTime() - Math.max(stats.birthtimeMs, stats.mtimeMs) > abandonedMs) removed.push(name);
  }
  await removeAll(parent, removed);
  return removed;
};
