import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createCli } from '../support/clients/cli.ts';
import { askAdmin, issueToken, logInByLink, useBrowser } from '../support/console/browser.ts';
import { consoleStack } from '../support/console/console-stack.ts';
import { waitFor } from '../support/wait.ts';

const browser = useBrowser();
const cli = createCli(() => ({
  PATH: process.env['PATH'],
  ...consoleStack().env,
  TIDEMARK_ADMIN_URL: consoleStack().admin,
}));

describe('the log-in page', () => {
  it('logs in by the link of `tidemark console`, and leaves its code neither in the address nor in the history', async () => {
    const { url } = await cli.json(z.object({ url: z.string() }), 'console');
    const page = await browser.page();
    await page.goto(url);
    await page.getByRole('heading', { level: 1, name: 'Line' }).waitFor();
    expect(page.url()).toBe(`${consoleStack().admin}/console/`);
    await page.goBack();
    expect(page.url()).not.toContain('#');
    await page.goto('about:blank').catch(() => undefined);
    await page.goto(url);
    expect(await page.getByRole('alert').textContent()).toContain('the link was used');
  });

  it('goes on at the page of an address that was opened without a session, by a link in the same tab', async () => {
    const address = '/console/outcomes?range=6h';
    const page = await browser.page();
    await page.goto(address);
    await page.getByRole('heading', { name: 'Log in to Tidemark' }).waitFor();
    const { url } = await cli.json(z.object({ url: z.string() }), 'console');
    await page.goto(url);
    await page.getByRole('heading', { level: 1, name: 'Outcomes' }).waitFor();
    expect(page.url()).toBe(`${consoleStack().admin}${address}`);
  });

  it('takes a token once by keyboard alone, and goes to the page of the address', async () => {
    const { token } = await issueToken('viewer');
    const page = await browser.page();
    await page.goto('/console/outcomes?range=6h');
    await page.getByRole('heading', { name: 'Log in to Tidemark' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type(token);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Outcomes' }).waitFor();
    expect(page.url()).toBe(`${consoleStack().admin}/console/outcomes?range=6h`);
    expect(await page.getByText('a viewer').count()).toBe(1);
    const kept = await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])');
    expect(kept).not.toContain(token);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Outcomes' }).waitFor();
  });

  it('says why it refuses a wrong token, an expired one and one of a node, and what helps', async () => {
    const expired = await issueToken('admin', Math.floor(Date.now() / 1000) + 3);
    const node = await issueToken('node');
    const ofExpired = { Authorization: `Bearer ${expired.token}` };
    await waitFor('the token has expired', 10_000, async () => {
      return (await fetch(`${consoleStack().admin}/api/v1/audit`, { headers: ofExpired })).status === 401;
    });
    const page = await browser.page();
    await page.goto('/console/');
    const field = page.getByLabel('Admin token');
    for (const [token, said] of [
      ['wrong', 'the admin token is not valid'],
      [expired.token, 'the admin token is not valid'],
      [node.token, 'of a node cannot log in'],
    ] as const) {
      await field.fill(token);
      await field.press('Enter');
      await page.getByRole('alert').getByText(said).waitFor();
    }
    expect(await field.getAttribute('type')).toBe('password');
    expect(await field.getAttribute('autocomplete')).toBe('off');
    expect(await page.getByRole('navigation').count()).toBe(0);
  });
});

describe('a session in the browser', () => {
  it('has a cookie that scripts cannot read and other sites do not send', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const [cookie, ...others] = await page.context().cookies();
    expect(others).toEqual([]);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/', domain: '127.0.0.1' });
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  it('ends in the open page within seconds after its token was revoked', async () => {
    const { token, id } = await issueToken('viewer');
    const page = await browser.page();
    await logInByLink(page, token);
    await askAdmin('POST', `/api/v1/admin-tokens/${id}/revoke`, {});
    await page.getByRole('heading', { name: 'Log in to Tidemark' }).waitFor({ timeout: 20_000 });
  });

  it('says that it has ended and why it may have, and goes on at the same page: by a token, and by a link in the same tab', async () => {
    const address = '/console/sources?show=all';
    for (const by of ['token', 'link']) {
      const { token, id } = await issueToken('viewer');
      const page = await browser.page();
      await page.goto(address);
      await page.getByRole('heading', { name: 'Log in to Tidemark' }).waitFor();
      expect(await page.getByText('Your session has ended').count()).toBe(0);
      await page.getByLabel('Admin token').fill(token);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Sources' }).waitFor();
      await askAdmin('POST', `/api/v1/admin-tokens/${id}/revoke`, {});
      await page
        .getByText('Your session has ended: its token was revoked, has expired or has another role now')
        .waitFor();
      if (by === 'token') {
        await page.getByLabel('Admin token').fill((await issueToken('viewer')).token);
        await page.keyboard.press('Enter');
      } else {
        const { url } = await cli.json(z.object({ url: z.string() }), 'console');
        await page.goto(url);
      }
      await page.getByRole('heading', { level: 1, name: 'Sources' }).waitFor();
      expect(page.url()).toBe(`${consoleStack().admin}${address}`);
      expect(await page.getByText('Your session has ended').count()).toBe(0);
      await page.locator('summary').click();
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.getByRole('heading', { name: 'Log in to Tidemark' }).waitFor();
      expect(await page.getByText('Your session has ended').count()).toBe(0);
    }
  });

  it('says that its 12 hours are over', async () => {
    const page = await browser.page();
    await page.route('**/console/session', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), expires_at: 1 } });
    });
    await logInByLink(page);
    await page.context().clearCookies();
    // A call of the page itself may have found the end already, and then the link is gone: nothing waits for it.
    await page.evaluate('document.querySelector(\'a[href$="/sources"]\')?.click()');
    await page.getByText('Your session has ended: its 12 hours are over.').waitFor();
  });

  it('is ended by "Log out"', async () => {
    const page = await browser.page();
    await logInByLink(page);
    await page.locator('summary').click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to Tidemark' }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
  });

  it('that ends or begins in one tab does so in the others, and a log-out that fails says so', async () => {
    const page = await browser.page();
    await logInByLink(page);
    const other = await page.context().newPage();
    await other.goto(new URL('/console', page.url()).href);
    await other.locator('summary').waitFor();
    await page.locator('summary').click();
    await page.route('**/console/session', (route) => route.abort());
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('The admin API does not answer.').waitFor();
    await page.unroute('**/console/session');
    await page.getByRole('button', { name: 'Log out' }).click();
    await other.getByRole('heading', { name: 'Log in to Tidemark' }).waitFor();
    await logInByLink(page);
    await other.locator('summary').waitFor();
  });
});
