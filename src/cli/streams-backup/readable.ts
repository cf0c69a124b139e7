import { access, constants, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { adminTokenPath } from '../../config/settings.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { isClosed } from '../../runtime/files.ts';

/** Permanent Fault `file_unreadable` for what is there and closed to this user: names both. */
export const requireReadable = async (path: string): Promise<void> => {
  try {
    const isFolder = (await stat(path)).isDirectory();
    await access(path, isFolder ? constants.R_OK | constants.X_OK : constants.R_OK);
  } catch (error) {
    // What is not there, and a link in a circle, the copy itself reports.
    if (!isClosed(error)) return;
    const owner = await stat(path).then(
      ({ uid }) => `, of user ${uid},`,
      () => '',
    );
    throw new Fault(
      'permanent',
      'file_unreadable',
      `${path}${owner} cannot be read by user ${process.getuid?.() ?? 'of this command'} (${errorText(error)}): run the backup as a user who may read it, such as root`,
      error,
    );
  }
};

/**
 * Looks, before anything is copied, whether this user may read the first admin token of the data folder, ClickHouse's folder of backups
 * and the roots of QuestDB, down to the folder of each table. Permanent Fault `file_unreadable`.
 */
export const requireReadableSources = async (
  dataFolder: string,
  questdbRoots: readonly string[],
  clickhouseFiles: string | undefined,
): Promise<void> => {
  await requireReadable(adminTokenPath(dataFolder));
  if (clickhouseFiles !== undefined) await requireReadable(clickhouseFiles);
  for (const root of questdbRoots) {
    await requireReadable(root);
    const tables = join(root, 'db');
    await requireReadable(tables);
    const names = await readdir(tables).catch((): string[] => []);
    for (const name of names) await requireReadable(join(tables, name));
  }
};
