import { setTimeout as delay } from 'node:timers/promises';
import { type Browser, chromium, type Page } from 'playwright-core';
import { ensureChromium } from '../test/support/clients/chromium.ts';
import type { Stack } from '../test/support/stack/stack.ts';
import { type Difference, differencesOf, type RunFigures } from './difference.ts';
import { sendPaced } from './latency.ts';
import { withStack } from './line.ts';
import { costRow, withMetadata } from './line-cost.ts';
import { usualPoints } from './point-loads.ts';
import { startUsage } from './processes.ts';
import { type MeasureOptions, type Subject, untilVisible } from './rate.ts';
import type { Row } from './report.ts';
import { pushSubject } from './subjects.ts';

export type ConsoleOptions = MeasureOptions & {
  readonly pairs: number;
  /** Pushes of 1000 points a second. */
  readonly requestsPerSecond: number;
};

/** The rows of all turns, without and with the console, and what it changes. */
export type ConsoleCost = {
  readonly closed: readonly Row[];
  readonly open: readonly Row[];
  readonly differences: readonly Difference[];
};

const stage = 'the line at an even load, the console closed and open';
const pointsOfPush = 1000;
const connections = 8;
/** A young process compiles its code, and metadata makes its first looks. */
const warmSeconds = 15;
/** The page reads its first figures, and the line is read anew for it. */
const openedMs = 3_000;

const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'];

const launch = async (): Promise<Browser> => {
  const executablePath = await ensureChromium();
  if (executablePath === undefined) throw new Error('Chromium is missing: apt-get install chromium');
  return chromium.launch({ executablePath, args: flags });
};

/** A tab of a browser that is logged in, on a page that is not of the console. */
const logIn = async (browser: Browser, stack: Stack): Promise<{ page: Page; admin: string }> => {
  const admin = `http://127.0.0.1:${stack.metadata.ports['api']}`;
  const headers = { Authorization: `Bearer ${stack.adminToken()}` };
  const answer = await fetch(`${admin}/api/v1/console-links`, { method: 'POST', headers });
  const { path }: { path: string } = JSON.parse(await answer.text());
  const page = await browser.newPage();
  await page.goto(`${admin}${path}`);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.goto('about:blank');
  return { page, admin };
};

/** Opens Line and waits until its figures are live, or leaves the console. */
const show = async ({ page, admin }: { page: Page; admin: string }, isOpen: boolean): Promise<void> => {
  await page.goto(isOpen ? `${admin}/console/` : 'about:blank');
  if (isOpen) await page.getByRole('banner').getByText('Live', { exact: true }).waitFor();
  await delay(openedMs);
};

/** CPU of all processes of the line for the items of a while, until they are visible and the stores at rest. */
const measureTurn = async (
  subject: Subject,
  { seconds, requestsPerSecond }: ConsoleOptions,
): Promise<Row> => {
  const { visible, settled = async () => true } = subject;
  if (visible === undefined) throw new Error('a line shows what it stores');
  await settled('before');
  const before = await visible();
  const usageSince = startUsage(subject.processes());
  const { latencies, failed } = await sendPaced(subject.load(), requestsPerSecond, seconds);
  if (failed > 0) throw new Error(`${failed} requests failed`);
  const items = latencies.length * pointsOfPush;
  await untilVisible(visible, before + items);
  await settled('end');
  return costRow(stage, items, seconds, usageSince().cpu);
};

const figuresOf = (row: Row): RunFigures => {
  const figures = Object.entries(row).flatMap(([key, value]): [string, number][] =>
    typeof value === 'number' ? [[key, value]] : [],
  );
  return new Map([[stage, Object.fromEntries(figures)]]);
};

/**
 * What one tab on Line costs the line: by turns the same load without it and with it, in pairs whose order changes. The CPU of the
 * browser is not counted, that of all processes of the line is. Throws where Chromium is missing or a request fails.
 */
export const measureConsole = (
  options: ConsoleOptions,
  onPair: (closed: Row, open: Row) => void,
): Promise<ConsoleCost> =>
  withStack(options, async (stack) => {
    const subject = withMetadata(
      await pushSubject(stack, 'console', { ...usualPoints, points: pointsOfPush, connections }),
      stack,
    );
    const browser = await launch();
    try {
      const tab = await logIn(browser, stack);
      await sendPaced(subject.load(), options.requestsPerSecond, warmSeconds);
      const closed: Row[] = [];
      const open: Row[] = [];
      for (let pair = 0; pair < options.pairs; pair++) {
        for (const isOpen of pair % 2 === 0 ? [false, true] : [true, false]) {
          await show(tab, isOpen);
          (isOpen ? open : closed).push(await measureTurn(subject, options));
        }
        const [before, after] = [closed.at(-1), open.at(-1)];
        if (before !== undefined && after !== undefined) onPair(before, after);
      }
      return { closed, open, differences: differencesOf(closed.map(figuresOf), open.map(figuresOf)) };
    } finally {
      await browser.close();
    }
  });
