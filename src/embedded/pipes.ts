import { chmodSync, closeSync, constants, fstatSync, openSync, readdirSync, readlinkSync } from 'node:fs';

const descriptors = '/proc/self/fd';
const openPath = 0o10000000;

/**
 * Lets no thread without root's capabilities open the pipes of this process again, by their names below /proc; open ends work on.
 * Landlock does not hold for pipes, and a read of one may never end.
 */
export const lockPipes = (): void => {
  for (const name of readdirSync(descriptors)) {
    let own: number;
    try {
      own = openSync(`${descriptors}/${name}`, openPath | constants.O_RDONLY);
    } catch {
      // Closed since it was listed.
      continue;
    }
    try {
      // By the descriptor of this function: the listed one may stand for a file of the library by now.
      const status = fstatSync(own);
      // A pipe with a name is a file to others, and Landlock holds for it.
      const isPipe = status.isFIFO() && readlinkSync(`${descriptors}/${own}`).startsWith('pipe:');
      if (isPipe && status.uid === process.geteuid?.()) chmodSync(`${descriptors}/${own}`, 0);
    } finally {
      closeSync(own);
    }
  }
};
