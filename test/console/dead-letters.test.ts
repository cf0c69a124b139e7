import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { askAdmin, axeFindings, issueToken, logInByLink, useBrowser } from '../support/console/browser.ts';
import { changeRole } from '../support/console/console-stack.ts';
import { pressByKey } from '../support/console/keyboard.ts';
import { askClickhouse, exportSpans } from '../support/console/refused-spans.ts';
import { newApplication } from '../support/console/senders.ts';
import { waitFor } from '../support/wait.ts';

const browser = useBrowser();
const waitMs = 30_000;

const listed = z.object({ items: z.array(z.object({ sequence: z.number() })) });

const lettersOf = async (appId: number): Promise<number[]> =>
  listed
    .parse(JSON.parse((await askAdmin('GET', `/api/v1/dead-letters?app_id=${appId}`)).body))
    .items.map(({ sequence }) => sequence);

let application: { id: number; token: string };
let next = 1;

/** A span that ClickHouse refuses while the constraint of its name is there: a dead letter. */
const makeLetter = async (): Promise<{ name: string; sequence: number; mend: () => Promise<unknown> }> => {
  const name = `refused${next++}`;
  const before = await lettersOf(application.id);
  await askClickhouse(`ALTER TABLE otel.otel_traces ADD CONSTRAINT ${name} CHECK SpanName != '${name}'`);
  await exportSpans(application.token, [name, 'stored'], { password: 'geheim', note: '<img src=x>' });
  let sequence = 0;
  await waitFor('the dead letter', waitMs, async () => {
    sequence = (await lettersOf(application.id)).find((each) => !before.includes(each)) ?? 0;
    return sequence > 0;
  });
  return {
    name,
    sequence,
    mend: () => askClickhouse(`ALTER TABLE otel.otel_traces DROP CONSTRAINT ${name}`),
  };
};

const ofApplication = (): string => `/console/dead-letters?owner=app:${application.id}`;
const dialogOf = (page: Page) => page.getByRole('dialog');

beforeAll(async () => {
  application = await newApplication('dead letters');
});

