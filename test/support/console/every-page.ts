import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { waitFor } from '../wait.ts';

const loadedMs = 30_000;

/** Waits until a page has its heading and has read what it shows. */
export const settled = async (page: Page): Promise<void> => {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  const loading = page.locator('main p.state[role=status]');
  await waitFor(`${page.url()} has loaded`, loadedMs, async () => (await loading.count()) === 0);
};

const linksIn = (page: Page, selector: string): Promise<string[]> =>
  page.evaluate(
    `[...document.querySelectorAll(${JSON.stringify(`${selector} a[href]`)})].map((link) => link.getAttribute('href'))`,
  );

/** The addresses of all pages that the navigation names, and of the parts of System and of these owners (`/sources/1500001`). */
export const everyAddress = async (page: Page, owners: readonly string[]): Promise<string[]> => {
  const addresses = await linksIn(page, 'nav[aria-label=Pages]');
  expect(addresses.length).toBeGreaterThan(0);
  for (const path of ['/system', ...owners]) {
    await page.goto(`/console${path}`);
    await settled(page);
    const parts = await linksIn(page, 'main [aria-label^="Parts of the "]');
    expect(parts.length, path).toBeGreaterThan(1);
    addresses.push(...parts);
  }
  return addresses;
};
