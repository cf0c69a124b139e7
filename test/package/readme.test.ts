import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksOf } from '../support/chapters.ts';
import { root } from '../support/package/first-run.ts';
import { type FirstRun, openFirstRun } from '../support/package/open-first-run.ts';

let first: FirstRun;
let readme: string;

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

beforeAll(async () => {
  first = await openFirstRun();
  first.set({ npm_config_prefer_offline: 'true' });
  await first.user(`git clone --quiet ${root} .`);
  readme = await readFile(join(first.folder, 'README.md'), 'utf8');
});

afterAll(() => first?.stop());

// The first hour decides: each line of README's first page has to work as it is printed, in a clone that has nothing yet.
describe('README, followed in a new clone', () => {
  it('starts the stack with its first command', async () => {
    const line = blocksBelow('Two commands')[0]?.split('\n')[0] ?? '';
    expect(line).toMatch(/^make up\b/);
    await first.start(line);
  });

  it('makes a report and an application, pushes, exports, and reads both', async () => {
    const blocks = blocksBelow('First steps');
    expect(blocks).toHaveLength(2);
    const found = [/"count":[1-9]/, /readme\s+first/];
    for (const [index, block] of blocks.entries()) {
      const lines = block.trimEnd().split('\n');
      const query = lines.pop() ?? '';
      expect(query).toMatch(/^curl /);
      await first.user(asFollowed(lines.join('\n')));
      // What the first line of the first block does for the whole terminal.
      first.set({
        PATH: `${first.folder}/bin:${first.variable('PATH')}`,
        TIDEMARK_DATA: join(first.folder, '.tidemark'),
      });
      await first.untilPrinted(query, found[index] ?? /^$/);
    }
    expect(await first.user('tidemark --version')).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('has a banner whose commands work', () => first.followBanner());

  it('prints no warning and no stack trace', () => {
    expect(first.blemishes()).toEqual([]);
  });
});