describe('the page of dead letters', () => {
  it('by keyboard alone: shows what a dead letter holds, masked; a dry run changes nothing; its redrive stores it, and it is gone', async () => {
    const { name, sequence, mend } = await makeLetter();
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(ofApplication());
    await pressByKey(page, page.getByRole('link', { name: String(sequence), exact: true }));
    await page.getByRole('heading', { level: 1, name: `Dead letter ${sequence}` }).waitFor();
    await page.getByRole('heading', { name: 'Content' }).waitFor();
    const text = (await page.locator('main').textContent()) ?? '';
    expect(text).toContain(name);
    expect(text).toContain('<img src=x>');
    expect(text).toContain('********');
    expect(text).not.toContain('geheim');
    expect(await axeFindings(page)).toEqual([]);

    await mend();
    await pressByKey(page, page.getByRole('button', { name: 'Redrive …' }));
    await dialogOf(page).getByText('1 dead letter (1 item) would be redriven').waitFor();
    expect(await lettersOf(application.id)).toContain(sequence);
    await pressByKey(page, dialogOf(page).getByRole('button', { name: 'Redrive 1 dead letter' }));
    await dialogOf(page).getByText('1 dead letter (1 item) redriven').waitFor();
    await pressByKey(page, dialogOf(page).getByRole('button', { name: 'Close' }));
    await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor();
    expect(await lettersOf(application.id)).not.toContain(sequence);
    await waitFor('the redriven span is stored', waitMs, async () => {
      const rows = await askClickhouse(`SELECT count() FROM otel.otel_traces WHERE SpanName = '${name}'`);
      return rows.trim() === '1';
    });
  });

  it('purges the selected ones alone', async () => {
    const kept = await makeLetter();
    const { sequence } = await makeLetter();
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(ofApplication());
    await page.getByRole('checkbox', { name: `Select dead letter ${sequence}` }).click();
    expect(new URL(page.url()).searchParams.get('pick')).toBe(String(sequence));
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('heading', { level: 3, name: `Dead letter ${sequence}` }).waitFor();
    await page.getByRole('button', { name: 'Purge …' }).click();
    await dialogOf(page).getByText('1 dead letter (1 item) would be purged').waitFor();
    await page.getByRole('button', { name: 'Purge 1 dead letter for ever' }).click();
    await dialogOf(page).getByText('1 dead letter (1 item) purged').waitFor();
    const left = await lettersOf(application.id);
    expect(left).toContain(kept.sequence);
    expect(left).not.toContain(sequence);
    await kept.mend();
  });

  // A selection that cannot be read was taken for none: its acts were on all of the list.
  it('have no acts while the selection in the address cannot be read, until it is dropped', async () => {
    const { sequence, mend } = await makeLetter();
    await mend();
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(`${ofApplication()}&pick=abc`);
    await page.getByRole('checkbox', { name: `Select dead letter ${sequence}` }).waitFor();
    await page.getByRole('alert').getByText('The selection cannot be read').waitFor();
    expect(await page.getByRole('button', { name: /^(Redrive|Purge) …$/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Select none' }).click();
    await page.getByRole('button', { name: 'Purge …' }).waitFor();
    expect(new URL(page.url()).searchParams.get('pick')).toBeNull();
    expect(new URL(page.url()).searchParams.get('owner')).not.toBeNull();
    expect((await lettersOf(application.id)).includes(sequence)).toBe(true);
  });

  it('redriven in two tabs at once is stored once: the second tab says that it is gone', async () => {
    const { name, sequence, mend } = await makeLetter();
    await mend();
    const first = await browser.page();
    await logInByLink(first);
    const tabs = [first, await browser.tab(first)];
    for (const tab of tabs) {
      await tab.goto(`/console/dead-letters/${sequence}`);
      await tab.getByRole('button', { name: 'Redrive …' }).click();
    }
    const acts = tabs.map((tab) => dialogOf(tab).getByRole('button', { name: 'Redrive 1 dead letter' }));
    for (const act of acts) await act.waitFor();
    await acts[0]?.click();
    await dialogOf(first).getByText('1 dead letter (1 item) redriven').waitFor();
    await acts[1]?.click();
    await tabs[1]?.getByRole('dialog').getByText('1 dead letter gone since the dry run').waitFor();
    await waitFor('the redriven span is stored', waitMs, async () => {
      const rows = await askClickhouse(`SELECT count() FROM otel.otel_traces WHERE SpanName = '${name}'`);
      return rows.trim() === '1';
    });
  });

  it('is not lost when metadata is killed before its redrive: the page says that it does not know, and continues by itself', async () => {
    const { sequence, mend } = await makeLetter();
    await mend();
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(`/console/dead-letters/${sequence}`);
    await page.getByRole('button', { name: 'Redrive …' }).click();
    const act = dialogOf(page).getByRole('button', { name: 'Redrive 1 dead letter' });
    await act.waitFor();
    await changeRole('kill', 'metadata');
    try {
      await act.click();
      await dialogOf(page).getByRole('alert').getByText('It is not known whether this was done.').waitFor();
      await dialogOf(page).getByRole('button', { name: 'Close' }).click();
      await page.getByRole('main').getByText('The page tries again by itself.').first().waitFor();
    } finally {
      await changeRole('start', 'metadata');
    }
    await page.getByRole('link', { name: String(sequence), exact: true }).click();
    await page.getByRole('button', { name: 'Redrive …' }).click();
    await act.click();
    await dialogOf(page).getByText('1 dead letter (1 item) redriven').waitFor();
  });

  it('offers a viewer nothing that changes something', async () => {
    const { sequence, mend } = await makeLetter();
    const { token } = await issueToken('viewer');
    const page = await browser.page();
    await logInByLink(page, token);
    for (const path of [ofApplication(), `/console/dead-letters/${sequence}`]) {
      await page.goto(path);
      await page
        .getByText(/span_refused/)
        .first()
        .waitFor();
      expect(await page.getByRole('button', { name: /^(Redrive|Purge|Resume) / }).count()).toBe(0);
    }
    await mend();
  });

  it('takes an owner that it cannot read for a mistake, and offers no act on all', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.goto('/console/dead-letters?owner=everyone');
    expect(await page.getByRole('alert').textContent()).toContain('The filter cannot be read');
    expect(await page.getByRole('button', { name: /^(Redrive|Purge) / }).count()).toBe(0);
  });
});

type Answer = { items: object[]; next_cursor: string | null };

const letter = (sequence: number) => ({
  ...{
    sequence,
    at: 1_790_000_000,
    reason: 'row_refused',
    error: 'no',
    data_id: null,
    app_id: 7,
    table: null,
  },
  ...{ uid: null, items: 1, redrives: 0, bytes: 10, orphan: null },
});

/** Lists dead letters that are none, by the cursors of their pages. */
const serveLetters = (page: Page, answerOf: (cursor: string) => Answer | Promise<Answer>): Promise<unknown> =>
  page.route('**/api/v1/dead-letters?*', async (route) => {
    const cursor = new URL(route.request().url()).searchParams.get('cursor') ?? '';
    await route.fulfill({ json: await answerOf(cursor) });
  });

/** Answers acts on them, and notes what they are on. */
const notePurges = async (page: Page): Promise<{ since?: number; sequences?: number[] }[]> => {
  const asked: { since?: number; sequences?: number[] }[] = [];
  await page.route('**/api/v1/dead-letters/purge', (route) => {
    asked.push(route.request().postDataJSON());
    const json = { matched: 1, items: 1, done: 1, failed: [], next_cursor: null, first_cursor: null };
    return route.fulfill({ json });
  });
  return asked;
};

describe('an act on several dead letters', () => {
  it('of the last hour is on that hour, however long the page is open', async () => {
    const page = await browser.page();
    await page.clock.install();
    await logInByLink(page);
    // What else answers would say the real time.
    await page.route('**/api/v1/**', (route) => route.abort());
    await serveLetters(page, () => ({ items: [letter(20)], next_cursor: null }));
    const asked = await notePurges(page);
    await page.goto('/console/dead-letters?range=1h');
    await page.getByRole('checkbox', { name: 'Select dead letter 20' }).waitFor();
    const opened = await page.evaluate<number>('Date.now() / 1000');
    await page.clock.fastForward('02:00:00');
    await page.getByRole('button', { name: 'Purge …' }).click();
    await dialogOf(page).getByText('would be purged').waitFor();
    expect((asked[0]?.since ?? 0) - opened).toBeGreaterThan(3_500);
  });

  it('is on what was selected on all pages of one filter, and says what of it is not in view', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await serveLetters(page, (cursor) =>
      cursor === ''
        ? { items: [letter(20), letter(19)], next_cursor: 'MTk' }
        : { items: [letter(10)], next_cursor: null },
    );
    const asked = await notePurges(page);
    await page.goto('/console/dead-letters');
    const query = () => new URL(page.url()).searchParams;
    const selectPage = page.getByRole('button', { name: 'Select this page' });
    await selectPage.click();
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByRole('checkbox', { name: 'Select dead letter 10' }).waitFor();
    await selectPage.click();
    expect(query().get('pick')).toBe('20,19,10');
    await page.getByRole('button', { name: 'Purge …' }).click();
    await dialogOf(page)
      .getByText('Purge 3 selected dead letters, 2 of them not on this page: 20, 19')
      .waitFor();
    expect(asked[0]?.sequences).toEqual([20, 19, 10]);
    await page.keyboard.press('Escape');
    await page.getByLabel('Pipeline').selectOption('traces');
    await expect.poll(() => query().get('pick')).toBeNull();
    await selectPage.click();
    await expect.poll(() => query().get('pick')).toBe('20,19');
    await page.getByLabel('Time').selectOption('24h');
    await expect.poll(() => query().get('pick')).toBeNull();
  });
});

describe('a filter whose dead letters are behind many others', () => {
  const answers: Record<string, Answer> = {
    '': { items: [], next_cursor: 'MjA' },
    MjA: { items: [], next_cursor: 'MTA' },
    MTA: { items: [letter(9)], next_cursor: null },
  };

  it('shows them without a press', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await serveLetters(page, (cursor) => answers[cursor] ?? { items: [], next_cursor: null });
    await page.goto('/console/dead-letters?reason=row_refused');
    await page.getByRole('checkbox', { name: 'Select dead letter 9' }).waitFor();
    await page.getByRole('button', { name: 'Purge …' }).waitFor();
  });

  it('says how far it has looked; a reader who cancels that can act on all that match', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const held = Promise.withResolvers<void>();
    await serveLetters(page, async (cursor) => {
      if (cursor === 'MjA') await held.promise;
      return answers[cursor] ?? { items: [], next_cursor: null };
    });
    const asked = await notePurges(page);
    await page.goto('/console/dead-letters?reason=row_refused');
    await page.getByText('Looked at 1 part of the list without a match', { exact: false }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    held.resolve();
    await page.getByText('None among those that this page looked at: go to the next page.').waitFor();
    await page.getByRole('button', { name: 'Purge …' }).click();
    await dialogOf(page).getByText('would be purged').waitFor();
    expect(asked[0]).toMatchObject({ reason: 'row_refused' });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByRole('checkbox', { name: 'Select dead letter 9' }).waitFor();
  });
});

