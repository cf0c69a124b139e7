import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askAdmin, axeFindings, logInByLink, overflowOf, useBrowser } from '../support/console/browser.ts';
import { consoleStack } from '../support/console/console-stack.ts';
import { everyAddress, settled } from '../support/console/every-page.ts';
import { exportSpans, newApplication, newReport, pushPoints, span } from '../support/console/senders.ts';
import { waitFor } from '../support/wait.ts';

const browser = useBrowser();
const waitMs = 60_000;
const sendEveryMs = 250;
const traceId = randomBytes(16).toString('hex');
let addresses: string[] = [];
let folder = '';

const services = ['gateway', 'checkout', 'payment', 'stock', 'mail'];

/** Spans of one purchase, each within the one before it, a fault in the payment, and one that ends before it starts. */
const purchase = (): { service: string; spans: object[] }[] => {
  const start = Date.now() - 5_000;
  let parentSpanId = '';
  return services.flatMap((service, depth) =>
    ['POST /orders', 'reserve', 'SELECT orders'].map((name, index) => {
      const own = span(name, depth === 4 && index === 2 ? -5 : 400 - depth * 70 - index * 15);
      const from = BigInt(start + depth * 30 + index * 10) * 1_000_000n;
      const lasts = BigInt(own.endTimeUnixNano) - BigInt(own.startTimeUnixNano);
      const made = {
        ...own,
        ...{ traceId, parentSpanId, startTimeUnixNano: String(from), endTimeUnixNano: String(from + lasts) },
        status: { code: service === 'payment' && index === 2 ? 2 : 0 },
      };
      parentSpanId = own.spanId;
      return { service, spans: [made] };
    }),
  );
};

const exportPurchase = async (token: string): Promise<boolean> => {
  const resourceSpans = purchase().map(({ service, spans }) => ({
    resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
    scopeSpans: [{ spans }],
  }));
  const { status } = await fetch(`${consoleStack().otlp}/v1/traces`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': token },
    body: JSON.stringify({ resourceSpans }),
  });
  return status === 200;
};

/** An hour of points of three hosts, and two points that are dropped. */
const hourOfPoints = (): object[] => {
  const now = Date.now();
  const point = (index: number) => {
    const [turn, host] = [Math.floor(index / 3), index % 3];
    return {
      metrics: { cpu: 40 + 25 * Math.sin(turn / 30) + host * 12, load: 1 + (turn % 7) / 5 },
      target: `10.0.0.${host}`,
      dimension: { host: `web-${host}`, zone: host === 0 ? 'a' : 'b' },
      timestamp: now - turn * 10_000,
    };
  };
  const bad = [
    { ...point(1), metrics: {} },
    { ...point(2), timestamp: Math.floor(now / 1000) },
  ];
  return [...Array.from({ length: 1_074 }, (_, index) => point(index)), ...bad];
};

const stopping = new AbortController();
let traffic: Promise<void> | undefined;

/** A little of both kinds until the file has ended, so that the line has figures. */
const sendOn = async (report: { id: number; token: string }, token: string): Promise<void> => {
  const points = () => hourOfPoints().slice(0, 12);
  while (!stopping.signal.aborted) {
    await Promise.all([pushPoints(report, points()), exportSpans(token, [span('GET /cart')])]);
    await setTimeout(sendEveryMs);
  }
};

beforeAll(async () => {
  const report = await newReport('web servers');
  const application = await newApplication('shop');
  await waitFor('points', waitMs, async () => (await pushPoints(report, hourOfPoints())) === 200);
  await waitFor('spans', waitMs, () => exportPurchase(application.token));
  await waitFor('the account of both', waitMs, async () => {
    const bodies = [`data_id=${report.id}`, `app_id=${application.id}`].map(async (owner) => [
      (await askAdmin('GET', `/api/v1/drops?${owner}`)).body,
      (await askAdmin('GET', `/api/v1/outcomes?${owner}`)).body,
    ]);
    return (await Promise.all(bodies))
      .flat()
      .every((body) => /timestamp_|end_before_start|metrics_empty/.test(body));
  });
  await waitFor(
    'the trace',
    waitMs,
    async () => (await askAdmin('GET', `/api/v1/traces/${traceId}`)).status === 200,
  );
  traffic = sendOn(report, application.token);
  const page = await browser.page();
  await logInByLink(page);
  addresses = [
    ...(await everyAddress(page, [`/sources/${report.id}`, `/applications/${application.id}`])),
    `/console/outcomes?range=15m&owner=${report.id}`,
    `/console/drops?view=past&owner=${report.id}`,
    `/console/points?source=${report.id}&metric=cpu&by=host&sql=1`,
    `/console/points?source=${report.id}&metric=cpu&show=rows`,
    `/console/traces?app=${application.id}`,
    `/console/traces/${traceId}`,
  ];
  folder = process.env['SCREENSHOTS'] ?? mkdtempSync(join(tmpdir(), 'tidemark-screenshots-'));
  mkdirSync(folder, { recursive: true });
  process.stdout.write(`screenshots: ${folder}\n`);
});

