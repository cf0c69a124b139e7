import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { askAdmin, axeFindings, logInByLink, overflowOf, useBrowser } from '../support/console/browser.ts';
import { newReport, pushPoints } from '../support/console/senders.ts';
import { waitFor } from '../support/wait.ts';

const browser = useBrowser();
/** As hostile as a value of a dimension may be: control characters are refused by the receiver. */
const host = '<img src=x onerror=alert(1)>\u202egnp.exe =1+1';
const hosts = ['web-1', 'web-2', host];
let source = 0;

beforeAll(async () => {
  const created = await newReport('explore');
  source = created.id;
  const now = Date.now();
  const points = Array.from({ length: 90 }, (_, index) => ({
    metrics: { cpu: 10 + (index % 7), change: -index },
    target: '127.0.0.1',
    dimension: { host: hosts[index % 3] ?? '', zone: index % 2 === 0 ? 'a' : 'b' },
    timestamp: now - index * 10_000,
  }));
  expect(await pushPoints(created, points)).toBe(200);
  await waitFor('the points are stored', 60_000, async () => {
    const asked = { data_id: source, metrics: ['cpu'], aggregate: 'count' };
    const { status, body } = await askAdmin('POST', '/api/v1/query/points', asked);
    if (status !== 200) throw new Error(body);
    const [{ values }]: [{ values: (number | null)[] }] = JSON.parse(body).series;
    return values.reduce<number>((sum, value) => sum + (value ?? 0), 0) === points.length;
  });
});

it('a source is chosen, its metrics are drawn, filtered and grouped, and the address brings the same back', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await page.goto('/console/points');
  await page.getByText('Choose a source.').waitFor();
  await page.getByRole('combobox', { name: 'Source' }).selectOption(String(source));
  await page.getByRole('combobox', { name: 'Metrics' }).selectOption('cpu');
  await page.getByText('One series;').waitFor();
  await page.getByRole('combobox', { name: 'Group by' }).selectOption('host');
  await page.getByText('3 series;').waitFor();
  expect(await page.locator('main img').count()).toBe(0);
  await page.getByRole('button', { name: '[U+202E]gnp.exe' }).waitFor();
  await page.getByRole('combobox', { name: 'Filter', exact: true }).selectOption('host');
  const values = page.getByRole('group', { name: 'host' });
  await values.getByText('[U+202E]gnp.exe').click();
  await values.getByLabel('Other value').fill('web-2');
  await values.getByRole('button', { name: 'Add filter' }).click();
  await page.getByText('2 series;').waitFor();
  await page.getByRole('combobox', { name: 'as', exact: true }).selectOption('max');
  await page.getByRole('button', { name: 'SQL' }).click();
  await page.getByLabel('SQL that ran').getByText('max("cpu")').waitFor();
  await page.getByLabel('SQL that ran').getByText('gnp.exe').first().waitFor();
  const address = page.url();
  await page.goto('/console/');
  await page.goto(address);
  await page.getByText('2 series;').waitFor();
  await page.getByRole('button', { name: /^Remove the filter host = / }).click();
  await page.getByText('3 series;').waitFor();
});

// With buckets of a second the last one of a selection begins and ends within a second.
it('a part of the chart that is chosen becomes the time, to the end of its last bucket', async () => {
  const page = await browser.page();
  await logInByLink(page);
  const since = Math.floor(Date.now() / 1_000) - 600;
  await page.goto(
    `/console/points?source=${source}&metric=cpu&agg=count&step=1&since=${since}&until=${since + 300}`,
  );
  const chart = page.getByRole('slider', { name: 'Values over time' });
  await chart.focus();
  await page.keyboard.press('Home');
  for (let count = 0; count < 30; count++) await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Enter');
  const query = () => new URL(page.url()).searchParams;
  await expect.poll(() => query().get('until')).toBe(String(since + 31));
  expect(query().get('since')).toBe(String(since));
  await page.getByText('31 buckets of 1 s.').waitFor();
});

/** Answers that the dimension has these values. */
const haveValues = (page: Page, values: readonly string[]): Promise<unknown> =>
  page.route('**/api/v1/query/points/values?*', (route) =>
    route.fulfill({
      contentType: 'application/json',
      body: JSON.stringify({
        ...{
          mon_data_id: source,
          table_id: 't',
          questdb: 'main',
          since: 0,
          until: 1,
          sql: [],
          elapsed_ms: 1,
        },
        ...{ values: values.map((value) => ({ value, rows: 1 })), truncated: false, rows_read: null },
      }),
    }),
  );

it('a filter takes as many values as a query may have, and leaves them out in one condition', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await haveValues(
    page,
    Array.from({ length: 100 }, (_, index) => `web-${index}`),
  );
  await page.goto(`/console/points?source=${source}&metric=cpu&by=host`);
  await page.getByText('3 series;').waitFor();
  await page.getByRole('combobox', { name: 'Filter', exact: true }).selectOption('host');
  const values = page.getByRole('group', { name: 'host' });
  await values.getByRole('combobox', { name: 'Condition' }).selectOption('!=');
  for (let index = 0; index < 50; index++)
    await values.getByRole('checkbox').nth(index).dispatchEvent('click');
  expect(await values.getByRole('checkbox', { name: 'web-50 1', exact: true }).isDisabled()).toBe(true);
  await values.getByLabel('Other value').fill('web-50');
  expect(await values.getByRole('button', { name: /^Add filter/ }).isDisabled()).toBe(true);
  await values.getByLabel('Other value').fill('');
  await values.getByRole('button', { name: 'Add filter (at most 50 values)' }).click();
  // Only the host that no filter names is left.
  await page.getByText('One series;').waitFor();
});