describe('the words about a search of many parts', () => {
  const looked = (page: Page) => page.getByText(/^Looked at/);
  const first: Answer = { items: [], next_cursor: 'MjA' };

  it('are of that search alone: not of the one before it, and not of one that failed', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const held = Promise.withResolvers<void>();
    let isAway = true;
    await page.route('**/api/v1/dead-letters?*', async (route) => {
      const query = new URL(route.request().url()).searchParams;
      const isFirst = query.get('cursor') === null;
      if (query.get('pipeline') === 'traces' ? isFirst : !isFirst && !isAway) await held.promise;
      await (isFirst || !isAway ? route.fulfill({ json: first }) : route.fulfill({ status: 500, json: {} }));
    });
    await page.goto('/console/dead-letters?reason=row_refused');
    await page.getByRole('main').getByRole('alert').waitFor();
    await looked(page).waitFor({ state: 'detached' });
    isAway = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await looked(page).waitFor();
    const asked = page.waitForRequest(/dead-letters\?.*pipeline=traces/);
    await page.getByLabel('Pipeline').selectOption('traces');
    await asked;
    await looked(page).waitFor({ state: 'detached' });
    held.resolve();
  });

  it('are beside what the list shows when it is read again, with the way to cancel', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const held = Promise.withResolvers<void>();
    const asked = await notePurges(page);
    await serveLetters(page, async (cursor) => {
      if (cursor === 'MjA') await held.promise;
      return asked.length < 2 ? { items: [letter(20)], next_cursor: null } : first;
    });
    await page.goto('/console/dead-letters?reason=row_refused');
    await page.getByRole('checkbox', { name: 'Select dead letter 20' }).click();
    await page.getByRole('button', { name: 'Purge …' }).click();
    await page.getByRole('button', { name: 'Purge 1 dead letter for ever' }).click();
    await dialogOf(page).getByText('1 dead letter (1 item) purged').waitFor();
    await dialogOf(page).getByRole('button', { name: 'Close' }).click();
    await looked(page).waitFor();
    expect(await page.getByRole('checkbox', { name: 'Select dead letter 20' }).isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Cancel' }).click();
    held.resolve();
    await page.getByText('None among those that this page looked at: go to the next page.').waitFor();
  });
});

