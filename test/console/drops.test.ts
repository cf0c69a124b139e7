import { expect, it } from 'vitest';
import { askAdmin, axeFindings, logInByLink, useBrowser } from '../support/console/browser.ts';
import { startLiveProxy } from '../support/console/live-proxy.ts';
import { newReport, pushPoints } from '../support/console/senders.ts';
import { waitFor } from '../support/wait.ts';

const browser = useBrowser();

it('a dropped point appears in the live tail of its owner, which can be paused and narrowed to a reason, and in the history', async () => {
  const report = await newReport('a tail');
  const other = await newReport('another tail');
  const page = await browser.page();
  await logInByLink(page);
  await page.goto(`/console/drops?owner=${report.id}`);
  await page.getByText('No sample yet.', { exact: false }).waitFor();
  await page.getByRole('banner').getByText('Live', { exact: true }).waitFor();
  const bad = (target: string) => ({ metrics: {}, target, timestamp: Date.now() });
  const push = (to: typeof report, target: string) =>
    waitFor(
      'the point is dropped',
      30_000,
      async () => (await pushPoints(to, [{ ...bad(target), metrics: { cpu: 1 } }, bad(target)])) === 200,
    );
  await push(other, 'not mine');
  await push(report, '\u202e<script>alert(1)</script>');
  const table = page.getByRole('table', { name: 'Samples' });
  const rows = table.getByRole('button', { name: 'metrics_empty' });
  await expect.poll(() => rows.count()).toBe(1);
  await rows.click();
  const dialog = page.getByRole('dialog', { name: 'metrics_empty' });
  await dialog.getByText('send at least one metric per point').waitFor();
  await dialog.getByText('U+202E').waitFor();
  await dialog.getByText(`data id ${report.id}`).waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Pause' }).click();
  await push(report, 'while it was paused');
  await page.getByLabel('Show').selectOption('past');
  await expect
    .poll(async () => {
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Drops' }).waitFor();
      await page.getByRole('table', { name: 'Samples' }).waitFor();
      return rows.count();
    })
    .toBe(2);
  await page.getByLabel('Reason').selectOption('metric_name_invalid');
  await page.getByText('No sample is kept of this.', { exact: false }).waitFor();
  await expect
    .poll(() => new URL(page.url()).search)
    .toBe(`?owner=${report.id}&view=past&reason=metric_name_invalid`);
});

it('a point that is dropped after the history was read and before the stream has begun appears in the live tail', async () => {
  const report = await newReport('between history and stream');
  const page = await browser.page();
  await logInByLink(page);
  const begin = Promise.withResolvers<void>();
  await page.route('**/api/v1/live?*', async (route) => {
    await begin.promise;
    await route.continue();
  });
  await page.goto(`/console/drops?owner=${report.id}`);
  await page.getByText('No sample yet.', { exact: false }).waitFor();
  await waitFor('the point is dropped', 30_000, async () => {
    const point = { metrics: { cpu: 1 }, target: 'between', timestamp: Date.now() };
    return (await pushPoints(report, [point, { ...point, metrics: {} }])) === 200;
  });
  await waitFor('its sample is written', 30_000, async () =>
    (await askAdmin('GET', `/api/v1/drops?data_id=${report.id}`)).body.includes('metrics_empty'),
  );
  begin.resolve();
  const rows = page.getByRole('table', { name: 'Samples' }).getByRole('button', { name: 'metrics_empty' });
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByText('1 new since the page is open.').waitFor();
});

it.each(['drops', 'outcomes'])(
  'an owner that cannot be read is said on %s, and not taken for all owners',
  async (path) => {
    const page = await browser.page();
    await logInByLink(page);
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(decodeURIComponent(request.url())));
    await page.goto(`/console/${path}?owner=app7`);
    await page.getByRole('alert').getByText('The filter cannot be read').waitFor();
    expect(asked.filter((url) => /\/api\/v1\/(drops|outcomes)|drops:/.test(url))).toEqual([]);
    expect(await page.getByRole('button', { name: 'CSV' }).count()).toBe(0);
    await page.getByLabel('Owner').fill(' 1500001 ');
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).searchParams.get('owner')).toBe('1500001');
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  },
);

it('while the live stream is refused, the drops of an owner appear that are not among the newest of all owners', async () => {
  const report = await newReport('refused stream');
  const proxy = await startLiveProxy();
  proxy.answer = 'busy';
  const page = await browser.page({ origin: proxy.origin });
  await logInByLink(page);
  // The newest 50 are those of others.
  const ofOthers = { json: { items: [], next_cursor: null } };
  await page.route('**/api/v1/drops?limit=50', (route) => route.fulfill(ofOthers));
  await page.goto(`/console/drops?owner=${report.id}`);
  await page.getByText('No sample yet.', { exact: false }).waitFor();
  await page.getByRole('banner').getByText('Every 5 s', { exact: false }).waitFor();
  await waitFor('the point is dropped', 30_000, async () => {
    const point = { metrics: { cpu: 1 }, target: 'refused', timestamp: Date.now() };
    return (await pushPoints(report, [point, { ...point, metrics: {} }])) === 200;
  });
  const rows = page.getByRole('table', { name: 'Samples' }).getByRole('button', { name: 'metrics_empty' });
  await expect.poll(() => rows.count()).toBe(1);
});
