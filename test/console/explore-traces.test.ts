import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { askAdmin, axeFindings, logInByLink, overflowOf, useBrowser } from '../support/console/browser.ts';
import {
  exportLogs,
  exportSpans,
  hostileName,
  spanIdOf,
  wideTrace,
} from '../support/console/explore-data.ts';
import { newApplication } from '../support/console/senders.ts';
import { attribute } from '../support/otlp/trace-cases.ts';
import { waitFor } from '../support/wait.ts';

const browser = useBrowser();
const largeId = 'a1'.repeat(16);
const smallId = 'b2'.repeat(16);
const large = 10_020;
let appId = 0;

/** Odd in every way that a waterfall marks. */
const oddTrace = (start: bigint) => {
  const at = (ms: number): string => String(start + BigInt(ms) * 1_000_000n);
  const span = (id: number, parent: number, from: number, to: number, more: object = {}) => ({
    traceId: smallId,
    spanId: spanIdOf(id),
    ...(parent < 0 ? {} : { parentSpanId: spanIdOf(parent) }),
    name: `odd ${id}`,
    kind: 1,
    startTimeUnixNano: at(from),
    endTimeUnixNano: at(to),
    ...more,
  });
  return [
    span(0, -1, 100, 400, { name: hostileName }),
    span(1, 0, 20, 200, { name: 'early' }),
    span(2, 0, 150, 300, {
      name: 'failing',
      status: { code: 2, message: hostileName },
      attributes: [attribute(hostileName, hostileName), attribute('http.route', '/cart')],
      events: [{ timeUnixNano: at(160), name: hostileName, attributes: [attribute('a', 'b')] }],
      links: [{ traceId: largeId, spanId: spanIdOf(3), attributes: [] }],
    }),
    span(3, 77, 210, 220, { name: 'lost' }),
    span(4, 5, 230, 240),
    span(5, 4, 230, 250),
  ];
};

/** Whether the search sees all spans of these traces. */
const areStored = async (...counts: readonly (readonly [id: string, spans: number])[]): Promise<boolean> => {
  const { status, body } = await askAdmin('POST', '/api/v1/query/traces', { app_id: appId });
  if (status !== 200) throw new Error(body);
  const { items }: { items: { trace_id: string; spans: number }[] } = JSON.parse(body);
  const spansOf = new Map(items.map(({ trace_id, spans }) => [trace_id, spans]));
  const short = counts.filter(([id, spans]) => spansOf.get(id) !== spans);
  if (short.length > 0) throw new Error(JSON.stringify([...spansOf]));
  return true;
};

beforeAll(async () => {
  const { id, token } = await newApplication('explore');
  appId = id;
  const start = BigInt(Date.now() - 60_000) * 1_000_000n;
  await exportSpans(token, wideTrace(largeId, large, start), (index) => `service-${index % 7}`);
  await exportSpans(token, oddTrace(start), (index) => (index === 1 ? hostileName : 'shop'));
  await exportLogs(token, 'shop', [
    {
      timeUnixNano: String(start + 200_000_000n),
      severityNumber: 17,
      severityText: 'ERROR',
      body: { stringValue: `payment failed ${hostileName}` },
      traceId: smallId,
      spanId: spanIdOf(2),
    },
    { timeUnixNano: String(start), body: { stringValue: 'of no trace' } },
  ]);
  await waitFor('the spans are stored', 120_000, () => areStored([largeId, large], [smallId, 6]));
});

const openTrace = async (page: Page, id: string) => {
  await logInByLink(page);
  await page.goto(`/console/traces/${id}`);
  const grid = page.getByRole('treegrid', { name: 'Spans' });
  await grid.waitFor();
  return grid;
};

/** The row that has the keyboard. */
const activeRow = (page: Page): Promise<string> =>
  page.evaluate(
    "document.getElementById(document.querySelector('[role=treegrid]')?.getAttribute('aria-activedescendant'))?.textContent ?? ''",
  );

const framesOfPart = 20;
const parts = 6;

/** Scrolls on through the rows, a step a frame: times of the frames in ms. */
const scrollOn = `(async () => {
  const grid = document.querySelector('[role=treegrid]');
  const frames = [];
  let former = await new Promise(requestAnimationFrame);
  let rowsMax = 0;
  for (let turn = 0; turn < ${framesOfPart}; turn++) {
    grid.scrollTop += 1800;
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - former);
    former = now;
    rowsMax = Math.max(rowsMax, grid.querySelectorAll('[role=row]').length);
  }
  return { frames, rowsMax, top: grid.scrollTop };
})()`;

