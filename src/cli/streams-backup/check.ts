import { join } from 'node:path';
import { readManifest } from './folder.ts';
import { checkDatabaseFiles, readWholeFolder, requireNoLinks } from './whole-folder.ts';

/** The files that agree with their sums; `database_files` is null where the backup, of an earlier version, has no sums of them. */
export type CheckedBackup = { readonly nats_files: number; readonly database_files: number | null };

const streamsOf = async (folder: string): Promise<number> => (await readManifest(folder)).streams.length;

/** Compares the files of a copy of NATS alone with their sums. Faults of `checkBackup`. */
export const checkStreams = async (folder: string): Promise<CheckedBackup> => ({
  nats_files: await streamsOf(folder),
  database_files: null,
});

/** Compares every file of a backup with its sum. It asks no engine and changes nothing. Permanent Fault `backup_unusable`. */
export const checkBackup = async (folder: string): Promise<CheckedBackup> => {
  const backup = await readWholeFolder(folder);
  const questdbs = backup.parts.filter((part) => part.startsWith('questdb'));
  for (const part of questdbs) await requireNoLinks(folder, part);
  const natsFiles = backup.parts.includes('nats') ? await streamsOf(join(folder, 'nats')) : 0;
  return { nats_files: natsFiles, database_files: (await checkDatabaseFiles(folder, backup)) ?? null };
};
