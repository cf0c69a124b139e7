import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { askAdmin, axeFindings, logInByLink, overflowOf, useBrowser } from '../support/console/browser.ts';
import { changeRole } from '../support/console/console-stack.ts';
import { newReport, pushPoints } from '../support/console/senders.ts';

const browser = useBrowser();

/** Pushes twenty points each tenth of a second until the test is finished. */
const pushOnAndOn = async (name: string): Promise<void> => {
  const report = await newReport(name);
  let isOver = false;
  const pushing = (async () => {
    for (let value = 0; !isOver; value++) {
      const points = Array.from({ length: 20 }, (_, index) => ({
        ...{ metrics: { cpu: value }, target: `host-${index}`, timestamp: Date.now() },
      }));
      await pushPoints(report, points).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  onTestFinished(async () => {
    isOver = true;
    await pushing;
  });
};

const text = async (page: Page, selector: string): Promise<string> =>
  (await page.locator(selector).first().textContent()) ?? '';

it('the line shows what passes: rates on its edges, the processes, and an account of the hour that adds up', async () => {
  await pushOnAndOn('on a line that is well');
  const page = await browser.page();
  await logInByLink(page);
  await expect.poll(() => text(page, '.tiles dd')).toMatch(/^[1-9]\d+ items\/s/);
  const drawing = page.getByRole('img', { name: /^The line: / });
  await expect.poll(() => drawing.textContent()).toMatch(/reporters.*push.*METRICS.*metrics.*QuestDB/);
  await expect.poll(async () => (await drawing.locator('.edge.busy').count()) > 2).toBe(true);
  for (const role of ['ingress', 'transfer', 'metadata'])
    await page.getByRole('cell', { name: role, exact: true }).first().waitFor();
  await page.getByText('adds up', { exact: true }).waitFor();
  await expect.poll(() => text(page, '.equation'), { timeout: 60_000 }).toMatch(/points[1-9][\d,]* received/);
  await page.getByRole('button', { name: 'Table' }).click();
  await page
    .getByRole('table', { name: 'Streams' })
    .getByRole('cell', { name: 'METRICS', exact: true })
    .waitFor();
  await expect.poll(() => new URL(page.url()).search).toBe('?view=table');
  expect(await axeFindings(page)).toEqual([]);
});

it('while transfer is killed the line says so, with its runbook entry, and shows the lag; both go when it is back', async () => {
  await pushOnAndOn('on a line without transfer');
  const page = await browser.page();
  await logInByLink(page);
  // Other files of this run may have left troubles of their own: dead letters, or a table to repair.
  const missing = page.getByText('no process of transfer', { exact: false });
  await page.getByRole('cell', { name: 'transfer', exact: true }).first().waitFor();
  await missing.waitFor({ state: 'detached' });
  await changeRole('kill', 'transfer-0');
  try {
    await missing.first().waitFor();
    const drawing = page.getByRole('img', { name: /^The line: / });
    await expect.poll(() => drawing.textContent()).toMatch(/oldest \d+ s.*[1-9]\d* pending/);
    await expect
      .poll(() => drawing.getAttribute('aria-label'))
      .toMatch(/oldest waiting message is ([3-9]|\d\d) s old/);
    await page.getByRole('link', { name: 'Runbook' }).first().click();
    const entry = page.getByRole('dialog', { name: 'TidemarkRoleMissing' });
    await entry.getByText('Scale the role to one or more.', { exact: false }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await entry.waitFor({ state: 'detached' });
    await expect.poll(() => new URL(page.url()).search).toBe('');
  } finally {
    await changeRole('start', 'transfer-0');
  }
  await expect
    .poll(() => page.getByRole('img', { name: /^The line: / }).getAttribute('aria-label'))
    .toMatch(/oldest waiting message is [01] s old|oldest waiting message is \d+ ms old/);
  await missing.waitFor({ state: 'detached' });
});

it('while metadata is killed the page says that its figures are old, and it is live again without a reload', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await page.getByRole('banner').getByText('Live', { exact: true }).waitFor();
  await page.evaluate('document.title = "not loaded again"');
  await changeRole('kill', 'metadata');
  try {
    await page.getByText('Not live: metadata does not answer.', { exact: false }).waitFor();
    await page.getByText('items/s accepted', { exact: false }).waitFor();
  } finally {
    await changeRole('start', 'metadata');
  }
  await page.getByRole('banner').getByText('Live', { exact: true }).waitFor();
  await page.getByText('Not live: metadata', { exact: false }).waitFor({ state: 'detached' });
  expect(await page.title()).toBe('not loaded again');
});

it('a paused line stands, and continues', async () => {
  const page = await browser.page();
  await logInByLink(page);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused. Figures of', { exact: false }).waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Paused.', { exact: false }).waitFor({ state: 'detached' });
});

/** Shows the line of the stack as `change` makes it, and no other one after it. */
const showLine = async (
  page: Page,
  change: (line: { streams: object[]; account: object }) => object,
): Promise<void> => {
  const line = JSON.parse((await askAdmin('GET', '/api/v1/line')).body);
  await page.route('**/api/v1/live*', (route) => route.abort());
  await page.route('**/api/v1/line', (route) => route.fulfill({ json: change(line) }));
};

/** In the page: texts of the drawing that leave their box, and what the drawing cuts off. */
const outside = `(() => {
  const drawing = document.querySelector('svg.drawing');
  const view = drawing.viewBox.baseVal;
  const found = [];
  for (const box of drawing.querySelectorAll('g:has(> rect.box)')) {
    const frame = box.querySelector('rect.box').getBBox();
    const [x] = box.getAttribute('transform').match(/[\\d.]+/g).map(Number);
    if (x < view.x + 1 || x + frame.width > view.x + view.width - 1) found.push('a box at ' + x + ' is cut');
    for (const text of box.querySelectorAll('text')) {
      const { x: left, width } = text.getBBox();
      if (width > 0 && (left < 2 || left + width > frame.width - 2)) found.push(text.textContent);
    }
  }
  return found;
})()`;

it('each text of the drawing stays in its box, also where a stream waits for days, and no box is cut', async () => {
  const page = await browser.page();
  const long = { messages: 12_345, oldest_age_seconds: 29 * 86_400 + 23 * 3_600, fill: 1, state: 'read' };
  await showLine(page, (line) => ({ ...line, streams: line.streams.map((each) => ({ ...each, ...long })) }));
  await logInByLink(page);
  await page.getByRole('img', { name: /^The line: / }).waitFor();
  expect(await page.locator('.drawing').textContent()).toMatch(/oldest 29 d/);
  expect(await page.evaluate(outside)).toEqual([]);
});

it('an account that cannot be read now is not said to add up', async () => {
  const page = await browser.page();
  await showLine(page, (line) => ({ ...line, account_why: 'no answer from ClickHouse' }));
  await logInByLink(page);
  await page.getByText('The books could not be read', { exact: false }).waitFor();
  expect(await page.getByText('adds up', { exact: true }).count()).toBe(0);
});

it.each([
  ['was not read yet', null, null],
  ['cannot be read now', { adds_up: null }, null],
  ['is an old one', {}, 'no answer from ClickHouse'],
])('an account that %s is not said to have no troubles', async (_, account, why) => {
  const page = await browser.page();
  await showLine(page, (line) => ({
    ...{ ...line, troubles: [], account_why: why },
    account: account === null ? null : { ...line.account, adds_up: true, ...account },
  }));
  await logInByLink(page);
  await page.getByText('account not known', { exact: true }).waitFor();
  expect(await page.getByText('No troubles', { exact: true }).count()).toBe(0);
});

it.each([
  ['adds up', true, 0],
  ['does not add up for 12345 owners', false, 12_345],
  ['not known: the books, or rows in a store, cannot be read now, or lines still wait in LEDGER', null, 0],
] as const)('an account that %s fits a screen of 320 pixels', async (words, addsUp, wrongOwners) => {
  const page = await browser.page({ width: 320 });
  const verdict = { adds_up: addsUp, wrong_owners: wrongOwners };
  await showLine(page, ({ account, ...line }) => ({
    ...line,
    account: { ...account, ...verdict },
    account_why: null,
  }));
  await logInByLink(page);
  await page.getByText(words, { exact: true }).waitFor();
  expect(await overflowOf(page)).toBe(0);
});