describe('a trace of 10,000 spans', () => {
  it('has fewer than 150 rows in the page, and less than 50 ms of work for a frame while it scrolls', async () => {
    const page = await browser.page();
    const grid = await openTrace(page, largeId);
    await page.getByText('The first 10,000 of 10,020 are shown.').waitFor();
    expect(await grid.getAttribute('aria-rowcount')).toBe('10001');
    const debug = await page.context().newCDPSession(page);
    // Time of the processor: other work of the machine does not count.
    await debug.send('Performance.enable', { timeDomain: 'threadTicks' });
    const worked = async (): Promise<number> => {
      const { metrics } = await debug.send('Performance.getMetrics');
      return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
    };
    const seen: { frames: number[]; rowsMax: number; top: number }[] = [];
    const perFrame: number[] = [];
    for (let part = 0; part < parts; part++) {
      const before = await worked();
      seen.push(await page.evaluate(scrollOn));
      perFrame.push(((await worked()) - before) / framesOfPart);
    }
    const frames = seen.flatMap((each) => each.frames).toSorted((a, b) => a - b);
    const rowsMax = Math.max(...seen.map((each) => each.rowsMax));
    process.stdout.write(
      `frame: ${perFrame.map((ms) => ms.toFixed(1)).join(', ')} ms of work in each of ${parts} parts, median ${frames[frames.length / 2]?.toFixed(1)} ms; ${rowsMax} rows\n`,
    );
    expect(seen.at(-1)?.top).toBeGreaterThan(200_000);
    expect(rowsMax).toBeLessThan(150);
    expect(rowsMax).toBeGreaterThan(20);
    expect(Math.max(...perFrame)).toBeLessThan(50);
  });

  it('is walked, folded, searched and opened by the keyboard alone', async () => {
    const page = await browser.page();
    await openTrace(page, largeId);
    const tab = async (until: string): Promise<void> => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press('Tab');
        if (await page.evaluate(`document.activeElement.matches('${until}')`)) return;
      }
      throw new Error(`no Tab leads to ${until}`);
    };
    await tab('[role=treegrid]');
    expect(await activeRow(page)).toContain('step 0');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => activeRow(page)).toContain('step 1service');
    await page.keyboard.press('ArrowLeft');
    const grid = page.getByRole('treegrid');
    const count = (): Promise<string | null> => grid.getAttribute('aria-rowcount');
    const folded = Number(await count());
    expect(folded).toBeLessThan(10_001);
    expect(new URL(page.url()).searchParams.get('fold')).toBe(spanIdOf(1));
    await page.keyboard.press('ArrowRight');
    await expect.poll(count).toBe('10001');
    await page.keyboard.press('End');
    await expect
      .poll(() => page.evaluate("document.querySelector('[role=treegrid]').scrollTop"))
      .toBeGreaterThan(200_000);
    await page.keyboard.press('Home');
    const scrollTop = () => page.evaluate("document.querySelector('[role=treegrid]').scrollTop");
    await expect.poll(scrollTop).toBe(0);
    await page.evaluate("document.querySelector('[role=treegrid]').scrollTop = 5000");
    await page.keyboard.press('Home');
    await expect.poll(scrollTop).toBe(0);
    await page.keyboard.press('e');
    await expect.poll(() => activeRow(page)).toContain('error');
    await page.keyboard.press('/');
    await page.keyboard.type('step 7777');
    await page.getByText('1 of 10,000 spans match').waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => activeRow(page)).toContain('step 7777');
    await tab('[role=treegrid]');
    await page.keyboard.press('Enter');
    const panel = page.getByRole('region', { name: 'Span' });
    await panel.getByRole('heading', { name: 'step 7777' }).waitFor();
    expect(new URL(page.url()).searchParams.get('span')).toBe(spanIdOf(7777));
    await page.keyboard.press('+');
    await expect.poll(() => new URL(page.url()).searchParams.get('zoom')).toMatch(/^\d+-\d+$/);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
  });

  it('comes back from its address as it was left', async () => {
    const page = await browser.page();
    await openTrace(page, largeId);
    await page.goto(`/console/traces/${largeId}?span=${spanIdOf(5000)}&fold=*&find=5000`);
    await page.getByRole('heading', { name: 'step 5000' }).waitFor();
    expect(await page.getByRole('treegrid').getAttribute('aria-rowcount')).toBe('2');
    expect(await page.getByLabel('Search spans').inputValue()).toBe('5000');
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(`/console/traces/${largeId}?span=${spanIdOf(5000)}`);
      await expect.poll(() => activeRow(page)).toContain('step 5000');
    }
  });
});