it('an address that the page writes can be loaded again: a filter too long for a link is not added, with words', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await haveValues(
    page,
    Array.from({ length: 60 }, (_, index) => '\u5024'.repeat(56) + index),
  );
  await page.goto(`/console/points?source=${source}&metric=cpu&by=host`);
  await page.getByText('3 series;').waitFor();
  await page.getByRole('combobox', { name: 'Filter', exact: true }).selectOption('host');
  const values = page.getByRole('group', { name: 'host' });
  const turn = (index: number) => values.getByRole('checkbox').nth(index).dispatchEvent('click');
  for (let index = 0; index < 40; index++) await turn(index);
  const add = values.getByRole('button', { name: /^Add filter/ });
  await expect.poll(() => add.textContent()).toBe('Add filter (too long for a link)');
  expect(await add.isDisabled()).toBe(true);
  for (let index = 10; index < 40; index++) await turn(index);
  await add.click();
  await page.getByRole('button', { name: /^Remove the filter/ }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: /^Remove the filter/ }).waitFor();
});

it('a value that is longer than a filter may have is not offered for one, with words', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await haveValues(page, ['y'.repeat(1_025), 'z'.repeat(1_024)]);
  await page.goto(`/console/points?source=${source}&metric=cpu`);
  await page.getByText('One series;').waitFor();
  await page.getByRole('combobox', { name: 'Filter', exact: true }).selectOption('host');
  const boxes = page.getByRole('group', { name: 'host' }).getByRole('checkbox');
  await expect.poll(() => boxes.count()).toBe(2);
  expect(await boxes.nth(0).isDisabled()).toBe(true);
  expect(await boxes.nth(1).isDisabled()).toBe(false);
  expect(await page.getByText('too long for a filter', { exact: true }).count()).toBe(1);
});

it.each(['light', 'dark'] as const)('series and rows leave nothing to axe in %s', async (scheme) => {
  for (const width of [1280, 390]) {
    const page = await browser.page({ scheme, width });
    await logInByLink(page);
    for (const rest of ['&by=host&sql=1', '&show=rows']) {
      await page.goto(`/console/points?source=${source}&metric=cpu&metric=change${rest}`);
      await page.getByRole('button', { name: 'Run again' }).waitFor();
      expect(await axeFindings(page)).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
    }
    expect(await page.getByRole('table').getByRole('row').count()).toBe(51);
  }
});

it('values are read exactly, in the legend and as a table, and the largest and smallest ones fit a screen of 320 pixels', async () => {
  const report = await newReport('exact');
  const at = Date.now() - 30_000;
  const sent = [
    { pct: 99.96, bal: 1000.4, big: 1e308, tiny: 5e-324 },
    { pct: 99.97, bal: 1000.1, big: 9_007_199_254_740_991, tiny: 1e-7 },
  ];
  const points = sent.map((metrics, index) => ({ metrics, target: 'a', timestamp: at + index * 10_000 }));
  expect(await pushPoints(report, points)).toBe(200);
  await waitFor('both points are stored', 60_000, async () => {
    const asked = { data_id: report.id, metrics: ['pct'], raw: true };
    const { status, body } = await askAdmin('POST', '/api/v1/query/points', asked);
    return status === 200 && JSON.parse(body).raw.rows.length === sent.length;
  });
  const page = await browser.page({ width: 320 });
  await logInByLink(page);
  const address = `/console/points?source=${report.id}&metric=pct&metric=bal&metric=big&metric=tiny&range=15m`;
  await page.goto(address);
  for (const [metric, text] of Object.entries({ pct: '99.97', bal: '1,000.1', tiny: '1E-7' }))
    await page.getByRole('button', { name: `${metric} ${text}`, exact: true }).waitFor();
  expect(await overflowOf(page)).toBe(0);
  const chart = page.getByRole('slider', { name: 'Values over time' });
  await chart.focus();
  await page.keyboard.press('End');
  const big = page.getByRole('button', { name: 'big 1E308', exact: true });
  for (let count = 0; count < 600 && !(await big.isVisible()); count++)
    await page.keyboard.press('ArrowLeft');
  await page.getByRole('button', { name: 'tiny 5E-324', exact: true }).waitFor();
  expect(await overflowOf(page)).toBe(0);
  await page.goto(`${address}&points_view=table`);
  for (const text of ['99.96', '99.97', '1,000.4', '1,000.1', '1E308', '9,007,199,254,740,991', '5E-324'])
    await page.getByRole('cell', { name: text, exact: true }).waitFor();
  expect(await overflowOf(page)).toBe(0);
});

