import { accessSync, chmodSync, constants, mkdirSync, statSync } from 'node:fs';
import { errorText } from '../model/fault.ts';

/** Access for the owner alone. */
const folderMode = 0o700;
const othersBits = 0o077;

/**
 * Makes the data folder where it is missing, and closes it to everybody but its owner: the engines' files are as readable as each
 * engine makes them. From here on this process and its children make files for their owner alone.
 */
export const openDataFolder = (folder: string): void => {
  process.umask(othersBits);
  try {
    mkdirSync(folder, { recursive: true, mode: folderMode });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(
      `${folder} cannot be the data folder (${errorText(error)}): run tidemark up as the user who owns it, or set TIDEMARK_DATA to another folder.`,
    );
  }
  if ((statSync(folder).mode & othersBits) === 0) return;
  try {
    chmodSync(folder, folderMode);
  } catch (error) {
    throw new Error(
      `${folder} is accessible to other users, and its permissions cannot be changed (${errorText(error)}): ` +
        'make the user of tidemark up its owner, or set TIDEMARK_DATA to another folder.',
    );
  }
};