describe('odd and hostile spans', () => {
  it.each(['light', 'dark'] as const)(
    'are marked, shown as text, and leave nothing to axe in %s',
    async (scheme) => {
      for (const width of [1280, 390]) {
        const page = await browser.page({ scheme, width });
        const grid = await openTrace(page, smallId);
        const row = (name: string) => grid.getByRole('row').filter({ hasText: name });
        await row('early').getByText('clock').waitFor();
        await row('lost').getByText('no parent').waitFor();
        await row('odd 4').getByText('ring').waitFor();
        expect(await row('failing').getByText('error', { exact: true }).count()).toBe(1);
        expect(await row('failing').locator('.span-event').count()).toBe(1);
        await row('failing').click();
        const panel = page.getByRole('region', { name: 'Span' });
        await panel.getByText('Attributes (2)').waitFor();
        expect(await axeFindings(page)).toEqual([]);
        expect(await overflowOf(page)).toBe(0);
        expect(await page.locator('main img, main script').count()).toBe(0);
      }
    },
  );

  it('has its log records below, as text and no others', async () => {
    const page = await browser.page();
    await openTrace(page, smallId);
    const table = page.getByRole('table', { name: 'Log records of this trace' });
    await table.getByRole('row').filter({ hasText: 'payment failed <img src=x' }).waitFor();
    expect(await table.getByRole('row').count()).toBe(2);
    expect(await table.getByText('ERROR', { exact: true }).count()).toBe(1);
    expect(await page.locator('main img, main script').count()).toBe(0);
    await openTrace(page, largeId);
    await page.getByText('No log record names this trace.').waitFor();
  });

  it('are found by the attribute that the panel offers, and by every field of the search', async () => {
    const page = await browser.page();
    await openTrace(page, smallId);
    await page.getByRole('row').filter({ hasText: 'failing' }).click();
    await page.getByRole('link', { name: 'Filter by this http.route' }).click();
    const found = page.getByRole('row').filter({ hasText: '<img src=x' });
    await found.waitFor();
    expect(await page.getByRole('table').getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: /^Remove the filter/ }).click();
    await page.getByLabel('At most').fill('5 s');
    await page.getByLabel('At least').fill('40 ms');
    await page.getByRole('combobox', { name: 'Status' }).selectOption('error');
    await page.getByRole('combobox', { name: 'Application' }).selectOption(String(appId));
    await page.getByLabel('Service').fill('shop');
    await page.getByLabel('Span name').fill('failing');
    await page.keyboard.press('Tab');
    await found.waitFor();
    const kept = new URL(page.url()).searchParams;
    expect(Object.fromEntries(kept)).toMatchObject({
      max: '5 s',
      min: '40 ms',
      status: 'error',
      service: 'shop',
    });
    await page.getByRole('button', { name: 'SQL' }).click();
    await page.getByLabel('SQL that ran').getByText("SpanName = 'failing'").waitFor();
    await page.getByLabel('At least').fill('4 lightyears');
    await page.keyboard.press('Tab');
    await page.getByRole('alert').getByText('A duration is a number with a unit').waitFor();
  });

  it('shows the filter of no service and of no name, and takes each away at a click', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(`/console/traces?service=&name=&app=${appId}`);
    await expect.poll(() => page.getByPlaceholder('–').count()).toBe(2);
    await page.getByRole('button', { name: 'Any service' }).click();
    await page.getByRole('button', { name: 'Any name' }).click();
    await page.getByRole('table', { name: 'Traces, the newest first' }).getByRole('link').first().waitFor();
    expect(new URL(page.url()).searchParams.has('service')).toBe(false);
    expect(new URL(page.url()).searchParams.has('name')).toBe(false);
    expect(await page.getByRole('button', { name: 'Any service' }).count()).toBe(0);
  });

  it('says that a trace does not exist, and what an id looks like', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(`/console/traces/${'c3'.repeat(16)}`);
    await page.getByRole('alert').getByText('not_found').waitFor();
    await page.goto('/console/traces/none');
    await page.getByText('A trace id has 32 hexadecimal digits').waitFor();
  });
});

describe('the page of services', () => {
  it('shows requests of each service, the operations of one, and goes to their traces', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(`/console/services?kinds=all&app=${appId}`);
    const table = page.getByRole('table', { name: 'Services, those with most requests first' });
    await table.getByRole('link', { name: 'shop', exact: true }).click();
    await page.getByRole('table', { name: 'Operations, those with most requests first' }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('link', { name: 'failing', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Explore traces' }).waitFor();
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('service'), searchParams.get('name'), searchParams.get('app')]).toEqual([
      'shop',
      'failing',
      String(appId),
    ]);
    await page.getByRole('table', { name: 'Traces, the newest first' }).getByRole('link').first().waitFor();
  });
});