it.each(['', '&agg=count'])('a time without points says so, and what to do%s', async (aggregate) => {
  const page = await browser.page();
  await logInByLink(page);
  const until = Math.floor(Date.now() / 1_000) - 86_400;
  await page.goto(
    `/console/points?source=${source}&metric=cpu${aggregate}&since=${until - 600}&until=${until}`,
  );
  await page.getByText('Take a longer time, or remove a filter.').waitFor();
});

it('a step of too many buckets for the time is the automatic one, with words, and not a refusal', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await page.goto(`/console/points?source=${source}&metric=cpu&step=10&range=6h`);
  await page
    .getByText('The step 10 s would make more than 600 buckets of this time: it is automatic.')
    .waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
});

it('the last rows have their times in the chosen zone', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await page.goto(`/console/points?source=${source}&metric=cpu&show=rows`);
  const first = page.getByRole('cell').first();
  const own = (await first.textContent()) ?? '';
  const iso = (await first.locator('time').getAttribute('datetime')) ?? '';
  const inBerlin = new Intl.DateTimeFormat('sv-SE', {
    ...{ timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'medium' },
  });
  expect(own).toBe(`${inBerlin.format(new Date(iso))}${iso.slice(19, 23)}`);
  await page.getByRole('checkbox', { name: 'UTC' }).click();
  expect(await first.textContent()).toBe(`${iso.replace('T', ' ').slice(0, 23)} UTC`);
});

it('points whose sum is larger than a number can be are no time without points, and values of any span have a line', async () => {
  const report = await newReport('large');
  const at = Math.floor(Date.now() / 60_000) * 60_000 - 120_000;
  const values = [1.7e308, 1.7e308, -1.7e308, -1.7e308];
  const points = values.map((large, index) => ({
    ...{ metrics: { large }, target: 'a', timestamp: at + Math.floor(index / 2) * 60_000 + index },
  }));
  expect(await pushPoints(report, points)).toBe(200);
  await waitFor('the points are stored', 60_000, async () => {
    const asked = { data_id: report.id, metrics: ['large'], raw: true };
    const { status, body } = await askAdmin('POST', '/api/v1/query/points', asked);
    return status === 200 && JSON.parse(body).raw.rows.length === values.length;
  });
  const page = await browser.page();
  await logInByLink(page);
  const address = `/console/points?source=${report.id}&metric=large&range=15m&step=60`;
  await page.goto(`${address}&agg=sum`);
  await page.getByText('The sums of 2 buckets are beyond the largest number, 1.8E308').waitFor();
  await page.goto(address);
  const curve = page.locator('path.curve');
  await curve.waitFor({ state: 'attached' });
  const path = (await curve.getAttribute('d')) ?? '';
  expect(path).toMatch(/^M[\d.]+ [\d.]+L[\d.]+ [\d.]+$/);
  expect(await page.locator('.plot svg').innerHTML()).not.toMatch(/NaN|Infinity/);
});

it('a refusal says what to do, and a query that runs can be cancelled', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await page.goto(`/console/points?source=${source}&metric=none`);
  await page.getByText('Use a metric or a dimension that').waitFor();
  await page.route('**/api/v1/query/points', (route) =>
    route.fulfill({
      status: 429,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        code: 'too_many_queries',
        status: 429,
        detail: 'one token has at most 2 queries of Explore at once',
        remedy: 'Wait for one of them, then repeat the query.',
      }),
    }),
  );
  await page.goto(`/console/points?source=${source}&metric=cpu`);
  await page.getByRole('alert').getByText('Wait for one of them').waitFor();
  await page.unroute('**/api/v1/query/points');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('One series;').waitFor();
  // It is never answered.
  await page.route('**/api/v1/query/points', () => undefined);
  await page.getByRole('button', { name: 'Run again' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('The query was cancelled.').waitFor();
});

it('says that there are more sources than it offers', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await page.route('**/api/v1/data-sources?*', (route) =>
    route.fulfill({ json: { items: [], next_cursor: 'more' } }),
  );
  await page.goto('/console/points');
  await page.getByText('A search finds the others by name, id or business.', { exact: false }).waitFor();
});

it('a source of many is found by a part of its name', async () => {
  const page = await browser.page();
  await logInByLink(page);
  const report = (index: number) => ({
    ...{ custom_report_id: index, mon_data_id: 1_500_001 + index, mon_biz_id: 2, state: 'active' },
    name: index === 40 ? 'orders of the shop' : `report ${index}`,
  });
  const items = Array.from({ length: 60 }, (_, index) => report(index));
  await page.route('**/api/v1/custom-reports?*', (route) =>
    route.fulfill({ json: { items, next_cursor: null } }),
  );
  await page.route('**/api/v1/data-sources?*', (route) =>
    route.fulfill({ json: { items: [], next_cursor: null } }),
  );
  await page.goto('/console/points');
  const options = page.getByRole('combobox', { name: 'Source' }).getByRole('option');
  await expect.poll(() => options.count()).toBe(61);
  await page.getByLabel('Search').fill('shop');
  await expect.poll(() => options.allTextContents()).toEqual(['choose …', '1500041 orders of the shop']);
});
