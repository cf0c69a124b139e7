import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);

/** Why a file of the data folder cannot be read, and the remedy; undefined where it can be, or is missing. */
export const whyUnreadable = (path: string): string | undefined => {
  try {
    readFileSync(path);
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTDIR') return `${dirname(path)} is not a folder: set TIDEMARK_DATA to a folder`;
    return `${path} cannot be read (${code}): run it as the user of tidemark up, or set TIDEMARK_DATA to another folder`;
  }
};
