import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { openSessionStore } from '../../src/metadata/console/sessions.ts';
import { askAdmin, axeFindings, issueToken, logInByLink, useBrowser } from '../support/console/browser.ts';
import { consoleStack } from '../support/console/console-stack.ts';
import { pressByKey, typeByKey } from '../support/console/keyboard.ts';
import { newReport } from '../support/console/senders.ts';

const browser = useBrowser();

let bus: Bus;
beforeAll(async () => {
  bus = await connectBus(consoleStack().env['TIDEMARK_NATS_URL'] ?? '', 'test');
});
afterAll(() => bus.close());

const stored = z.looseObject({ proven_at: z.number() });

/** Makes the session of a page one whose token was presented six minutes ago. */
const age = async (page: Page): Promise<void> => {
  const [cookie] = await page.context().cookies();
  const [tokenId, secret = ''] = cookie?.value.split('.') ?? [];
  const key = `session.${tokenId}.${createHash('sha256').update(secret).digest('hex')}`;
  const sessions = openSessionStore(bus);
  const found = await sessions.get(key);
  if (found === undefined) throw new Error(`no session ${key}`);
  const value = stored.parse(found.value);
  await sessions.update(key, { ...value, proven_at: value.proven_at - 360_000 }, found.revision);
};

const purgeOf = async (page: Page, source: number): Promise<void> => {
  await page.goto(`/console/sources/${source}`);
  await pressByKey(page, page.getByRole('button', { name: 'Purge …' }));
  const dialog = page.getByRole('dialog', { name: 'Purge this source' });
  const table = (await dialog.locator('label code').textContent()) ?? '';
  await typeByKey(page, dialog.getByRole('textbox'), table);
  await page.keyboard.press('Enter');
};

const stateOf = async (source: number): Promise<unknown> =>
  JSON.parse((await askAdmin('GET', `/api/v1/data-sources/${source}`)).body);

describe('a dangerous act in an old session', () => {
  it('waits for the token, by keyboard alone; a wrong token is refused, and the right one lets the act go on', async () => {
    const { id } = await newReport('purged late');
    const { token } = await issueToken('admin');
    const page = await browser.page();
    await logInByLink(page, token);
    await age(page);
    await purgeOf(page, id);
    const again = page.getByRole('dialog', { name: 'The token again' });
    await again.getByText('This act needs the admin token again.').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await typeByKey(page, again.getByLabel('Admin token'), 'wrong');
    await page.keyboard.press('Enter');
    await again.getByRole('alert').getByText('the admin token is not valid').waitFor();
    expect(await stateOf(id)).toMatchObject({ is_enable: true });
    await typeByKey(page, again.getByLabel('Admin token'), token);
    await page.keyboard.press('Enter');
    await page.getByText(/^(purge under way|purged)$/).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('is not done when the reader gives no token, and can be begun again', async () => {
    const { id } = await newReport('not purged');
    const { token } = await issueToken('admin');
    const page = await browser.page();
    await logInByLink(page, token);
    await age(page);
    await purgeOf(page, id);
    const again = page.getByRole('dialog', { name: 'The token again' });
    await again.waitFor();
    await page.keyboard.press('Escape');
    await again.waitFor({ state: 'detached' });
    const dialog = page.getByRole('dialog', { name: 'Purge this source' });
    await dialog.getByRole('alert').getByText('requires the admin token again').waitFor();
    expect(await dialog.getByRole('button', { name: 'Purge' }).isEnabled()).toBe(true);
    expect(await stateOf(id)).toMatchObject({ is_enable: true });
  });

  it('waits with another one for the same token: given once, both go on', async () => {
    const { id } = await newReport('revealed and rotated');
    const { token } = await issueToken('admin');
    const page = await browser.page();
    await logInByLink(page, token);
    await age(page);
    const held = Promise.withResolvers<void>();
    await page.route('**/reveal-token', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(`/console/sources/${id}`);
    await page.getByRole('button', { name: 'Reveal' }).click();
    await page.getByRole('button', { name: 'Rotate …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click();
    const again = page.getByRole('dialog', { name: 'The token again' });
    await again.waitFor();
    const refused = page.waitForResponse('**/reveal-token');
    held.resolve();
    expect((await refused).status()).toBe(403);
    const acts = ['reveal', 'rotate'].map((act) =>
      page.waitForResponse((answer) => answer.url().endsWith(`/${act}-token`) && answer.ok()),
    );
    await again.getByLabel('Admin token').fill(token);
    await page.keyboard.press('Enter');
    await Promise.all(acts);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Hide' }).waitFor();
  });

  it('needs no token of a session that is new', async () => {
    const { id } = await newReport('purged at once');
    const page = await browser.page();
    await logInByLink(page);
    await purgeOf(page, id);
    await page.getByText(/^(purge under way|purged)$/).waitFor();
  });
});
