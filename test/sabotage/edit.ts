import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** A text in a source file, and its replacement. The file must have the text exactly once. */
export type Edit = { readonly file: string; readonly from: string; readonly to: string };

const root = resolve(import.meta.dirname, '../..');
const sources = ['src', 'test', 'bench', 'bin', 'deploy', 'docs', 'pipelines', 'schemas'];
const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts'];

/** A copy of this tree in a new folder, with the packages of this one. */
export const copyTree = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-edited-'));
  for (const name of sources) cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const name of files) cpSync(join(root, name), join(folder, name));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
};

/** Changes a file of a copied tree. Throws where the code has moved. */
export const applyEdit = (folder: string, { file, from, to }: Edit): void => {
  const path = join(folder, file);
  const [before = '', after, ...more] = readFileSync(path, 'utf8').split(from);
  if (after === undefined || more.length > 0) {
    throw new Error(`the code has moved: ${JSON.stringify(from)} does not stand once in ${file}`);
  }
  writeFileSync(path, before + to + after);
};
