import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { askAdmin, axeFindings, logInByLink, useBrowser } from '../support/console/browser.ts';
import { pressByKey, tabTo } from '../support/console/keyboard.ts';
import { askClickhouse } from '../support/console/refused-spans.ts';
import { exportSpans, newApplication, newReport, pushPoints, span } from '../support/console/senders.ts';
import { waitFor } from '../support/wait.ts';

const browser = useBrowser();
const good = { metrics: { cpu: 1 }, target: 'a' };

const chart = (page: Page) => page.getByRole('slider', { name: /^Items by outcome/ });

/** An application with two stored spans and one that ends before it starts, once its outcomes are known: its id. */
const makeDrop = async (): Promise<number> => {
  const { id, token } = await newApplication('a chart with a drop');
  await waitFor(
    'the spans are accepted',
    30_000,
    async () =>
      (await exportSpans(token, [span('kept'), span('kept too'), span('a hostile <b>name\u202e', -5)])) ===
      200,
  );
  await waitFor('the drop is recorded, and its sample', 60_000, async () => {
    const outcomes = await askAdmin('GET', `/api/v1/outcomes?app_id=${id}`);
    const drops = await askAdmin('GET', `/api/v1/drops?app_id=${id}`);
    return /"end_before_start":1/.test(outcomes.body) && drops.body.includes('end_before_start');
  });
  return id;
};

let made: Promise<number> | undefined;
const withDrop = (): Promise<number> => {
  made ??= makeDrop();
  return made;
};

/** Puts the pointer on the bar's part of the dropped item: in the newest bucket, above what is stored. */
const clickDrop = async (page: Page): Promise<void> => {
  const box = await chart(page).boundingBox();
  if (box === null) throw new Error('the chart has no place');
  // The legend reads the crosshair: the place is right when it names the drop.
  for (let x = box.x + box.width - 12; x > box.x + box.width / 2; x -= 4)
    for (let y = box.y + 12; y < box.y + box.height - 24; y += 4) {
      await page.mouse.move(x, y);
      if ((await page.getByRole('button', { name: /^end_before_start 1$/ }).count()) === 0) break;
      await page.mouse.click(x, y);
      if (new URL(page.url()).searchParams.get('reason') === 'end_before_start') return;
    }
  throw new Error('no part of a bar is the drop');
};

it('a click on a part of a bar leads to the reason, and from there to the sample of the dropped span with its sender', async () => {
  const id = await withDrop();
  const page = await browser.page();
  await logInByLink(page);
  await page.goto(`/console/outcomes?range=15m&owner=app:${id}`);
  await chart(page).waitFor();
  await page
    .getByText('3 items: 66.7% stored, 1 dropped, most by end_before_start (1), 0 dead-lettered.')
    .waitFor();
  await clickDrop(page);
  await page.getByText('the span ends before it starts', { exact: false }).waitFor();
  await page.getByText('read both times from the same clock').waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page
    .getByRole('table', { name: 'Samples' })
    .getByRole('button', { name: 'end_before_start' })
    .click();
  const sample = page.getByRole('dialog', { name: 'end_before_start' });
  await sample.getByText('a-test-exporter/1.0').waitFor();
  await sample.getByText('endTimeUnixNano').first().waitFor();
  await sample.getByText('span 2 of its request, counted from 0').waitFor();
  await sample.getByText('1 item of this reason in the last hour, of this owner.').waitFor();
  expect(await sample.textContent()).toContain('a hostile <b>name');
  expect(await axeFindings(page)).toEqual([]);
});

it('a sample that is open stays so when the figures are read again', async () => {
  const id = await withDrop();
  const page = await browser.page();
  await page.clock.install();
  await logInByLink(page);
  await page.goto(`/console/outcomes?range=15m&owner=app:${id}&reason=end_before_start`);
  await page
    .getByRole('table', { name: 'Samples' })
    .getByRole('button', { name: 'end_before_start' })
    .click();
  const sample = page.getByRole('dialog', { name: 'end_before_start' });
  await sample.getByText('1 item of this reason in the last hour, of this owner.').waitFor();
  const again = page.waitForResponse(/outcomes\?.*group=reason/);
  await page.clock.runFor(31_000);
  await again;
  await page.clock.runFor(2_000);
  expect(await sample.isVisible()).toBe(true);
});

