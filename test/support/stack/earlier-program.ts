import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');

/** The program of revision f1e20b7 (`git archive f1e20b7 src bin pipelines package.json schemas/...`). */
const archive = join(root, 'test/fixtures/program-f1e20b7.tar.gz');

/** A program of an earlier version, unpacked; it runs on the packages of this one, its @hono/zod-openapi and ajv among those for development. */
export type EarlierProgram = { readonly folder: string; remove(): void };

export const unpackEarlierProgram = (): EarlierProgram => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-earlier-'));
  execFileSync('tar', ['-xzf', archive, '-C', folder]);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
};
