// `make docs`: writes every generated file; `biome format` then brings the JSON files into their format.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles } from './generated.ts';

const root = join(import.meta.dirname, '../..');

for (const file of await generatedFiles()) {
  const path = join(root, file.path);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'text' in file ? file.text : `${JSON.stringify(file.json, null, 2)}\n`);
}
