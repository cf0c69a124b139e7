import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding, Target } from './target.ts';

const folder = join(import.meta.dirname, 'regressions');

/**
 * Earlier findings, tried in every run: file name and bytes. JSON is kept as bytes too, or the formatter would repair
 * it.
 */
export const regressionsOf = ({ name }: Target): { file: string; bytes: Buffer }[] =>
  readdirSync(folder)
    .filter((file) => file.startsWith(`${name}.`) && file.endsWith('.bin'))
    .map((file) => ({ file, bytes: readFileSync(join(folder, file)) }));

/** Writes a finding into a folder, for a person to look at and to move to regressions/; answers where. */
export const writeFinding = (into: string, { bytes }: Finding, { name }: Target): string => {
  mkdirSync(into, { recursive: true });
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 8);
  const file = join(into, `${name}.${digest}.bin`);
  writeFileSync(file, bytes);
  return file;
};
