import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { askAdmin, issueToken, logInByLink, overflowOf, useBrowser } from '../support/console/browser.ts';
import { everyAddress, settled } from '../support/console/every-page.ts';
import { newApplication, newReport, pushPoints } from '../support/console/senders.ts';
import { waitFor } from '../support/wait.ts';

// Readers whose addresses, clocks, tabs and roles are not what a page expects.

const browser = useBrowser();

/** Parameters of all pages together. */
const parameters = [
  ...['range', 'since', 'until', 'owner', 'reason', 'view', 'show', 'q', 'biz', 'state', 'client', 'search'],
  ...[
    'pick',
    'preview',
    'cursor',
    'pipeline',
    'table',
    'source',
    'metric',
    'by',
    'where',
    'agg',
    'step',
    'at',
  ],
  ...[
    'app',
    'service',
    'name',
    'min',
    'max',
    'status',
    'attr',
    'span',
    'fold',
    'find',
    'zoom',
    'sql',
    'sort',
  ],
  ...['compare', 'items', 'origin', 'action', 'actor', 'target_kind', 'target_id', 'stage', 'of', 'owners'],
];

/** Numbers beyond every bound, names of JavaScript's own, lists of nothing, and characters that nobody sees. */
const wrongValues = ['99999999999999999999', '__proto__', ',,*\u0000\u202e<b>%', 'x'.repeat(4_000)];

const wrongPaths = [
  ...['/sources/0', '/sources/9007199254740993', '/sources/__proto__', '/applications/99999'],
  ...[
    '/dead-letters/0',
    '/dead-letters/999999999999',
    '/traces/zz',
    '/system/constructor',
    '/%E0%A4%A',
    '//',
  ],
];

/** Goes there without loading the console again. */
const goWithin = (page: Page, address: string): Promise<unknown> =>
  page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(address)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );

describe('a wrong state in the address', () => {
  it('leaves every page with its heading, within the screen, and without a defect', async () => {
    const report = await newReport('wrong states');
    const application = await newApplication('wrong states');
    const page = await browser.page();
    await logInByLink(page);
    const known = await everyAddress(page, [`/sources/${report.id}`, `/applications/${application.id}`]);
    const wrong: string[] = [];
    for (const path of [...known, ...wrongPaths.map((each) => `/console${each}`)])
      for (const value of wrongValues) {
        const query = new URLSearchParams(parameters.map((name) => [name, value]));
        await goWithin(page, `${path}?${query}`);
        await settled(page);
        const heads = await page.getByRole('heading', { level: 1 }).allTextContents();
        const width = await overflowOf(page);
        if (heads.length !== 1 || /failed|Log in/.test(heads[0] ?? '') || width !== 0)
          wrong.push(`${path} ${value.slice(0, 20)}: ${heads}, ${width} pixels too wide`);
      }
    expect(wrong).toEqual([]);
  }, 240_000);

  it('of a page that cannot show its answer is said in its place, and the other pages stay', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const { id } = await newApplication('of another version');
    await page.route(`**/api/v1/applications/${id}`, (route) =>
      route.fulfill({ json: { app_id: id, app_name: { en: 'of another version' } } }),
    );
    await page.goto(`/console/applications/${id}`);
    await page.getByRole('heading', { level: 1, name: 'This page failed' }).waitFor();
    await page.getByRole('link', { name: 'Drops' }).click();
    await page.getByRole('heading', { level: 1, name: 'Drops' }).waitFor();
    await page.unrouteAll();
    await page.getByRole('link', { name: 'Applications' }).click();
    await page.getByRole('heading', { level: 1, name: 'Applications' }).waitFor();
    expect(browser.problems.splice(0)).toHaveLength(1);
  });
});

describe.each([-3, 3])('with a clock that is %i hours off', (hours) => {
  it('a page asks for the last minutes of metadata, and a new admin token lives as long as it says', async () => {
    const report = await newReport(`clock ${hours}`);
    await waitFor('the point is dropped', 30_000, async () => {
      const point = { metrics: { cpu: 1 }, target: 'a', timestamp: Date.now() };
      return (await pushPoints(report, [point, { ...point, metrics: {} }])) === 200;
    });
    await waitFor('the sample is written', 30_000, async () =>
      (await askAdmin('GET', `/api/v1/drops?data_id=${report.id}`)).body.includes('metrics_empty'),
    );
    const page = await browser.page();
    await page.clock.install({ time: Date.now() + hours * 3_600_000 });
    await logInByLink(page);
    await page.goto(`/console/drops?view=past&range=15m&owner=${report.id}`);
    await page.getByRole('button', { name: 'metrics_empty' }).waitFor();

    await page.goto('/console/system/tokens');
    await page.getByRole('button', { name: 'New token …' }).click();
    const dialog = page.getByRole('dialog');
    const name = `clock ${hours} ${process.pid}`;
    await dialog.getByLabel('Name of its user').fill(name);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.locator('pre').waitFor();
    const { items }: { items: { name: string; expires_at: number }[] } = JSON.parse(
      (await askAdmin('GET', '/api/v1/admin-tokens')).body,
    );
    const days = ((items.find((each) => each.name === name)?.expires_at ?? 0) - Date.now() / 1000) / 86_400;
    expect(days).toBeCloseTo(90, 2);
  });
});

describe('a browser with several readers', () => {
  it('shows the next one who logs in no write token that the one before was shown', async () => {
    const report = await newReport('two readers');
    const { token: ofViewer } = await issueToken('viewer');
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(`/console/sources/${report.id}/set-up`);
    await page.getByRole('button', { name: 'Put the token in' }).click();
    const snippet = page.locator('.code pre');
    await snippet.getByText(report.token).waitFor();
    await page.locator('summary').click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Admin token').fill(ofViewer);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'two readers' }).waitFor();
    await snippet.getByText('<token>').waitFor();
    expect(await page.content()).not.toContain(report.token);
  });

  it("whose cookie is another reader's now refuses the act of the old page, and the page becomes that reader's", async () => {
    const report = await newReport('a changed reader');
    const { token: ofViewer } = await issueToken('viewer');
    const page = await browser.page();
    // As if the message of the log-in in the other tab did not arrive here.
    await page.addInitScript('BroadcastChannel = class { postMessage() {} }');
    await logInByLink(page);
    await page.goto(`/console/sources/${report.id}`);
    await page.getByRole('button', { name: 'Disable …' }).click();
    await logInByLink(await browser.tab(page), ofViewer);
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByText('Your role only reads; an editor can change it.').waitFor();
    await page.getByRole('banner').getByText('(viewer)').waitFor();
    const { body } = await askAdmin('GET', `/api/v1/data-sources/${report.id}`);
    expect(JSON.parse(body)).toMatchObject({ is_enable: true });
  });
});

it('an owner that is deleted while its page is open is shown as deleted after an act on it, without its acts', async () => {
  const { id } = await newApplication('deleted meanwhile');
  const page = await browser.page();
  await logInByLink(page);
  await page.goto(`/console/applications/${id}`);
  await page.getByRole('button', { name: 'Disable …' }).click();
  expect((await askAdmin('DELETE', `/api/v1/applications/${id}`, {})).status).toBe(200);
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('alert').first().waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('deleted', { exact: true }).waitFor();
  expect(await page.getByRole('button', { name: /^(Disable|Limit|Delete) …/ }).count()).toBe(0);
  for (const part of ['set-up', 'policy', 'usage', 'records']) {
    await page.goto(`/console/applications/${id}/${part}`);
    await settled(page);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('deleted meanwhile');
  }
});
