import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { logInByLink, useBrowser } from '../support/console/browser.ts';

const browser = useBrowser();
const run = promisify(execFile);
const chapters = readFileSync(new URL('../../docs/console.md', import.meta.url), 'utf8').split(/^## /m);
const stepMsMax = 20_000;

/** The numbered steps of the chapter whose title begins like this. */
const stepsOf = (title: string): string[] => {
  const chapter = chapters.find((text) => text.startsWith(title));
  if (chapter === undefined) throw new Error(`docs/console.md has no chapter ${title}`);
  return [...chapter.matchAll(/^\d+\. (.+)$/gm)].map(([, step = '']) => step);
};

const runSnippet = async (page: Page, without: string): Promise<void> => {
  const snippet = (await page.locator('.code pre').first().textContent()) ?? '';
  expect(snippet).not.toContain('<token>');
  const at = without === '' ? snippet.length : snippet.lastIndexOf(without);
  await run('bash', ['-c', snippet.slice(0, at) + snippet.slice(at + without.length)]);
};

type Act = (page: Page, ...words: string[]) => Promise<unknown>;

/** What a step says, and how it is done. */
const acts: readonly (readonly [RegExp, Act])[] = [
  [/^Open `(.+)`\.$/, (page, path = '') => page.goto(path)],
  [
    /^Press \*\*(.+)\*\*\.$/,
    (page, name = '') => page.getByRole('button', { name, exact: true }).last().click(),
  ],
  [
    /^Follow \*\*(.+)\*\*\.$/,
    (page, name = '') => page.getByRole('navigation').getByRole('link', { name }).click(),
  ],
  [
    /^Type `(.+)` into \*\*(.+)\*\*\.$/,
    (page, text = '', label = '') => page.getByLabel(label, { exact: true }).last().fill(text),
  ],
  [
    /^Choose `(.+)` in \*\*(.+)\*\*\.$/,
    async (page, text = '', label = '') => {
      const field = page.getByRole('combobox', { name: label }).last();
      const option = field.locator('option').filter({ hasText: text }).last();
      await option.waitFor({ state: 'attached' });
      await field.selectOption({ label: (await option.textContent()) ?? '' });
    },
  ],
  [/^Run the snippet\.$/, (page) => runSnippet(page, '')],
  [/^Run the snippet without `(.+)`\.$/, (page, text = '') => runSnippet(page, text)],
  [
    /^See \*\*(.+)\*\*\.$/,
    (page, text = '') => page.getByRole('main').getByText(text).filter({ visible: true }).first().waitFor(),
  ],
];

const doStep = async (page: Page, step: string): Promise<void> => {
  for (const [pattern, act] of acts) {
    const found = pattern.exec(step);
    if (found === null) continue;
    const [, ...words] = found;
    await act(page, ...words);
    return;
  }
  throw new Error(`no reader can follow the step: ${step}`);
};

it.each(['An operator', 'A data engineer'])(
  'every step of the chapter "%s" can be followed, in their order',
  async (title) => {
    const page = await browser.page();
    page.setDefaultTimeout(stepMsMax);
    await logInByLink(page);
    const steps = stepsOf(title);
    expect(steps.length).toBeGreaterThan(5);
    for (const [index, step] of steps.entries())
      await doStep(page, step).catch(async (error: unknown) => {
        const shown = await page.getByRole('main').textContent();
        throw new Error(`step ${index + 1}: ${step} The page shows: ${shown}`, { cause: error });
      });
  },
);
