import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { axeFindings, issueToken, logInByLink, useBrowser } from '../support/console/browser.ts';
import { consoleStack } from '../support/console/console-stack.ts';
import { askClickhouse } from '../support/console/refused-spans.ts';
import { newApplication } from '../support/console/senders.ts';
import { waitFor } from '../support/wait.ts';

const browser = useBrowser();

const tabs = [
  ['doctor', 'all is well'],
  ['stores', 'otel_traces'],
  ['processes', 'transfer'],
  ['account', 'Differences'],
  ['refresh', 'Runs'],
  ['audit', 'console.login'],
  ['tokens', 'yours'],
  ['settings', 'TIDEMARK_NATS_URL'],
  ['reasons', 'span_refused'],
  ['sessions', 'End all my sessions'],
] as const;

const statusOf = async (token: string): Promise<number> => {
  const headers = { Authorization: `Bearer ${token}` };
  return (await fetch(`${consoleStack().admin}/api/v1/audit?limit=1`, { headers })).status;
};

describe('the page System', () => {
  it.each(['light', 'dark'] as const)(
    'has each of its tabs at an address of its own, without a finding of axe (%s)',
    async (scheme) => {
      const page = await browser.page({ scheme });
      await logInByLink(page);
      for (const [tab, text] of tabs) {
        await page.goto(`/console/system/${tab}`);
        await page.locator('main').getByText(text).first().waitFor();
        expect(await axeFindings(page), tab).toEqual([]);
      }
    },
  );

  it('has the whole table of processes in view at 1280 pixels, also with the long names of pods and a reason', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const at = Math.floor(Date.now() / 1000);
    const items = ['ingress', 'transfer', 'metadata'].map((role) => ({
      ...{ id: role, role, host: `tidemark-${role}-7d9f8b6c5d-x2x7k`, pid: 1234567, version: '0.52.0' },
      ...{ state: 'ready', silent_seconds: 0, failing: [], degraded: [], started_at: at - 864_000 },
      ...{ items_per_second: 123_456, bytes_per_second: 123_456_789, cpu: 0.987, dropped: [] },
      ...{ event_loop_p99_ms: 123, rss_bytes: 1_234_567_890, pipelines: [] },
    }));
    const why = 'the table otel_traces is suspended: too many open files (nofile), and the disk is full';
    Object.assign(items[1] ?? {}, { state: 'not_ready', failing: [{ check: 'clickhouse', why }] });
    await page.route('**/api/v1/processes', (route) => route.fulfill({ json: { items } }));
    await page.goto('/console/system/processes');
    const table = page.getByRole('region', { name: 'Processes' });
    await table.getByText('too many open files').waitFor();
    await table.getByRole('columnheader', { name: 'Up' }).waitFor();
    expect(await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  });

  it('has the entries of a filter in its audit log without a press, also behind many others', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.route('**/api/v1/audit?*', (route) => {
      const cursor = new URL(route.request().url()).searchParams.get('cursor');
      return route.fulfill({ json: { items: [], next_cursor: cursor === '20' ? null : '20' } });
    });
    await page.goto('/console/system/audit?action=report.create');
    await page.getByText('No entry matches', { exact: false }).waitFor();
  });

  it('shows a viewer what there is, and nothing that changes it', async () => {
    const { token } = await issueToken('viewer');
    const page = await browser.page();
    await logInByLink(page, token);
    for (const [tab, text] of tabs) {
      if (tab === 'tokens' || tab === 'settings') continue;
      await page.goto(`/console/system/${tab}`);
      if (tab !== 'audit') await page.locator('main').getByText(text).first().waitFor();
      expect(await page.getByRole('button', { name: /^(Run now|Close|New token|Revoke)/ }).count()).toBe(0);
    }
    for (const [tab, title] of [
      ['tokens', 'Admin tokens'],
      ['settings', 'Settings'],
    ] as const) {
      await page.goto(`/console/system/${tab}`);
      await page.getByText('your role may not see it').waitFor();
      expect(await page.getByRole('link', { name: title }).count()).toBe(0);
    }
  });

  it('issues an admin token, shows it once, and revokes it', async () => {
    const name = `made ${randomUUID()}`;
    const page = await browser.page();
    await logInByLink(page);
    await page.goto('/console/system/tokens');
    await page.getByRole('button', { name: 'New token …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name of its user').fill(name);
    await dialog.getByLabel('Role').selectOption('editor');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const token = (await dialog.locator('pre').textContent()) ?? '';
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(await statusOf(token)).toBe(200);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(token);

    const row = page.getByRole('row', { name });
    await row.getByRole('button', { name: /Revoke/ }).click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await row.getByText('revoked').waitFor();
    await waitFor('the token is refused', 5_000, async () => (await statusOf(token)) === 401);
  });

  it('closes a difference with its reason, which stays visible', async () => {
    const { id: appId } = await newApplication(`differs ${randomUUID()}`);
    // Of a day that no look compares any more.
    await askClickhouse(
      `INSERT INTO otel.ingest_differences (kind, stream, data_id, app_id, minute, items, messages, is_found, at)
       VALUES ('lost_in_the_stream', 'TRACES', 0, ${appId}, toStartOfMinute(now() - 864000), 7, 2, 1, now() - 864000)`,
    );
    const page = await browser.page();
    await logInByLink(page);
    await page.goto('/console/system/account?state=open');
    const row = page.getByRole('row', { name: `application ${appId}` });
    await row.getByText('lost in the stream').waitFor();
    await row.getByRole('button', { name: /Close/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('purged <b>by hand</b>');
    await dialog.getByRole('button', { name: 'Close', exact: true }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByLabel('State').selectOption('closed');
    await row.getByText('purged <b>by hand</b>').waitFor();
  });

  it('takes a filter that it cannot read for a mistake, and an empty last page for no empty list', async () => {
    const page = await browser.page();
    await logInByLink(page);
    for (const address of ['account?owner=everyone', 'refresh?biz=2a']) {
      await page.goto(`/console/system/${address}`);
      expect(await page.getByRole('alert').textContent(), address).toContain('The filter cannot be read');
    }
    const { id } = await newApplication(`asked ${randomUUID()}`);
    const asked = page.waitForRequest(`**/api/v1/account/differences?app_id=${id}`);
    await page.goto(`/console/system/account?owner=app:${id}`);
    await asked;
    await page.route('**/api/v1/audit?*', (route) =>
      route.fulfill({ json: { items: [], next_cursor: null } }),
    );
    await page.goto('/console/system/audit?cursor=last');
    await page.getByText('No more: go back to the first page.').waitFor();
  });
});