describe('the time of a list', () => {
  it('begins at the first page when it is changed, and stays while a year is typed', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.route('**/api/v1/dead-letters?*', (route) =>
      route.fulfill({ json: { items: [], next_cursor: null } }),
    );
    await page.goto('/console/dead-letters?since=1790000000&until=1800000000&cursor=last');
    await page.getByText('No more: go back to the first page.').waitFor();
    const from = page.getByLabel('From', { exact: true });
    await from.fill('0002-09-21T00:00');
    await from.blur();
    const query = () => new URL(page.url()).searchParams;
    expect(query().get('since')).toBe('1790000000');
    await from.fill('2026-09-21T00:00');
    await from.blur();
    await expect.poll(() => query().get('cursor')).toBeNull();
    expect(query().get('since')).not.toBe('1790000000');
    await page.getByText('No dead letter matches the filter.').waitFor();
  });
});

describe('a consumer that is stopped', () => {
  it('is resumed by keyboard alone, with what waits before and after it; what waited is stored', async () => {
    const { id, token } = await newApplication('a stopped consumer');
    const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `waits ${index}`);
    const storedOf = async (): Promise<number> =>
      Number(await askClickhouse(`SELECT count() FROM otel.otel_traces WHERE AppId = ${id}`));
    await askClickhouse(`ALTER TABLE otel.otel_traces ADD CONSTRAINT nothing CHECK AppId != ${id}`);
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(`/console/dead-letters?owner=app:${id}`);
    await exportSpans(token, names(25));
    const alert = page.getByRole('alert').filter({ hasText: 'The consumer of traces is stopped' });
    await alert.waitFor({ timeout: waitMs });
    await exportSpans(token, names(5));
    await alert.getByText('Nothing is lost: 1 message waits in the stream.').waitFor({ timeout: waitMs });
    expect(await axeFindings(page)).toEqual([]);
    expect(await storedOf()).toBe(0);

    await askClickhouse('ALTER TABLE otel.otel_traces DROP CONSTRAINT nothing');
    await pressByKey(page, page.getByRole('button', { name: 'Resume traces …' }));
    await pressByKey(page, dialogOf(page).getByRole('button', { name: 'Resume', exact: true }));
    await page.getByText('traces is resumed, and no message waits.').waitFor({ timeout: waitMs });
    expect(await alert.count()).toBe(0);
    await waitFor('what waited is stored', waitMs, async () => (await storedOf()) === 5);
    const { body } = await askAdmin('GET', '/api/v1/audit?action=consumer.resume&limit=1');
    expect(JSON.parse(body)).toMatchObject({ items: [{ target: { kind: 'consumer', id: 'traces' } }] });
  });
});
