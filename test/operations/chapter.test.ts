import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { asInChapter, type Block, blocksOf, chapterLines } from '../support/chapters.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { addressOf, startUp, type Up, untilReady } from '../support/stack/up-process.ts';

const chapters = new URL('../../docs/chapters/', import.meta.url);
const programs = new URL('../../bin', import.meta.url).pathname;

/** The commands for a deployment on other ports than the default ones. */
const movedTo = (up: Up, commands: string): string =>
  commands.replaceAll('http://127.0.0.1:10205', addressOf(up, 'push metrics'));

type Ran = { readonly printed: string; readonly status: number };

const mark = '=== end of block ===';

/** Runs all blocks in one shell. Answers what each printed and how it ended, of those that came to their end. */
const runBlocks = async (up: Up, folder: string, blocks: readonly Block[]): Promise<Ran[]> => {
  const script = join(folder, 'chapter.sh');
  const parts = blocks.map(({ commands }) => `${movedTo(up, commands)}\necho " ${mark} $?"\n`);
  await writeFile(script, parts.join(''));
  const shell = spawn('sh', [script], {
    env: {
      ...process.env,
      PATH: `${programs}:${process.env.PATH}`,
      TIDEMARK_DATA: folder,
      TIDEMARK_ADMIN_URL: addressOf(up, 'admin API'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    shell.kill('SIGKILL');
  });
  const ends = (await text(shell.stdout)).split(` ${mark} `);
  return ends.slice(0, -1).map((printed, index) => ({
    printed: index === 0 ? printed : printed.replace(/^\d+\n/, ''),
    status: Number.parseInt(ends[index + 1] ?? '', 10),
  }));
};

// A chapter whose commands no longer work, or print something else, is worse than none.
it.each(['life-of-a-report.md'])('%s prints the shown output', async (name) => {
  const blocks = blocksOf(await readFile(new URL(name, chapters), 'utf8'));
  expect(blocks.length).toBeGreaterThan(1);
  const folder = await tempFolder();
  const up = startUp(folder);
  await untilReady(up);
  const ran = await runBlocks(up, folder, blocks);
  expect(ran).toHaveLength(blocks.length);
  for (const [index, { line, printed = '' }] of blocks.entries()) {
    const { printed: actual = '', status } = ran[index] ?? {};
    const where = `${name}:${line}`;
    expect.soft(asInChapter(actual, printed), where).toEqual(chapterLines(printed));
    expect.soft(status, `${where}, how it ended`).toBe(0);
  }
});
