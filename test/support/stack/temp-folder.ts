import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A new folder that stays until it is removed. */
export const openTempFolder = async (): Promise<{ readonly path: string; remove(): Promise<void> }> => {
  const path = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
};

/** A new folder that is removed after the present test. */
export const tempFolder = async (): Promise<string> => {
  const { path, remove } = await openTempFolder();
  onTestFinished(remove);
  return path;
};
