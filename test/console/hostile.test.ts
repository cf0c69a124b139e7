import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { askAdmin, logInByLink, useBrowser } from '../support/console/browser.ts';
import { consoleStack } from '../support/console/console-stack.ts';
import { everyAddress, settled } from '../support/console/every-page.ts';
import {
  findHostileTraces,
  hostileControls,
  hostileField,
  hostileTexts,
} from '../support/console/hostile-corpus.ts';
import { askClickhouse } from '../support/console/refused-spans.ts';
import { newApplication, newReport } from '../support/console/senders.ts';
import { waitFor } from '../support/wait.ts';

const browser = useBrowser();
const texts = [...hostileTexts, ...hostileControls];
const waitMs = 60_000;

type Owner = Awaited<ReturnType<typeof newReport>>;
let report: Owner;
let application: Owner;
let letter = 0;
const newTraceId = (): string => randomBytes(16).toString('hex');
const storedTrace = newTraceId();

const send = async (url: string, body: unknown, fields: Record<string, string>): Promise<number> =>
  (
    await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': hostileField, ...fields },
      body: JSON.stringify(body),
    })
  ).status;

const push = (data: readonly object[], token = report.token): Promise<number> =>
  send(`${consoleStack().push}/v2/push/`, { data_id: report.id, access_token: token, data }, {});

/** Points as the receiver takes them, and as it drops them: by name of metric, name of dimension, value, target, time. */
const hostilePoints = (): object[] => {
  const timestamp = Date.now();
  const point = { metrics: { cpu: 1 }, target: 'a', timestamp };
  return texts.flatMap((text) => [
    { ...point, target: text, dimension: { host: text } },
    { ...point, metrics: { [text]: 1 } },
    { ...point, dimension: { [text]: 'a' } },
    { ...point, metrics: { cpu: text } },
    { ...point, target: text, metrics: {} },
    { ...point, target: text, timestamp: text },
    { ...point, target: { [text]: text } },
  ]);
};

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

/** A span with the text wherever a span has one; `ms` below 0 is dropped. */
const hostileSpan = (text: string, ms: number, traceId = storedTrace) => {
  const start = BigInt(Date.now() - 1000) * 1_000_000n;
  const at = { timeUnixNano: String(start) };
  return {
    ...{ traceId, spanId: randomBytes(8).toString('hex'), name: text, kind: 2, traceState: 'a=b' },
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + BigInt(ms) * 1_000_000n),
    attributes: [attribute(text, text), attribute('note', text)],
    status: { code: 2, message: text },
    events: [{ ...at, name: text, attributes: [attribute(text, text)] }],
    links: [{ traceId, spanId: '00000000000000ab', attributes: [attribute(text, text)] }],
  };
};

const exportSpans = (spans: readonly object[], service: string): Promise<number> =>
  send(
    `${consoleStack().otlp}/v1/traces`,
    {
      resourceSpans: [
        {
          resource: {
            attributes: ['service.name', 'telemetry.sdk.name', 'telemetry.sdk.version', service].map((key) =>
              attribute(key, service),
            ),
          },
          scopeSpans: [{ scope: { name: service, version: service }, spans }],
        },
      ],
    },
    { 'X-MON-TOKEN': application.token },
  );

/** An owner whose name has as much of the corpus as names may have. */
const ownerOf = async (make: (name: string) => Promise<Owner>): Promise<Owner> => {
  let owner: Owner | undefined;
  for (const text of texts) owner = await make(text).catch(() => owner);
  return make('"><img src=x onerror=alert("name")><x-hostile> =cmd|x').catch(() => {
    if (owner === undefined) throw new Error('no hostile name was taken');
    return owner;
  });
};

const listed = z.object({ items: z.array(z.object({ sequence: z.number() })) });

