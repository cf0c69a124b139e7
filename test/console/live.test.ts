import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { logInByLink, useBrowser } from '../support/console/browser.ts';
import { type LiveProxy, startLiveProxy } from '../support/console/live-proxy.ts';

const browser = useBrowser();

const isSaid = (page: Page, words: string): Promise<void> =>
  page.getByRole('banner').getByText(words, { exact: true }).waitFor();

/** A page that reads its stream over this proxy, and whose clock the test moves. */
const livePage = async ({ origin }: LiveProxy): Promise<Page> => {
  const page = await browser.page({ origin });
  await page.clock.install();
  await logInByLink(page);
  await isSaid(page, 'Live');
  return page;
};

it('seven tabs share one live stream, and another tab reads it when the one that did is closed', async () => {
  const proxy = await startLiveProxy();
  const first = await browser.page({ origin: proxy.origin });
  await logInByLink(first);
  await isSaid(first, 'Live');
  const tabs = await Promise.all(Array.from({ length: 6 }, () => browser.tab(first)));
  for (const tab of tabs) {
    await tab.goto('/console/');
    await isSaid(tab, 'Live');
  }
  expect(proxy.open).toEqual(['line']);
  await first.close();
  await expect.poll(() => proxy.open).toEqual(['line']);
  for (const tab of tabs) await isSaid(tab, 'Live');
  for (const tab of tabs) await tab.close();
  await expect.poll(() => proxy.open).toEqual([]);
});

it('a page says that the stream is lost, and takes it up again', async () => {
  const proxy = await startLiveProxy();
  const page = await browser.page({ origin: proxy.origin });
  await logInByLink(page);
  await isSaid(page, 'Live');
  proxy.answer = 'nothing';
  proxy.cut();
  await isSaid(page, 'No answer; reconnecting …');
  expect(await page.getByRole('status').allTextContents()).toContain('No answer; reconnecting …');
  proxy.answer = 'events';
  await isSaid(page, 'Live');
});

it('a page says within half a minute that nothing comes any more, also in a tab that another reads for, and opens the stream again', async () => {
  const proxy = await startLiveProxy();
  const page = await livePage(proxy);
  const other = await browser.tab(page);
  await other.goto('/console/');
  await isSaid(other, 'Live');
  proxy.isSilent = true;
  proxy.answer = 'silence';
  await page.clock.runFor(20_000);
  await isSaid(page, 'Live');
  await page.clock.runFor(6_000);
  await isSaid(page, 'No answer; reconnecting …');
  await isSaid(other, 'No answer; reconnecting …');
  proxy.isSilent = false;
  proxy.answer = 'events';
  await page.clock.runFor(26_000);
  await isSaid(page, 'Live');
  await isSaid(other, 'Live');
});

it('a page of a server that sends no beat takes silence for an open stream', async () => {
  const proxy = await startLiveProxy();
  proxy.beats = false;
  const page = await livePage(proxy);
  proxy.isSilent = true;
  proxy.answer = 'silence';
  await page.clock.runFor(60_000);
  await isSaid(page, 'Live');
});

it('the browser shows the beats of metadata to a page', async () => {
  const page = await browser.page();
  await logInByLink(page);
  const beat = `new Promise((resolve) => new EventSource('/api/v1/live?topics=dead_letters')
    .addEventListener('beat', ({ data }) => resolve(data)))`;
  expect(await page.evaluate(beat)).toBe('{}');
});

it('with too many readers a page reads its figures every five seconds, says so, and has the stream again later', async () => {
  const proxy = await startLiveProxy();
  proxy.answer = 'busy';
  const page = await browser.page({ origin: proxy.origin });
  await page.clock.install();
  await logInByLink(page);
  await isSaid(page, 'Every 5 s: the live stream was refused');
  proxy.answer = 'events';
  await page.clock.runFor(40_000);
  await isSaid(page, 'Live');
});

it('a tab that was hidden for half a minute reads nothing, and begins again when it is shown', async () => {
  const proxy = await startLiveProxy();
  // The clock of the page goes on by half a minute at once, without events meanwhile.
  proxy.beats = false;
  const page = await livePage(proxy);
  const show = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} });
      document.dispatchEvent(new Event('visibilitychange'));`);
  await show(true);
  await page.clock.runFor(29_000);
  expect(proxy.open).toEqual(['line']);
  await page.clock.runFor(2_000);
  await expect.poll(() => proxy.open).toEqual([]);
  await show(false);
  await isSaid(page, 'Live');
});

it('a tab that was opened in the background reads nothing after half a minute', async () => {
  const proxy = await startLiveProxy();
  // The clock of the page goes on by half a minute at once, without events meanwhile.
  proxy.beats = false;
  const page = await livePage(proxy);
  await page.addInitScript("Object.defineProperty(document, 'hidden', { get: () => true })");
  await page.reload();
  await isSaid(page, 'Live');
  await page.clock.runFor(31_000);
  await expect.poll(() => proxy.open).toEqual([]);
});

it('a page whose events have no endpoint of their own does not take silence for an answer', async () => {
  const proxy = await startLiveProxy();
  proxy.answer = 'busy';
  const page = await browser.page({ origin: proxy.origin });
  await logInByLink(page);
  await page.getByRole('link', { name: 'Dead letters' }).click();
  await isSaid(page, 'Every 5 s: the live stream was refused');
  await page.route('**/console/session', (route) => route.abort());
  await isSaid(page, 'No answer; reconnecting …');
});

it('a page without live figures opens no stream', async () => {
  const proxy = await startLiveProxy();
  const page = await browser.page({ origin: proxy.origin });
  await logInByLink(page);
  await isSaid(page, 'Live');
  await page.getByRole('link', { name: 'Applications' }).click();
  await isSaid(page, 'Not live');
  await expect.poll(() => proxy.open).toEqual([]);
});
