import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { axeFindings, logInByLink, overflowOf, useBrowser } from '../support/console/browser.ts';
import { consoleStack } from '../support/console/console-stack.ts';

const browser = useBrowser();

type Entry = { readonly path: string; readonly title: string };

/** The pages as the navigation lists them. */
const listed = async (page: Page): Promise<Entry[]> => {
  const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').all();
  expect(links.length).toBeGreaterThan(0);
  return Promise.all(
    links.map(async (link) => ({
      path: (await link.getAttribute('href')) ?? '',
      title: (await link.textContent()) ?? '',
    })),
  );
};

it('keys of pages work after a tick of a checkbox, and are letters in a field for text', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await page.getByLabel('UTC').click();
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.getByRole('heading', { level: 1, name: 'Sources' }).waitFor();
  await page.getByLabel('Search').focus();
  await page.keyboard.type('gd');
  expect(await page.getByLabel('Search').inputValue()).toBe('gd');
  expect(new URL(page.url()).pathname).toBe('/console/sources');
});

describe('every page', () => {
  it.each(['light', 'dark'] as const)(
    'has one h1 and no finding of axe in %s, wide and narrow',
    async (scheme) => {
      for (const width of [1280, 320]) {
        const page = await browser.page({ scheme, width });
        await page.goto('/console/');
        await page.getByRole('heading', { name: 'Log in to Tidemark' }).waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await logInByLink(page);
        for (const { path, title } of await listed(page)) {
          await page.goto(path);
          await page.getByRole('heading', { level: 1 }).waitFor();
          expect(await page.getByRole('heading', { level: 1 }).count(), path).toBe(1);
          expect(await page.title()).toContain(title);
          expect(await axeFindings(page), `${path} ${scheme} ${width}`).toEqual([]);
          expect(await overflowOf(page), `${path} is wider than ${width} pixels`).toBe(0);
        }
      }
    },
  );

  it('is reached by the navigation, by its keys and by the back button, and is named to a screen reader', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const pages = await listed(page);
    await page.keyboard.press('Shift+?');
    const keys = await page.getByRole('dialog', { name: 'Keys' }).locator('dt').allTextContents();
    await page.keyboard.press('Escape');
    const letters = keys.flatMap((key) => /^g (.)$/.exec(key)?.[1] ?? []);
    expect(new Set(letters).size).toBe(pages.length);
    for (const [index, { path, title }] of pages.entries()) {
      await page.keyboard.press('g');
      await page.keyboard.press(letters[index] ?? '');
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      expect(new URL(page.url()).pathname).toBe(path);
      expect(await page.locator('nav[aria-label=Pages] [aria-current=page]').textContent()).toBe(title);
    }
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: pages.at(-2)?.title ?? '' }).waitFor();
    await page.getByRole('link', { name: 'Drops' }).click();
    await page.getByRole('heading', { level: 1, name: 'Drops' }).waitFor();
  });
});

describe('the shell', () => {
  it('lets the keyboard skip to the content, list the keys, and switch them off', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.reload();
    await page.getByRole('navigation').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('To the content');
    await page.keyboard.press('Shift+?');
    const dialog = page.getByRole('dialog', { name: 'Keys' });
    await dialog.waitFor();
    await dialog.getByLabel('Keys are on').uncheck();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('Shift+?');
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    expect(await dialog.count()).toBe(0);
    expect(page.url()).toBe(`${consoleStack().admin}/console/`);
  });

  it('keeps the chosen scheme over a reload', async () => {
    const page = await browser.page({ scheme: 'light' });
    await logInByLink(page);
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await page.getByLabel('Colours').selectOption('dark');
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.reload();
    await page.getByRole('navigation').waitFor();
    expect(await ground()).toBe(dark);
  });

  it('says that a page does not exist, and that metadata does not answer, until it does', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.goto('/console/none');
    await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor();
    await page.route('**/console/session', (route) => route.abort());
    await page.goto('/console/');
    await page.getByRole('alert').getByText('The admin API does not answer.').waitFor();
    await page.unroute('**/console/session');
    await page.getByRole('heading', { level: 1, name: 'Line' }).waitFor();
  });
});
