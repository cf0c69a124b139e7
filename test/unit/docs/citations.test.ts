import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Texts that people read and write, as they are in the repository. */
const files = ['src', 'test', 'bench', 'schemas', 'docs'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|md|yaml|json|sql)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name))),
);

/** A comment may end its line between the document and the number. */
const inOneLine = (text: string): string => text.replaceAll(/\n[ \t]*(?:\*(?!\/)|\/\/|#|--)?[ \t]*/g, ' ');

const texts = new Map(files.map((file) => [file, inOneLine(read(file))]));

const numbersOf = (text: string): string[] =>
  [...text.matchAll(/(\d+(?:\.\d+)*)(?: rule \d+)?/g)].map(([, number = '']) => number);

type Citation = { readonly file: string; readonly document: string; readonly number: string };

const citations = [...texts].flatMap(([file, text]): Citation[] =>
  [
    ...text.matchAll(
      /\b(architecture|specification) (\d[\d.]*(?: rule \d+)?(?:(?:, | to )\d[\d.]*(?: rule \d+)?)*)/gi,
    ),
  ].flatMap(([, document = '', numbers = '']) =>
    numbersOf(numbers).map((number) => ({ file, document: document.toLowerCase(), number })),
  ),
);

const headingsOf = (document: string): Set<string> =>
  new Set(
    [...read(`docs/${document}.md`).matchAll(/^#{2,3} (\d+(?:\.\d+)*)\.? /gm)].map(
      ([, number = '']) => number,
    ),
  );

const headings: Readonly<Record<string, Set<string>>> = {
  architecture: headingsOf('architecture'),
  specification: headingsOf('specification'),
};

const architecture = read('docs/architecture.md');
const lastSection = architecture.slice(architecture.lastIndexOf('\n## '));

const quoted = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);

// A citation without a target promises a reason that its reader cannot find.
describe('a citation', () => {
  it.each(['src', 'test', 'bench', 'schemas', 'docs'])('in %s names a heading that there is', (folder) => {
    const lost = citations.filter(
      ({ file, document, number }) =>
        file.startsWith(`${folder}/`) && headings[document]?.has(number) !== true,
    );
    expect(lost).toEqual([]);
  });

  it('is found where there is one, also behind the end of a line', () => {
    const of = (folder: string): number => citations.filter(({ file }) => file.startsWith(folder)).length;
    expect(of('src')).toBeGreaterThan(60);
    expect(of('test')).toBeGreaterThan(30);
    expect(of('schemas')).toBeGreaterThan(250);
    expect(inOneLine('/**\n * As of the standard\n * 4.2\n */')).toContain('standard 4.2');
  });

  it('names no document that is not here', () => {
    const elsewhere = /\bdesign (?:section |decision )?D?\d|\bdesign section\b|\boriginal \d|\bfacts\//i;
    expect([...texts].filter(([, text]) => elsewhere.test(text)).map(([file]) => file)).toEqual([]);
  });

  it('of a requirement of OTLP names one that docs/receivers/otlp.md lists', () => {
    const listed = new Set(
      [...read('docs/receivers/otlp.md').matchAll(/^\| (H\d+) \|/gm)].map(([, id]) => id),
    );
    const cited = [...texts].flatMap(([file, text]) =>
      file.startsWith('schemas/examples/') ? [...text.matchAll(/\((H\d+(?:, H\d+)*)\)/g)] : [],
    );
    const ids = cited.flatMap(([, list = '']) => list.split(', '));
    expect(ids.length).toBeGreaterThan(40);
    expect(ids.filter((id) => !listed.has(id))).toEqual([]);
  });

  it.each(['architecture', 'specification'])('within the %s resolves too', (document) => {
    const own = [...read(`docs/${document}.md`).matchAll(/\((\d+(?:\.\d+)?)\)|\bsection (\d+(?:\.\d+)?)/g)];
    const numbers = own.map(([, inBrackets, named]) => inBrackets ?? named ?? '');
    expect(numbers.length).toBeGreaterThan(3);
    expect(numbers.filter((number) => headings[document]?.has(number) !== true)).toEqual([]);
  });
});

describe('the architecture', () => {
  it('is a page that can be read in one go', () => {
    expect(architecture.split('\n').length).toBeLessThanOrEqual(451);
  });

  it('names only files and folders that exist, in its table of changes', () => {
    const paths = quoted(lastSection).filter((code) => /^[a-z.][\w./-]*$/.test(code));
    expect(paths.length).toBeGreaterThan(50);
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('names only files that exist, everywhere else', () => {
    const paths = quoted(architecture).filter((code) =>
      /^(?:src|test|docs|schemas|deploy|pipelines)\/[\w./-]*$/.test(code),
    );
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('names only settings that there are', () => {
    const settings = read('docs/settings.md');
    expect(
      quoted(architecture).filter((code) => code.startsWith('TIDEMARK_') && !settings.includes(code)),
    ).toEqual([]);
  });

  it('numbers its invariants without a gap, and each has a test that exists', () => {
    const rows = [...architecture.matchAll(/^\| I(\d+) \| .+ \| (.+) \|$/gm)];
    expect(rows.map(([, number]) => Number(number))).toEqual(rows.map((_, index) => index + 1));
    const tests = rows.map(([, , named = '']) => quoted(named));
    expect(tests.filter((of) => of.length === 0 || of.some((path) => !existsSync(join(root, path))))).toEqual(
      [],
    );
  });
});
