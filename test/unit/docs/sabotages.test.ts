import { existsSync, readFileSync } from 'node:fs';
import { matchesGlob, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withoutBooks } from '../../../bench/without-books.ts';
import config from '../../../vitest.config.ts';
import { sabotages } from '../../sabotage/sabotages.ts';

const root = resolve(import.meta.dirname, '../../..');

/** The projects that run this file. */
const projectsOf = (file: string): string[] => {
  const isIn = (globs: readonly string[] = []): boolean => globs.some((glob) => matchesGlob(file, glob));
  return (config.test?.projects ?? [])
    .flatMap((project) => (typeof project === 'object' && 'test' in project ? [project.test] : []))
    .filter((test) => isIn(test?.include) && !isIn(test?.exclude))
    .map((test) => String(test?.name));
};

// `make sabotage` takes minutes: that the code it breaks, or the file of its test, has moved is seen here.
describe('a sabotage', () => {
  it.each(sabotages.map((sabotage) => [sabotage.name, sabotage] as const))(
    'changes code that exists exactly once: %s',
    (_name, { edits, file }) => {
      for (const edit of edits)
        expect(readFileSync(resolve(root, edit.file), 'utf8').split(edit.from)).toHaveLength(2);
      expect(existsSync(resolve(root, file))).toBe(true);
    },
  );

  it.each(sabotages.map((sabotage) => [sabotage.name, sabotage] as const))(
    'names a project that runs its test: %s',
    (_name, { project, file }) => {
      expect(projectsOf(file)).toContain(project);
    },
  );
});

// `make bench-compare BASE=without-books` takes the books out of the sources.
it.each(withoutBooks.map((edit) => [edit.file, edit] as const))(
  'the bench without the books changes code that exists exactly once: %s',
  (_name, { file, from }) => {
    expect(readFileSync(resolve(root, file), 'utf8').split(from)).toHaveLength(2);
  },
);