/** A dead letter with hostile texts: ClickHouse refuses its span. */
const makeLetter = async (): Promise<number> => {
  const refused = `refused ${texts[0]}`;
  const quoted = refused.replaceAll("'", "\\'");
  await askClickhouse(`ALTER TABLE otel.otel_traces ADD CONSTRAINT hostile CHECK SpanName != '${quoted}'`);
  await exportSpans([{ ...hostileSpan(texts[1] ?? '', 1), name: refused }], texts[1] ?? '');
  const sequence = await waitFor('the dead letter', waitMs, async () => {
    const { body } = await askAdmin('GET', `/api/v1/dead-letters?app_id=${application.id}`);
    return listed.parse(JSON.parse(body)).items[0]?.sequence;
  });
  await askClickhouse('ALTER TABLE otel.otel_traces DROP CONSTRAINT hostile');
  return sequence;
};

beforeAll(async () => {
  report = await ownerOf(newReport);
  application = await ownerOf(newApplication);
  for (const name of texts)
    await askAdmin('POST', '/api/v1/admin-tokens', { name, role: 'viewer', expires_at: null });
  await waitFor('the points are taken', waitMs, async () => (await push(hostilePoints())) === 200);
  for (const text of texts) {
    // A sample for each text and reason, of one request a time; each export is taken or refused as a whole too.
    await push([{ metrics: {}, target: text, timestamp: text }]);
    await push([], text);
    await send(`${consoleStack().push}/v2/push/`, { [text]: text, data: text }, {});
  }
  await waitFor(
    'the spans are taken',
    waitMs,
    async () => (await exportSpans([hostileSpan('first', 1)], 'first')) === 200,
  );
  for (const text of texts)
    await exportSpans(
      [
        hostileSpan(text, 3),
        hostileSpan(text, 3, newTraceId()),
        hostileSpan(text, -3),
        hostileSpan(text, 1, text),
      ],
      text,
    );
  letter = await makeLetter();
  await waitFor('the spans are stored', waitMs, async () => {
    const count = await askClickhouse(
      `SELECT count() FROM otel.otel_traces WHERE TraceId = '${storedTrace}'`,
    );
    return Number(count) > texts.length;
  });
  for (const query of [`data_id=${report.id}`, `app_id=${application.id}`])
    await waitFor('the samples', waitMs, async () =>
      (await askAdmin('GET', `/api/v1/drops?${query}`)).body.includes('x-hostile'),
    );
});

/** Opens what is folded, so that all of a page has been shown. */
const unfold = async (page: Page): Promise<void> => {
  await page.evaluate(
    `for (const each of document.querySelectorAll('details:not([open])')) each.open = true`,
  );
  for (const more of (await page.locator('main button.more').filter({ hasText: '… more' }).all()).slice(0, 3))
    await more.click({ timeout: 5_000 }).catch(() => undefined);
};

/** Visits a page and says what hostile texts did to it; `shows` is a text that must be shown as text. */
const visit = async (page: Page, address: string, shows?: string): Promise<string[]> => {
  await page.goto(address);
  await settled(page);
  if (shows !== undefined) {
    const shown = page.locator('main bdi', { hasText: shows });
    await waitFor(`${address} shows ${shows}`, 10_000, async () => (await shown.count()) > 0);
  }
  await unfold(page);
  const found = await page.evaluate<string[]>(findHostileTraces);
  return found.map((each) => `${address.slice(0, 80)}: ${each}`);
};

const markup = '<x-hostile>';