it('the same way is open to the keyboard alone: crosshair, bar, reason, sample', async () => {
  const id = await withDrop();
  const page = await browser.page();
  await logInByLink(page);
  await page.goto(`/console/outcomes?range=15m&owner=app:${id}`);
  await tabTo(page, chart(page));
  await page.keyboard.press('End');
  for (let presses = 0; presses < 5; presses++) {
    if (/end_before_start 1/.test((await chart(page).getAttribute('aria-valuetext')) ?? '')) break;
    await page.keyboard.press('ArrowLeft');
  }
  expect(await chart(page).getAttribute('aria-valuetext')).toMatch(/stored 2.*end_before_start 1/);
  await page.keyboard.press('Enter');
  const reason = page
    .getByRole('table', { name: 'Samples' })
    .getByRole('button', { name: 'end_before_start' });
  await pressByKey(page, reason);
  await page.getByRole('dialog', { name: 'end_before_start' }).getByText('a-test-exporter/1.0').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

it('what is chosen is in the address: another reader with the link sees the same, as a table and in percent', async () => {
  const id = await withDrop();
  const page = await browser.page();
  await logInByLink(page);
  await page.goto(`/console/outcomes?range=15m&owner=app:${id}`);
  await page.getByRole('button', { name: /^stored/ }).click();
  await page.getByLabel('Show').selectOption('percent');
  await page.getByRole('figure').first().getByRole('button', { name: 'Table' }).click();
  const other = await browser.tab(page);
  await other.goto(page.url());
  const table = other.getByRole('table', { name: /^Items by outcome/ });
  await table.getByRole('cell', { name: '100%' }).waitFor();
  expect(await table.getByRole('columnheader').allTextContents()).toEqual([
    'Time',
    'end_before_start',
    'dead-lettered',
  ]);
});

it('owners are listed with what became of their items, and their CSV runs no formula', async () => {
  const report = await newReport('an owner in the table');
  await waitFor(
    'the points are accepted',
    30_000,
    async () =>
      (await pushPoints(report, [
        { metrics: { cpu: 1 }, target: 'a', timestamp: Date.now() },
        { metrics: {}, target: '=cmd', timestamp: Date.now() },
      ])) === 200,
  );
  const page = await browser.page();
  await logInByLink(page);
  await waitFor('the outcome is recorded', 60_000, async () =>
    (await askAdmin('GET', `/api/v1/outcomes?data_id=${report.id}`)).body.includes('"metrics_empty":1'),
  );
  await page.goto('/console/outcomes');
  const row = page.getByRole('row', { name: new RegExp(`data id ${report.id}`) });
  await row.getByText('an owner in the table').waitFor();
  expect(await row.getByRole('cell').allTextContents()).toEqual(
    expect.arrayContaining([
      `data id ${report.id} an owner in the table`,
      '2',
      '1',
      '1',
      'metrics_empty (1)',
    ]),
  );
  await page.getByRole('columnheader', { name: 'Dropped' }).getByRole('button').click();
  await expect.poll(() => new URL(page.url()).searchParams.get('owners')).toBe('-dropped');
  await row.getByRole('button', { name: `data id ${report.id}` }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('owner')).toBe(String(report.id));
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ]);
  expect(download.suggestedFilename()).toMatch(/^outcomes-\d{8}T\d{6}Z-\d{8}T\d{6}Z\.csv$/);
  const csv = readFileSync(await download.path(), 'utf8').split('\r\n');
  expect(csv[0]).toBe('time,pipeline,data_id,app_id,kind,reason,requests,items');
  expect(csv.some((line) => line.endsWith(`,metrics,${report.id},0,dropped,metrics_empty,,1`))).toBe(true);
  expect(csv.filter((line) => /(^|,)"?[=+@-]/.test(line))).toEqual([]);
});

// A push whose points are all bad is refused whole: none of them is in an outcome.
it('refused requests are counted with their items beside the outcomes, and where nothing was dropped', async () => {
  const report = await newReport('an owner with refused pushes');
  const bad = Array.from({ length: 100 }, () => ({ metrics: {}, target: 'a' }));
  await waitFor('the good point is accepted', 30_000, async () => (await pushPoints(report, [good])) === 200);
  for (let request = 0; request < 2; request++) expect(await pushPoints(report, bad)).toBe(400);
  await waitFor('outcome and refusals are recorded', 60_000, async () => {
    const { body } = await askAdmin('GET', `/api/v1/outcomes?data_id=${report.id}`);
    return body.includes('"items":200') && body.includes('"stored":1');
  });
  const page = await browser.page();
  await logInByLink(page);
  await page.goto(`/console/outcomes?range=15m&owner=${report.id}`);
  await page
    .getByText('0 dropped, 0 dead-lettered; beside them 2 requests with 200 items were refused.')
    .waitFor();
  await page
    .getByText(
      'Nothing was dropped or dead-lettered in this time; beside them 2 requests with 200 items were refused.',
    )
    .waitFor();
  await page.getByRole('cell', { name: '200', exact: true }).waitFor();
  await page.goto(`/console/outcomes?range=15m&owner=${report.id}&reason=metrics_empty`);
  await page.getByText('2 requests with 200 items of this reason in this time.').waitFor();
});

it('lost items have a number, and a verdict that leads to the difference', async () => {
  const { id } = await newReport('an owner with a loss');
  // Of a day that no look compares any more.
  await askClickhouse(
    `INSERT INTO otel.ingest_differences (kind, stream, data_id, app_id, minute, items, messages, is_found, at)
     VALUES ('lost_in_the_stream', 'METRICS', ${id}, 0, toStartOfMinute(now() - 864000), 7, 2, 1, now() - 864000)`,
  );
  try {
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(`/console/outcomes?since=${Math.floor(Date.now() / 1000) - 20 * 86_400}&owner=${id}`);
    await page.getByText('0 dead-lettered, 7 lost.').waitFor();
    await page.getByRole('columnheader', { name: 'Lost' }).waitFor();
    await page.getByRole('cell', { name: /\bno$/ }).getByRole('link').click();
    await expect.poll(() => page.url()).toContain(`/console/system/account?owner=${id}`);
  } finally {
    // Other pages of the same stack say whether all accounts add up.
    const closing = { data_id: id, reason: 'planted by a test' };
    expect((await askAdmin('POST', '/api/v1/account/differences/close', closing)).status).toBe(200);
  }
});

it('a time that the charts have no room for is said in words, and the sums of the owners are there all the same', async () => {
  const id = await withDrop();
  const page = await browser.page();
  await logInByLink(page);
  await page.goto(`/console/outcomes?since=0&owner=app:${id}`);
  await page.getByText('The charts have room for 598 days', { exact: false }).waitFor();
  await page.getByRole('button', { name: 'end_before_start (1)' }).waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
});

it('an owner that does not exist is an error with its words, and not a chart of zeros', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await page.goto('/console/outcomes?owner=999999');
  expect(await page.getByRole('alert').textContent()).toContain('data id 999999');
});

it('says beside the stored items that their rows were purged since, on Outcomes and on the page of the owner, and Explore says that nothing is stored', async () => {
  const report = await newReport('a purged owner');
  await waitFor('the point is accepted', 30_000, async () => (await pushPoints(report, [good])) === 200);
  await waitFor('the outcome is recorded', 60_000, async () =>
    (await askAdmin('GET', `/api/v1/outcomes?data_id=${report.id}`)).body.includes('"stored":1'),
  );
  const page = await browser.page();
  await logInByLink(page);
  const address = `/console/outcomes?range=15m&owner=${report.id}`;
  await page.goto(address);
  const row = page.getByRole('row', { name: new RegExp(`data id ${report.id}`) });
  await row.getByText('1', { exact: true }).first().waitFor();
  expect(await row.getByText('purged since').count()).toBe(0);
  const { items } = JSON.parse(
    (await askAdmin('GET', `/api/v1/custom-reports?mon_data_id=${report.id}`)).body,
  );
  const [{ custom_report_id: id, table_id: table }] = items;
  const purge = await askAdmin('POST', `/api/v1/custom-reports/${id}/purge`, { table_id: table });
  expect(purge.status).toBe(200);
  await page.goto(address);
  await row.getByText('purged since').waitFor();
  await page.goto(`/console/sources/${report.id}`);
  await page.getByText('stored, purged since').waitFor();
  await page.goto(`/console/points?source=${report.id}&metric=cpu`);
  await page
    .getByRole('alert')
    .getByText(`nothing is stored of data id ${report.id}: its rows were purged`)
    .waitFor();
});

it('the names of owners are read once, and not again for another time, step or owner', async () => {
  const { id } = await newReport('an owner whose name is read once');
  const page = await browser.page();
  const lists: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (/\/(custom-reports|data-sources|applications)$/.test(pathname)) lists.push(pathname);
  });
  await logInByLink(page);
  const owners = page.getByRole('heading', { name: 'Owners' });
  await page.goto('/console/outcomes');
  await owners.waitFor();
  await expect
    .poll(() => lists.toSorted().map((path) => path.split('/').at(-1)))
    .toEqual(['applications', 'custom-reports', 'data-sources']);
  const afterChoice = async (choose: () => Promise<unknown>): Promise<void> => {
    const answer = page.waitForResponse(/outcomes\?.*group=reason/);
    await choose();
    await answer;
    await owners.waitFor();
  };
  await afterChoice(() => page.getByLabel('Time').selectOption('24h'));
  await afterChoice(() => page.getByLabel('Step').selectOption('day'));
  await afterChoice(async () => {
    await page.getByRole('searchbox', { name: 'Owner' }).fill(String(id));
    await page.keyboard.press('Enter');
  });
  expect(lists.length).toBe(3);
});

