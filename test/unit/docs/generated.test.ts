import { describe, expect, it } from 'vitest';
import { type GeneratedFile, staleFiles } from '../../../tools/docs/generated.ts';

const page = { path: 'docs/page.md', text: '# Page\n' };
const schema = { path: 'schemas/schema.json', json: { title: 'a', type: 'object' } };
const files: readonly GeneratedFile[] = [page, schema];

const current: Readonly<Record<string, string>> = {
  [page.path]: '# Page\n',
  [schema.path]: '{"title":"a",\n"type":"object"}',
};

// A stale page misleads its readers, so `make check` compares each generated file with the code.
describe('the check of generated files', () => {
  it('accepts files that match the code, in any format of JSON', () => {
    expect(staleFiles(files, (path) => current[path])).toEqual([]);
  });

  it.each([
    ['a page that differs', page.path, '# Another page\n'],
    ['a JSON file with another value', schema.path, '{"title":"b","type":"object"}'],
    ['a JSON file with its members in another order', schema.path, '{"type":"object","title":"a"}'],
    ['a JSON file that does not parse', schema.path, '{'],
    ['a missing file', page.path, undefined],
  ])('names %s', (_, changed, written) => {
    expect(staleFiles(files, (path) => (path === changed ? written : current[path]))).toEqual([changed]);
  });
});
