import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksOf } from '../support/chapters.ts';
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
import { openTempFolder } from '../support/stack/temp-folder.ts';

let temp: Awaited<ReturnType<typeof openTempFolder>>;
let clone: string;
let env: NodeJS.ProcessEnv;
let stack: Started;
let readme: string;
const said: string[] = [];

/** The commands of the blocks below a heading of README. */
const blocksBelow = (heading: string): string[] => {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split(/\n##+ /)[0] ?? '';
  return blocksOf(section).map(({ commands }) => commands);
};

/** A span by curl, for the place where README has a program with an SDK. */
const span = `now=$(date +%s%N)
curl -sS "$OTEL_EXPORTER_OTLP_ENDPOINT/v1/traces" -H "$(echo "$OTEL_EXPORTER_OTLP_HEADERS" | sed 's/=/: /')" \\
  -H 'Content-Type: application/json' -d '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",
  "value":{"stringValue":"readme"}}]},"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c",
  "spanId":"eee19b7ec3c1b174","name":"first","kind":1,"startTimeUnixNano":"'$now'","endTimeUnixNano":"'$now'"}]}]}]}'`;

/** The block as a reader runs it: with the token that the line before has printed. */
const asFollowed = (block: string): string =>
  block
    .replaceAll(
      /^(tidemark \w+ create .*?--json)\b.*$/gm,
      '$1 | tee created.json\ntoken=$(sed -n \'s/.*"token": "\\([^"]*\\)".*/\\1/p\' created.json | head -n 1)',
    )
    .replaceAll('"<token>"', '"\'"$token"\'"')
    .replaceAll('<token>', '$token')
    .replaceAll(/^# …run anything.*$/gm, () => span);

const user = async (lines: string): Promise<string> => {
  const { code, output } = await inShell(`set -e\n${lines}`, clone, env);
  said.push(output);
  expect({ lines, code, output }).toEqual({ lines, code: 0, output });
  return output;
};

beforeAll(async () => {
  temp = await openTempFolder();
  clone = join(temp.path, 'tidemark');
  env = { ...(await userEnvironment(temp.path)), npm_config_prefer_offline: 'true' };
  const { code, output } = await inShell(`git clone --quiet ${root} ${clone}`, temp.path, env);
  expect({ code, output }).toEqual({ code: 0, output: '' });
  readme = await readFile(join(clone, 'README.md'), 'utf8');
});

afterAll(async () => {
  await stack?.stop();
  await temp.remove();
});

// The first hour decides: each line of README's first page has to work as it is printed, in a clone that has nothing yet.
describe('README, followed in a new clone', () => {
  it('starts the stack with its first command', async () => {
    const line = blocksBelow('Two commands')[0]?.split('\n')[0] ?? '';
    expect(line).toMatch(/^make up\b/);
    stack = await startStack(line, clone, env);
  });

  it('makes a report and an application, pushes, exports, and reads both', async () => {
    const blocks = blocksBelow('First steps');
    expect(blocks).toHaveLength(2);
    const found = [/"count":[1-9]/, /readme\s+first/];
    for (const [index, block] of blocks.entries()) {
      const lines = block.trimEnd().split('\n');
      const query = lines.pop() ?? '';
      expect(query).toMatch(/^curl /);
      await user(asFollowed(lines.join('\n')));
      // What the first line of the first block does for the whole terminal.
      env = { ...env, PATH: `${clone}/bin:${env['PATH']}` };
      await untilPrinted(query, clone, env, found[index] ?? /^$/);
    }
    expect(await user('tidemark --version')).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('has a banner whose commands work', async () => {
    const commands = printedCommands(stack.lines);
    expect(commands.length).toBeGreaterThanOrEqual(4);
    for (const command of commands) await user(command);
    await untilPrinted(commandWith(commands, 'query points'), clone, env, firstRow.points);
    await untilPrinted(commandWith(commands, 'query traces'), clone, env, firstRow.spans);
  });

  it('prints no warning and no stack trace', () => {
    expect([...said, ...stack.lines].flatMap(blemishesOf)).toEqual([]);
  });
});
