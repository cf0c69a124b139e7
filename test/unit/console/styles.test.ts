import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../support/docs-code.ts';

const folder = join(root, 'console/src');

/** The class that a selector begins with. */
const classesOf = (css: string): Set<string> =>
  new Set(
    [...css.replaceAll(/\/\*[\s\S]*?\*\//g, '').matchAll(/([^{}]+)\{/g)].flatMap(([, selectors = '']) =>
      selectors.split(',').flatMap((selector) => /^\s*\.([\w-]+)/.exec(selector)?.[1] ?? []),
    ),
  );

// All styles are one file in the browser: a page that styles the class of another one changes that page.
it('no two style sheets of the console style the same class', () => {
  const sheets = globSync('**/*.css', { cwd: folder });
  expect(sheets.length).toBeGreaterThan(5);
  const byClass = Map.groupBy(
    sheets.flatMap((sheet) =>
      [...classesOf(readFileSync(join(folder, sheet), 'utf8'))].map((name) => ({ name, sheet })),
    ),
    ({ name }) => name,
  );
  const shared = [...byClass]
    .filter(([, uses]) => uses.length > 1)
    .map(([name, uses]) => `.${name}: ${uses.map(({ sheet }) => sheet).join(', ')}`);
  expect(shared).toEqual([]);
});
