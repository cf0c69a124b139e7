import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withoutBooks } from '../../../bench/without-books.ts';
import { sabotages } from '../../sabotage/sabotages.ts';

const root = resolve(import.meta.dirname, '../../..');

// `make sabotage` takes minutes: that the code it breaks has moved is seen here.
describe('a sabotage', () => {
  it.each(sabotages.map((sabotage) => [sabotage.name, sabotage] as const))(
    'changes code that exists exactly once: %s',
    (_name, { edits, file }) => {
      for (const edit of edits)
        expect(readFileSync(resolve(root, edit.file), 'utf8').split(edit.from)).toHaveLength(2);
      expect(existsSync(resolve(root, file))).toBe(true);
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