const nothing = {
  ...{ since: 0, until: 0, not_known_since: null, not_known: [], items: [], truncated: false },
  ...{ removed: [], buckets: [], in_flight: [] },
};

// Its beginning was that of the moment at which the page was opened: after ten hours the API refused it.
it('the last hour is an hour however long the page is open, also in its CSV', async () => {
  const page = await browser.page();
  await page.clock.install();
  await logInByLink(page);
  const asked: URLSearchParams[] = [];
  // What else answers would say the real time.
  await page.route('**/api/v1/**', (route) => route.abort());
  await page.route('**/api/v1/outcomes?*', (route) => {
    asked.push(new URL(route.request().url()).searchParams);
    return route.fulfill({ json: nothing });
  });
  await page.goto('/console/outcomes');
  await page.getByText('No owner has items or refused requests in this time.').waitFor();
  const opened = asked.splice(0).map((query) => Number(query.get('since')));
  const isLater = (query: URLSearchParams | undefined): boolean =>
    Number(query?.get('since')) - Math.max(...opened) >= 36_000;
  await page.clock.fastForward('10:00:00');
  await expect.poll(() => asked.length).toBe(2);
  expect(asked.map(isLater)).toEqual([true, true]);
  await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV', exact: true }).click(),
  ]);
  expect(asked.filter((query) => query.get('format') === 'csv').map(isLater)).toEqual([true]);
});

it('a CSV that is refused says why, and can be asked for again', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await page.route('**/api/v1/outcomes?*format=csv*', (route) =>
    route.fulfill({
      ...{ status: 422, contentType: 'application/problem+json' },
      body: JSON.stringify({ code: 'invalid_value', detail: 'the limit of CSV is 10000' }),
    }),
  );
  await page.goto('/console/outcomes');
  const csv = page.getByRole('button', { name: 'CSV', exact: true });
  await csv.click();
  await page.getByRole('alert').getByText('the limit of CSV is 10000').waitFor();
  await page.unroute('**/api/v1/outcomes?*format=csv*');
  const [download] = await Promise.all([page.waitForEvent('download'), csv.click()]);
  expect(readFileSync(await download.path(), 'utf8')).toMatch(/^time,pipeline,/);
  expect(await page.getByRole('alert').count()).toBe(0);
});
