import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../support/package/first-run.ts';
import { type FirstRun, openFirstRun } from '../support/package/open-first-run.ts';
import { anyPorts } from '../support/stack/any-ports.ts';

const run = promisify(execFile);

let first: FirstRun;

beforeAll(async () => {
  first = await openFirstRun('prefix/bin');
  first.set(anyPorts);
  const args = ['--disable-warning=ExperimentalWarning', join(root, 'tools/package.ts'), first.temp];
  const { stdout } = await run(process.execPath, args);
  await first.user(`npm install -g --offline --prefix ${join(first.temp, 'prefix')} ${stdout.trim()}`);
});

afterAll(() => first?.stop());

// A package that needs its clone, or a network, would be found out by its first user.
describe('the npm package, installed without a network', () => {
  it('has a command in any folder, and says its version', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    expect(await first.user('tidemark --version')).toBe(`${version}\n`);
    expect(await first.user('tidemark explain timestamp_unit_seconds')).toContain('timestamp_unit_seconds');
  });

  it('runs the whole stack in an empty folder, with its console', async () => {
    await first.start('tidemark up');
    const banner = first.banner.join('\n');
    // The ports of this run are free ones; at their defaults the commands need no address.
    first.set(Object.fromEntries(Object.keys(anyPorts).map((name) => [name, undefined])));
    first.set({ TIDEMARK_ADMIN_URL: /admin API +(http:\/\/\S+)/.exec(banner)?.[1] });
    const link = banner.match(/https?:\/\/\S+\/console\/\S*/)?.[0] ?? 'no link';
    expect(await first.user(`curl -sS '${link}'`)).toContain('<!doctype html>');
  });

  it('takes the push and the span that its banner shows, and reads both from the databases', () =>
    first.followBanner());

  it('reads the data folder of the folder that it runs in', async () => {
    expect(await first.user('tidemark report list')).toMatch(/^1500001 /m);
  });

  it('prints no warning and no stack trace', () => {
    expect(first.blemishes()).toEqual([]);
  });
});
