import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  blemishesOf,
  commandWith,
  firstRow,
  inShell,
  printedCommands,
  root,
  type Started,
  startStack,
  untilPrinted,
  userEnvironment,
} from '../support/package/first-run.ts';
import { anyPorts } from '../support/stack/any-ports.ts';
import { openTempFolder } from '../support/stack/temp-folder.ts';

const run = promisify(execFile);

let temp: Awaited<ReturnType<typeof openTempFolder>>;
let env: NodeJS.ProcessEnv;
let empty: string;
let stack: Started;
const said: string[] = [];

/** Runs a line in the empty folder; it has to succeed. */
const user = async (line: string): Promise<string> => {
  const { code, output } = await inShell(line, empty, env);
  said.push(output);
  expect({ line, code, output }).toEqual({ line, code: 0, output });
  return output;
};

beforeAll(async () => {
  temp = await openTempFolder();
  empty = join(temp.path, 'empty');
  const prefix = join(temp.path, 'prefix');
  await run('mkdir', [empty]);
  const args = ['--disable-warning=ExperimentalWarning', join(root, 'tools/package.ts'), temp.path];
  const { stdout } = await run(process.execPath, args);
  env = { ...(await userEnvironment(temp.path, join(prefix, 'bin'))), ...anyPorts };
  await user(`npm install -g --offline --prefix ${prefix} ${stdout.trim()}`);
});

afterAll(async () => {
  await stack?.stop();
  await temp.remove();
});

// A package that needs its clone, or a network, would be found out by its first user.
describe('the npm package, installed without a network', () => {
  it('has a command in any folder, and says its version', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    expect(await user('tidemark --version')).toBe(`${version}\n`);
    expect(await user('tidemark explain timestamp_unit_seconds')).toContain('timestamp_unit_seconds');
  });

  it('runs the whole stack in an empty folder, with its console', async () => {
    stack = await startStack('tidemark up', empty, env);
    // The ports of this run are free ones; at their defaults the commands need no address.
    const ports = Object.fromEntries(Object.keys(anyPorts).map((name) => [name, undefined]));
    const url = /admin API +(http:\/\/\S+)/.exec(stack.lines.join('\n'))?.[1];
    env = { ...env, ...ports, TIDEMARK_ADMIN_URL: url };
    const link = stack.lines.join('\n').match(/https?:\/\/\S+\/console\/\S*/)?.[0] ?? 'no link';
    expect(await user(`curl -sS '${link}'`)).toContain('<!doctype html>');
  });

  it('takes the push and the span that its banner shows, and reads both from the databases', async () => {
    const commands = printedCommands(stack.lines);
    expect(commands.length).toBeGreaterThanOrEqual(4);
    for (const command of commands) await user(command);
    await untilPrinted(commandWith(commands, 'query points'), empty, env, firstRow.points);
    await untilPrinted(commandWith(commands, 'query traces'), empty, env, firstRow.spans);
  });

  it('reads the data folder of the folder that it runs in', async () => {
    expect(await user('tidemark report list')).toMatch(/^1500001 /m);
  });

  it('prints no warning and no stack trace', () => {
    expect([...said, ...stack.lines].flatMap(blemishesOf)).toEqual([]);
  });
});
