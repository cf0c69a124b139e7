import { describe, expect, it } from 'vitest';
import { logInByLink, useBrowser } from '../support/console/browser.ts';
import { newReport } from '../support/console/senders.ts';

const browser = useBrowser();

describe('the list of sources', () => {
  const row = (data_id: number, more: object = {}) => ({
    ...{ pipeline: 'metrics', data_id, app_id: 0, received: 0, stored: 0, dropped: {}, dead_lettered: 0 },
    ...{ repeated: 0, lost: 0, stuck: 0, unrecorded: 0, in_flight: 0, adds_up: true },
    ...{ differences: [], refusals: [], ...more },
  });
  const answer = (items: object[], truncated: boolean) => ({
    ...{ since: 0, until: Math.floor(Date.now() / 1000), not_known_since: null, not_known: [], items },
    ...{ truncated, removed: [], buckets: [], in_flight: [] },
  });

  it('has every term of the account that an owner has, also where the API has more minutes than it answers', async () => {
    const { id } = await newReport('a whole account');
    const page = await browser.page();
    await logInByLink(page);
    const sum = { received: 1234, stored: 1200, dropped: { too_old: 21 }, dead_lettered: 9, in_flight: 4 };
    const minutes = Array.from({ length: 10_000 }, (_, index) => row(1_600_001 + index, { minute: 0 }));
    await page.route('**/api/v1/outcomes*', (route) => {
      const isByMinute = route.request().url().includes('by=minute');
      return route.fulfill({ json: isByMinute ? answer(minutes, true) : answer([row(id, sum)], false) });
    });
    await page.goto('/console/sources');
    const cells = page.getByRole('row', { name: 'a whole account' }).getByRole('cell');
    await cells.getByText('1,234').waitFor();
    const titles = await page.getByRole('columnheader').allTextContents();
    const texts = await cells.allTextContents();
    const shown = new Map(titles.map((title, index) => [title, texts[index]]));
    expect(
      ['Received', 'Stored', 'Dropped', 'Dead-lettered', 'In flight'].map((name) => shown.get(name)),
    ).toEqual(['1,234', '1,200', '21', '9', '4']);
  });

  it('does not ask for the minutes again once the API has more of them than it answers', async () => {
    const { id } = await newReport('with many others');
    const page = await browser.page();
    await page.clock.install();
    await logInByLink(page);
    const asked = { minutes: 0, sums: 0 };
    await page.route('**/api/v1/outcomes*', (route) => {
      const isByMinute = route.request().url().includes('by=minute');
      asked[isByMinute ? 'minutes' : 'sums']++;
      return route.fulfill({ json: answer([row(id, isByMinute ? { minute: 0 } : {})], isByMinute) });
    });
    await page.goto('/console/sources');
    await page.getByRole('row', { name: 'with many others' }).waitFor();
    await expect
      .poll(async () => {
        await page.clock.runFor(16_000);
        return asked.sums;
      })
      .toBeGreaterThan(3);
    expect(asked.minutes).toBe(1);
  });

  it('says that a report was created, and leaves the reader where they went meanwhile', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.getByRole('navigation').getByRole('link', { name: 'Sources' }).click();
    const held = Promise.withResolvers<void>();
    await page.route('**/*CreateCustomTimeSeries', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Create a report' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create a report' });
    await dialog.getByLabel('Business', { exact: true }).fill('2');
    await dialog.getByLabel('Name', { exact: true }).fill('created late');
    await page.keyboard.press('Enter');
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Line' }).waitFor();
    held.resolve();
    await page
      .getByRole('status')
      .getByText(/^The report was created: /)
      .waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/');
  });
});