afterAll(async () => {
  stopping.abort();
  await traffic;
});

/** `sources-1500001-usage-dark.png`. */
const fileOf = (address: string, suffix: string): string => {
  const name = address
    .replace('/console/', '')
    .replaceAll(/[^a-z0-9]+/gi, '-')
    .replaceAll(/^-|-$/g, '');
  return join(folder, `${name === '' ? 'line' : name}-${suffix}.png`);
};

/** In the page: heads of tables that do not stand on one line, and codes of a cell that are broken within a word. */
const crooked = `(() => {
  const linesOf = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return [...new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom)))];
  };
  const found = [];
  for (const row of document.querySelectorAll('main thead tr')) {
    const heads = [...row.children].map((head) => linesOf(head.querySelector('button') ?? head)[0]);
    if (Math.max(...heads) - Math.min(...heads) > 1) found.push('heads at ' + heads);
  }
  for (const code of document.querySelectorAll('main td > code'))
    if (code.children.length === 0 && !/[^\\w.]/.test(code.textContent) && code.textContent.length < 40 && linesOf(code).length > 1)
      found.push('broken: ' + code.textContent);
  return found;
})()`;

describe('every page, every part of an owner and of System', () => {
  it.each(['light', 'dark'] as const)(
    'has one h1, a title and nothing for axe to find in %s, and is pictured',
    async (scheme) => {
      const page = await browser.page({ scheme });
      await logInByLink(page);
      const found: string[] = [];
      for (const address of addresses) {
        await page.goto(address);
        await settled(page);
        const { pathname } = new URL(page.url());
        expect(await page.getByRole('heading', { level: 1 }).count(), address).toBe(1);
        expect(await page.title(), address).toMatch(/^\S.* – Tidemark$/);
        expect(pathname, address).toBe(new URL(address, page.url()).pathname);
        const findings = [...(await axeFindings(page)), ...(await page.evaluate<string[]>(crooked))];
        for (const finding of findings) found.push(`${address}: ${finding}`);
        await page.screenshot({ path: fileOf(address, scheme) });
      }
      expect(found).toEqual([]);
    },
  );

  it.each([320, 390])('fits a screen of %i pixels, which no page makes scroll sideways', async (width) => {
    const page = await browser.page({ width });
    await logInByLink(page);
    const wide: string[] = [];
    for (const address of addresses) {
      await page.goto(address);
      await settled(page);
      const overflow = await overflowOf(page);
      if (overflow !== 0) wide.push(`${address}: ${overflow} pixels`);
      if (width === 320) await page.screenshot({ path: fileOf(address, 'narrow') });
    }
    expect(wide).toEqual([]);
  });
});

/** Resolves when the page changes what it shows. */
const nextChange = `new Promise((resolve) =>
  new MutationObserver(() => resolve(true)).observe(document.getElementById('main'), {
    subtree: true, childList: true, characterData: true, attributes: true,
  }))`;

it('seven tabs of one browser have live figures of one stream, and each goes on to another page', async () => {
  const first = await browser.page();
  const streams = new Set<string>();
  await logInByLink(first);
  const tabs = [first];
  while (tabs.length < 7) tabs.push(await browser.tab(first));
  const open = new Set<Request>();
  for (const [index, tab] of tabs.entries()) {
    tab.on('request', (request) => {
      if (new URL(request.url()).pathname !== '/api/v1/live') return;
      streams.add(`tab ${index}`);
      open.add(request);
    });
    tab.on('requestfailed', (request) => open.delete(request));
    tab.on('requestfinished', (request) => open.delete(request));
  }
  for (const tab of tabs) {
    await tab.goto('/console/');
    await tab.getByRole('banner').getByText('Live', { exact: true }).waitFor();
    await settled(tab);
  }
  expect(await Promise.all(tabs.map((tab) => tab.evaluate(nextChange)))).toHaveLength(7);
  expect(streams.size).toBe(1);
  expect(open.size).toBe(1);
  const paths = ['outcomes', 'drops', 'sources', 'applications', 'dead-letters', 'system', 'traces'];
  for (const [index, tab] of tabs.entries()) {
    await tab.locator(`nav[aria-label=Pages] a[href="/console/${paths[index]}"]`).click();
    await settled(tab);
    expect(new URL(tab.url()).pathname).toBe(`/console/${paths[index]}`);
  }
});
