// A part of `make check`: compares every generated file with the code, and writes nothing.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles, staleFiles } from './generated.ts';

const root = join(import.meta.dirname, '../..');

const read = (path: string): string | undefined =>
  existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined;

const stale = staleFiles(await generatedFiles(), read);
if (stale.length > 0) {
  process.stderr.write(
    `${stale.map((path) => `${path}: differs from the code`).join('\n')}\nrun make docs\n`,
  );
  process.exitCode = 1;
}
