import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.ts';

const root = resolve(import.meta.dirname, '../../..');

type Ended = { readonly code: unknown; readonly out: string; readonly error: string };

const tidemark = (variables: Readonly<Record<string, string>>, ...args: string[]): Promise<Ended> =>
  new Promise((done) => {
    const env = { ...process.env, ...variables };
    execFile(process.execPath, [join(root, 'src/main.ts'), ...args], { env }, (error, out, text) =>
      done({ code: error === null ? 0 : error.code, out, error: text }),
    );
  });

it('--version prints the number alone', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(await tidemark({}, '--version')).toEqual({ code: 0, out: `${version}\n`, error: '' });
});

it.each([
  [
    ['legder'],
    "error: unknown command 'legder' (Did you mean ledger?); run it with --help for the commands and options\n",
  ],
  [
    ['dlq', 'lst', '--json'],
    "error: unknown command 'lst' (Did you mean list?); run it with --help for the commands and options\n",
  ],
  [
    ['ledger', '--snce', '1h'],
    "error: unknown option '--snce' (Did you mean --since?); run it with --help for the commands and options\n",
  ],
  [
    ['ledger', '--since', '1x'],
    "error: option '--since <when>' argument '1x' is invalid. It must be an age (30m, 2h, 7d) or a time (2026-11-20T13:30:00Z); run it with --help for the commands and options\n",
  ],
  // Nanoseconds are an integer, too.
  [
    ['push', '1500001', 'load=1', '--timestamp', '1784000000000000000'],
    "error: option '--timestamp <ms>' argument '1784000000000000000' is invalid. It must be an integer of at most 15 digits; run it with --help for the commands and options\n",
  ],
  // None would be asked for, and each named one called missing.
  ...['0', '-1', 'x'].map((limit): [string[], string] => [
    ['dlq', 'purge', '17', '--limit', limit],
    `error: option '--limit <n>' argument '${limit}' is invalid. It must be a number from 1 on; run it with --help for the commands and options\n`,
  ]),
  // An option of the command around it would be taken, and do nothing.
  [
    ['account', 'close', '--owner', '1', '--reason', 'known'],
    "error: unknown option '--owner'; run it with --help for the commands and options\n",
  ],
  // Options that would do nothing.
  [
    ['usage', '--silent', '--by', 'day'],
    "error: option '--by <group>' cannot be used with option '--silent'; run it with --help for the commands and options\n",
  ],
  [
    ['usage', '--failing', '--by', 'day'],
    "error: option '--by <group>' cannot be used with option '--failing'; run it with --help for the commands and options\n",
  ],
  [
    ['usage', '--failing', '--system'],
    "error: option '--failing' cannot be used with option '--system'; run it with --help for the commands and options\n",
  ],
  ...[
    ['--by-minute', '--by-hour'],
    ['--by-minute', '--by-day'],
    ['--by-hour', '--by-day'],
  ].map(([finer = '', coarser = '']): [string[], string] => [
    ['ledger', coarser, finer],
    `error: option '${finer}' cannot be used with option '${coarser}'; run it with --help for the commands and options\n`,
  ]),
  ...[
    ['--step', '<duration>', '1m'],
    ['--aggregate', '<name>', 'max'],
    ['--by', '<dimensions>', 'host'],
  ].map(([option = '', form = '', value = '']): [string[], string] => [
    ['query', 'points', '--data-id', '1', '--metric', 'cpu', '--raw', option, value],
    `error: option '--raw' cannot be used with option '${option} ${form}'; run it with --help for the commands and options\n`,
  ]),
  ...[
    ['--push-url', '<url>', 'http://localhost'],
    ['--otlp-url', '<url>', 'http://localhost'],
    ['--grpc-url', '<url>', 'http://localhost'],
    ['--biz', '<id>', '2'],
    ['--timeout', '<duration>', '30s'],
  ].map(([option = '', form = '', value = '']): [string[], string] => [
    ['doctor', '--remote', option, value],
    `error: option '--remote' cannot be used with option '${option} ${form}'; run it with --help for the commands and options\n`,
  ]),
  ...['--attributes', '--logs'].map((option): [string[], string] => [
    ['trace', '--send', '1', option],
    `error: option '--send <app_id>' cannot be used with option '${option}'; run it with --help for the commands and options\n`,
  ]),
  ...[
    ['--service', 'shop'],
    ['--name', 'trial'],
    ['--url', 'http://localhost'],
    ['--token', 'any'],
    ['--timeout', '30s'],
  ].map(([option = '', value = '']): [string[], string] => [
    ['trace', 'ab'.repeat(16), option, value],
    `tidemark: ${option} needs --send\n`,
  ]),
  // Such a token was sent, and the receiver said not to answer.
  ...[
    ['push', '1500001', 'load=1'],
    ['trace', '--send', '1'],
  ].flatMap((command): [string[], string][] => [
    [[...command, '--token', ' '], 'tidemark: the write token is blank: set --token to a token\n'],
    ...['ab\ncd', 'ab\u0101cd'].map((token): [string[], string] => [
      [...command, '--token', token],
      'tidemark: the write token holds a character that no header may have, such as a line feed: set --token without it\n',
    ]),
  ]),
  ...['--attribute', '--resource'].map((option): [string[], string] => [
    ['query', 'metrics', option, 'host=a'],
    `tidemark: ${option} needs --last\n`,
  ]),
  [
    ['query', 'metrics', '--last', 'threads', '--name', 'threads'],
    "error: option '--last <metric>' cannot be used with option '--name <metric>'; run it with --help for the commands and options\n",
  ],
  [
    ['backup', '--to', '/nowhere/at/all', '--streams-only', '--release-checkpoint'],
    'error: --streams-only copies no database; run it with --help for the commands and options\n',
  ],
  [['usage', '--hours', '3'], 'tidemark: --hours needs --failing\n'],
])('a wrong word is answered in one line: %j', async (args, error) => {
  expect(await tidemark({}, ...args)).toEqual({ code: 1, out: '', error });
});

const program = await createProgram();
const commandsOf = (command: Command): Command[] => [command, ...command.commands.flatMap(commandsOf)];

it.each(commandsOf(program).map((command) => [command.name(), command] as const))(
  'the help of %s fits 80 columns',
  (_, command) => {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => 80 });
    command.outputHelp();
    expect(help).toMatch(/^Usage: /);
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
  },
);

it('a help without a terminal is as wide as COLUMNS says', async () => {
  const { code, out } = await tidemark({ COLUMNS: '60' }, 'token', 'show', '--help');
  expect(code).toBe(0);
  const widths = out.split('\n').map((line) => line.length);
  expect(Math.max(...widths)).toBeGreaterThan(50);
  expect(Math.max(...widths)).toBeLessThanOrEqual(60);
});
