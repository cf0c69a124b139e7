import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { consoleStack } from './console-stack.ts';

const flags = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

export type Scheme = 'light' | 'dark';

export type PageOptions = {
  readonly scheme?: Scheme;
  readonly width?: number;
  /** Default: the console of the stack. */
  readonly origin?: string;
};

/** The browser of a test file. */
export type TestBrowser = {
  /** A page in a profile of its own, without a session. */
  page(options?: PageOptions): Promise<Page>;
  /** Another tab in the profile of a page. */
  tab(of: Page): Promise<Page>;
  /** What no page may do; a test that provokes it on purpose empties it. */
  readonly problems: string[];
};

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** In the page, whose console is the way out of it. */
const tellViolations = `document.addEventListener('securitypolicyviolation', (event) =>
  console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));`;

/** Notes what no page of the console may do, beside what the test looks at. */
const watch = (page: Page, origin: string, problems: string[]): void => {
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (/^policy: |Content Security Policy|Trusted ?Type/.test(message.text())) problems.push(message.text());
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (!['data:', 'blob:'].includes(url.protocol) && url.origin !== origin)
      problems.push(`request to another origin: ${request.url()}`);
  });
};

/** Chromium for the tests of this file. Each test fails that makes a page raise a dialog or an error, break the policy or leave its origin. */
export const useBrowser = (): TestBrowser => {
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  const origins = new WeakMap<BrowserContext, string>();
  const problems: string[] = [];
  const open = async (context: BrowserContext): Promise<Page> => {
    const page = await context.newPage();
    watch(page, origins.get(context) ?? '', problems);
    return page;
  };
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: consoleStack().chromium, args: flags });
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    expect(problems.splice(0)).toEqual([]);
  });
  return {
    problems,
    page: async ({ scheme = 'light', width = 1280, origin = consoleStack().admin } = {}) => {
      const context = await browser.newContext({
        baseURL: origin,
        colorScheme: scheme,
        viewport: { width, height: 900 },
        locale: 'en-GB',
        timezoneId: 'Europe/Berlin',
      });
      contexts.push(context);
      origins.set(context, origin);
      await context.addInitScript({ content: tellViolations });
      return open(context);
    },
    tab: (of) => open(of.context()),
  };
};

/** Issues an admin token of a role. */
export const issueToken = async (
  role: string,
  expires_at: number | null = null,
): Promise<{ token: string; id: number }> => {
  const { body } = await askAdmin('POST', '/api/v1/admin-tokens', { name: `a ${role}`, role, expires_at });
  const { token, admin_token }: { token: string; admin_token: { token_id: number } } = JSON.parse(body);
  return { token, id: admin_token.token_id };
};

/** A call of the admin API of the stack with its first token; `body` is the answer's text. */
export const askAdmin = async (
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: string }> => {
  const { admin, adminToken } = consoleStack();
  const answer = await fetch(`${admin}${path}`, {
    method,
    headers: { Authorization: `Bearer ${adminToken}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.text() };
};

/** Logs in by a link, as the owner of the token, and waits for the first page. */
export const logInByLink = async (page: Page, token = consoleStack().adminToken): Promise<void> => {
  const answer = await fetch(`${consoleStack().admin}/api/v1/console-links`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
  });
  const { path }: { path: string } = JSON.parse(await answer.text());
  await page.goto(path);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
};

type AxeResult = {
  violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[];
};

/** What axe finds on the page as it is, by WCAG 2.2 AA and its best practices: rule and element. */
export const axeFindings = async (page: Page): Promise<string[]> => {
  // Through the debugger: the policy lets no script of a test in.
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate<AxeResult>('axe.run(document, { resultTypes: ["violations"] })');
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html}: ${failureSummary ?? ''}`),
  );
};

/** By how many pixels the page is wider than the screen. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
