import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { askAdmin, axeFindings, issueToken, logInByLink, useBrowser } from '../support/console/browser.ts';
import { consoleStack } from '../support/console/console-stack.ts';
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
  it('shows what a dead letter holds, masked; a dry run changes nothing; its redrive stores it, and it is gone', async () => {
    const { name, sequence, mend } = await makeLetter();
    const page = await browser.page();
    await logInByLink(page);
    await page.goto(ofApplication());
    await page.getByRole('link', { name: String(sequence), exact: true }).click();
    await page.getByRole('heading', { level: 1, name: `Dead letter ${sequence}` }).waitFor();
    await page.getByRole('heading', { name: 'Content' }).waitFor();
    const text = (await page.locator('main').textContent()) ?? '';
    expect(text).toContain(name);
    expect(text).toContain('<img src=x>');
    expect(text).toContain('********');
    expect(text).not.toContain('geheim');
    expect(await axeFindings(page)).toEqual([]);

    await mend();
    await page.getByRole('button', { name: 'Redrive …' }).click();
    await dialogOf(page).getByText('1 dead letter (1 item) would be redriven').waitFor();
    expect(await lettersOf(application.id)).toContain(sequence);
    await dialogOf(page).getByRole('button', { name: 'Redrive 1 dead letter' }).click();
    await dialogOf(page).getByText('1 dead letter (1 item) redriven').waitFor();
    await dialogOf(page).getByRole('button', { name: 'Close' }).click();
    await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor();
    expect(await lettersOf(application.id)).not.toContain(sequence);
    await waitFor('the redriven span is stored', waitMs, async () => {
      const rows = await askClickhouse(`SELECT count() FROM otel.otel_traces WHERE SpanName = '${name}'`);
      return rows.trim() === '1';
    });
  });

  it('purges the selected ones alone, after the token was given again where the log-in is old', async () => {
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
    const again = page.getByLabel('Admin token');
    const answered = dialogOf(page).getByText('1 dead letter (1 item) would be purged');
    await Promise.race([again.waitFor(), answered.waitFor()]);
    if (await again.isVisible()) {
      await again.fill(consoleStack().adminToken);
      await page.getByRole('button', { name: 'Continue' }).click();
    }
    await answered.waitFor();
    await page.getByRole('button', { name: 'Purge 1 dead letter for ever' }).click();
    await dialogOf(page).getByText('1 dead letter (1 item) purged').waitFor();
    const left = await lettersOf(application.id);
    expect(left).toContain(kept.sequence);
    expect(left).not.toContain(sequence);
    await kept.mend();
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