describe('what senders write', () => {
  it('stays text on every page, with a mark for each character that nobody sees', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const found: string[] = [];
    const owners = [`/sources/${report.id}`, `/applications/${application.id}`];
    for (const address of await everyAddress(page, owners)) found.push(...(await visit(page, address)));
    const carriers = [
      ...owners.map((path) => `${path}/records`),
      '/sources',
      '/applications',
      '/system/tokens',
      `/dead-letters/${letter}`,
      `/traces/${storedTrace}`,
      `/traces?app=${application.id}`,
      `/drops?owner=${report.id}`,
      `/drops?owner=app:${application.id}`,
      `/drops?view=past&owner=app:${application.id}`,
    ];
    for (const path of carriers) found.push(...(await visit(page, `/console${path}`, markup)));
    for (const path of [
      `/outcomes?owner=${report.id}`,
      `/outcomes?owner=app:${application.id}&reason=end_before_start`,
      `/dead-letters?owner=app:${application.id}`,
      `/points?source=${report.id}&metric=cpu&by=host&sql=1`,
      `/points?source=${report.id}&metric=cpu&show=rows`,
    ])
      found.push(...(await visit(page, `/console${path}`)));
    expect(found).toEqual([]);
    await page.locator('main .mark', { hasText: 'U+202E' }).first().waitFor();
  });

  it('would be found if it became anything else', async () => {
    const page = await browser.page();
    await logInByLink(page);
    expect(await page.evaluate<string[]>(findHostileTraces)).toEqual([]);
    await page.evaluate(`{
      const made = document.createElement('x-hostile');
      made.id = '__proto__';
      made.title = 'gnp\\u202e';
      made.append('\\u001b[31m', Object.assign(document.createElement('a'), { href: 'javascript:0' }));
      document.body.append(made);
    }`);
    const found = (await page.evaluate<string[]>(findHostileTraces)).join();
    for (const words of [
      'element x-hostile',
      'id __proto__',
      'character in title',
      'character in x-hostile',
      'href javascript:0',
    ])
      expect(found).toContain(words);
  });

  it('stays text in the dialog of each sample, and in the panel of each span', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const found: string[] = [];
    for (const owner of [report.id, `app:${application.id}`]) {
      await page.goto(`/console/drops?view=past&owner=${owner}`);
      const table = page.getByRole('table', { name: 'Samples' });
      await table.waitFor();
      const rows = table.locator('button[aria-haspopup=dialog]');
      const count = await rows.count();
      expect(count).toBeGreaterThan(5);
      for (let index = 0; index < Math.min(count, 30); index++) {
        await rows.nth(index).click();
        await page.getByRole('dialog').waitFor();
        found.push(...(await page.evaluate<string[]>(findHostileTraces)));
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }
    }
    await page.goto(`/console/traces/${storedTrace}`);
    const grid = page.getByRole('treegrid', { name: 'Spans' });
    await grid.focus();
    for (const _ of texts) {
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 2 }).first().waitFor();
      found.push(...(await page.evaluate<string[]>(findHostileTraces)));
    }
    expect(found).toEqual([]);
  });

  it('stays text in an address that another user made, with any content', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const found: string[] = [];
    const parameters = [
      'owner',
      'reason',
      'view',
      'range',
      'show',
      'source',
      'metric',
      'by',
      'where',
      'service',
      'name',
      'attr',
      'app',
      'q',
      'pick',
      'cursor',
    ];
    for (const text of [
      '"><img src=x onerror=alert(1)><x-hostile>\u202e\u0000',
      'javascript:alert(1)',
      '__proto__',
    ]) {
      const query = new URLSearchParams(parameters.map((name) => [name, text]));
      for (const path of [
        '/',
        '/outcomes',
        '/drops',
        '/sources',
        '/applications',
        '/dead-letters',
        '/points',
        '/traces',
        '/system/audit',
        `/system/${encodeURIComponent(text)}`,
        `/traces/${encodeURIComponent(text)}`,
        `/sources/${encodeURIComponent(text)}`,
        `/${encodeURIComponent(text)}`,
      ])
        found.push(...(await visit(page, `/console${path}?${query}`)));
    }
    expect(found).toEqual([]);
  });

  it('is no formula in a table that the console hands out', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(`/console/outcomes?owner=app:${application.id}`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ]);
    const tables = [readFileSync(await download.path(), 'utf8')];
    for (const owner of [`data_id=${report.id}`, `app_id=${application.id}`])
      for (const by of ['day', 'owner'])
        tables.push((await askAdmin('GET', `/api/v1/usage?${owner}&by=${by}&format=csv`)).body);
    expect(tables.join('\n')).toContain("'=cmd");
    for (const table of tables) {
      const cells = [...table.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(?:,|\r\n)/g)].map(
        ([, cell = '']) => cell,
      );
      expect(cells.length, table).toBeGreaterThan(20);
      expect(cells.filter((cell) => /^"?\s*[=+@|%-]/.test(cell) && !/^-?\d+$/.test(cell))).toEqual([]);
    }
  });
});
