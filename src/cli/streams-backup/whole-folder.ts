import { createHash } from 'node:crypto';
import { copyFile, mkdir, opendir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { adminTokenPath } from '../../config/settings.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { isMissing, unwritable } from '../../runtime/files.ts';
import { checkFileList, writeFileList } from './file-list.ts';
import { closeToOthers, fileName, readDocument } from './folder.ts';

// What a later version adds is left aside; what changes the meaning gets another `version`.
const schema = z.object({
  format: z.literal('tidemark-backup'),
  version: z.literal(1),
  /** Of the program that made it. */
  program: z.string(),
  /** RFC 3339. Every item that was acknowledged before is in the copy. */
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime(),
  /** The folders of the copy, in the order of their copies: `nats`, `questdb`, `questdb-<instance>`, `clickhouse`. */
  parts: z.array(z.string().regex(/^[a-z][a-z0-9_-]{0,40}$/)).min(1),
  /** `files.txt`, which has the sums of the databases' files. Earlier versions wrote none. */
  files: z.object({ count: z.int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) }).optional(),
});

/** A whole backup: the engines' copies are folders beside its file `backup.json`. */
export type WholeBackup = z.output<typeof schema>;

/** Beside `backup.json`, in which earlier versions refuse every field that they do not know. */
export const timesName = 'times.json';

const timesSchema = z.object({
  /** `started_at` by the clock of ClickHouse, which writes the times of rows. */
  clickhouse_started_at: z.iso.datetime().optional(),
});

/** Further times of a whole backup. Earlier versions wrote none. */
export type BackupTimes = z.output<typeof timesSchema>;

/**
 * Makes the folder of a backup, or takes an empty one, which is closed to others from then on. Answers what removes it, or what it
 * holds where it was there before. Permanent Faults `folder_not_empty` and `file_unwritable`.
 */
export const createWholeFolder = async (folder: string): Promise<() => Promise<void>> => {
  try {
    // The first of the folders that were made, if any.
    const isOurs = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
    if ((await readdir(folder)).length === 0) {
      await closeToOthers(folder);
      return () => discardFolder(folder, isOurs);
    }
  } catch (error) {
    throw unwritable(folder, error);
  }
  throw new Fault(
    'permanent',
    'folder_not_empty',
    `${folder} is not empty: use a new folder for each backup, or --into <folder>, which makes one`,
  );
};

const discardFolder = async (folder: string, isOurs: boolean): Promise<void> => {
  try {
    const paths = isOurs ? [folder] : (await readdir(folder)).map((name) => join(folder, name));
    for (const path of paths) await rm(path, { recursive: true, force: true });
  } catch (error) {
    throw unwritable(folder, error);
  }
};

/** The first admin token, where this machine has it: the records hold only its hash. */
export const copyAdminToken = async (from: string, to: string): Promise<void> => {
  try {
    await copyFile(adminTokenPath(from), adminTokenPath(to));
  } catch (error) {
    if (!isMissing(error)) throw unwritable(to, error);
  }
};

/** Before the backup is made whole. Permanent Fault `file_unwritable`. */
export const writeTimes = async (folder: string, times: BackupTimes): Promise<void> => {
  try {
    await writeFile(join(folder, timesName), `${JSON.stringify(times)}\n`, { mode: 0o600, flush: true });
  } catch (error) {
    throw unwritable(folder, error);
  }
};

/** Makes the backup whole: without this file it is none. */
export const finishWholeFolder = async (
  folder: string,
  backup: Omit<WholeBackup, 'format' | 'version'>,
): Promise<void> => {
  const text = JSON.stringify({ format: 'tidemark-backup', version: 1, ...backup }, null, 2);
  try {
    const draft = join(folder, `${fileName}.draft`);
    await writeFile(draft, `${text}\n`, { mode: 0o600, flush: true });
    await rename(draft, join(folder, fileName));
  } catch (error) {
    throw unwritable(folder, error);
  }
};

const unusable = (folder: string, why: string): Fault =>
  new Fault('permanent', 'backup_unusable', `${folder} is not a whole backup of tidemark backup: ${why}`);

/**
 * Permanent Fault `backup_unusable` for a part with a link: what that led to is not in the copy, and a database on it would write to
 * the files of the first installation.
 */
export const requireNoLinks = async (folder: string, part: string): Promise<void> => {
  const path = join(folder, part);
  const entries = await opendir(path, { recursive: true }).catch((error: unknown) => {
    throw unusable(folder, `${path} cannot be read (${errorText(error)})`);
  });
  for await (const entry of entries)
    if (entry.isSymbolicLink())
      throw unusable(
        folder,
        `${join(entry.parentPath, entry.name)} is a link, whose files the copy lacks: make another backup with this version`,
      );
};

const isOfDatabase = (part: string): boolean => part !== 'nats';

/** Lists the files of the databases, and makes the backup whole. Faults of `writeFileList`. */
export const finishWithList = async (
  folder: string,
  backup: Omit<WholeBackup, 'format' | 'version' | 'files' | 'finished_at'>,
  signal?: AbortSignal,
): Promise<void> => {
  const files = await writeFileList(folder, backup.parts.filter(isOfDatabase), signal);
  await finishWholeFolder(folder, { ...backup, finished_at: new Date().toISOString(), files });
};

/**
 * Compares each file of the databases with its sum; answers how many were compared, or undefined where the backup has no sums. Permanent Fault
 * `backup_unusable`, which names the first that differ.
 */
export const checkDatabaseFiles = async (
  folder: string,
  { parts, files }: Pick<WholeBackup, 'parts' | 'files'>,
): Promise<number | undefined> => {
  if (files === undefined) return undefined;
  return checkFileList(folder, parts.filter(isOfDatabase), files, (why) => unusable(folder, why));
};

/** A backup, and what tells it from every other. Permanent Fault `backup_unusable` for any other folder. */
export const readWholeFolder = async (folder: string): Promise<WholeBackup & { id: string }> => {
  const refuse = (why: string): Fault => unusable(folder, why);
  const { text, content } = await readDocument(join(folder, fileName), refuse);
  const read = schema.safeParse(content);
  if (!read.success)
    throw refuse(`${fileName} is of another kind; a copy of NATS alone is restored with --streams-only`);
  return { ...read.data, id: createHash('sha256').update(text).digest('hex') };
};

/** None where the backup has no such file. Permanent Fault `backup_unusable` for a damaged one. */
export const readTimes = async (folder: string): Promise<BackupTimes> => {
  try {
    return timesSchema.parse(JSON.parse(await readFile(join(folder, timesName), 'utf8')));
  } catch (error) {
    if (isMissing(error)) return {};
    throw unusable(folder, `${timesName} cannot be read (${errorText(error)})`);
  }
};
