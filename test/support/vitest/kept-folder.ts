import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../../..');
const dayMs = 86_400_000;

/** Of these files, of the versions of the libraries, and of the place of the clone. */
const digest = (patterns: readonly string[]): string => {
  const hash = createHash('sha256').update(root);
  const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: root }).sort());
  for (const file of ['package-lock.json', ...files])
    hash.update(`\0${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest('hex').slice(0, 16);
};

/**
 * A folder that `make` has filled, for these files as they are; it is kept for later runs. Any number of runs may ask at once, and each
 * may be killed.
 */
export const keptFolder = async (
  name: string,
  patterns: readonly string[],
  make: (folder: string) => Promise<void>,
): Promise<string> => {
  const cache = join(root, `node_modules/.cache/tidemark-${name}`);
  mkdirSync(cache, { recursive: true });
  const folder = join(cache, digest(patterns));
  if (existsSync(folder)) return folder;
  for (const other of readdirSync(cache).map((each) => join(cache, each)))
    if (Date.now() - statSync(other).mtimeMs > dayMs) rmSync(other, { recursive: true, force: true });
  const own = `${folder}.${process.pid}`;
  rmSync(own, { recursive: true, force: true });
  await make(own);
  try {
    renameSync(own, folder);
  } catch (error) {
    // Another run was first.
    rmSync(own, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
};
