import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { differenceLines, differencesOf, type RunFigures, readFigures } from './difference.ts';
import { copyWithoutBooks } from './without-books.ts';

/**
 * `make bench-compare BASE=<rev> ARGS="--only push --seconds 6"`: runs the benches of this tree on the sources of a revision and on
 * those of this tree, in turn, and prints the differences. Everything in ARGS but `--pairs` and `--together` goes to the benches.
 * BASE=without-books is this tree without the two books of the account. With `--together` both of a pair run at the same time: the
 * machine is as fast for one as for the other, so small differences of CPU per item show. Rates then say nothing.
 */
const { values, tokens } = parseArgs({
  options: {
    base: { type: 'string' },
    pairs: { type: 'string', default: '3' },
    together: { type: 'boolean', default: false },
  },
  strict: false,
  tokens: true,
});
const root = resolve(import.meta.dirname, '..');
const base = typeof values.base === 'string' ? values.base : '';
const pairs = Number(values.pairs);
const isTogether = values.together === true;
const ownOptions = ['base', 'pairs', 'together'];

/** The arguments for the benches, unchanged. */
const passedOn = tokens.flatMap((token): string[] => {
  if (token.kind !== 'option' || ownOptions.includes(token.name)) return [];
  const following = process.argv[token.index + 3];
  if (token.value !== undefined) return [token.rawName, token.value];
  // The parser does not know the option and takes its value for another argument.
  return following === undefined || following.startsWith('-') ? [token.rawName] : [token.rawName, following];
});
const benchArguments = passedOn.length > 0 ? passedOn : ['--only', 'push,spans', '--seconds', '6'];

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const git = (...args: string[]): string =>
  execFileSync('git', ['-C', root, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();

/** The packages of a tree: links to this tree's where it needs the same, else its own. */
const bringPackages = (tree: string): void => {
  const lockOf = (folder: string): string => readFileSync(join(folder, 'package-lock.json'), 'utf8');
  if (lockOf(tree) === lockOf(root)) {
    execFileSync('cp', ['-al', join(root, 'node_modules'), join(tree, 'node_modules')]);
    return;
  }
  say('its packages differ: installing them …');
  execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: tree,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
};

/** The benches of this tree start what they measure by this file. */
const stackFile = 'test/support/stack/stack.ts';

/** Sources of the revision, with the benches of this tree and what they stand on: both are measured alike. */
const makeTree = (): string => {
  const tree = mkdtempSync(join(tmpdir(), 'tidemark-base-'));
  git('worktree', 'add', '--detach', '--force', tree, base);
  if (existsSync(join(tree, stackFile))) {
    rmSync(join(tree, 'bench'), { recursive: true, force: true });
    cpSync(join(root, 'bench'), join(tree, 'bench'), { recursive: true });
  } else say('its tests have another layout: it is measured by its own benches');
  bringPackages(tree);
  return tree;
};

const removeTree = (tree: string): void => {
  rmSync(tree, { recursive: true, force: true });
  if (existsSync(root)) git('worktree', 'prune');
};

/** One run of the benches in a tree. A missed target is not a failure here; a run that prints nothing is. */
const run = (tree: string): Promise<RunFigures> =>
  new Promise((done, fail) => {
    const args = ['bench/main.ts', ...benchArguments, '--repeats', '1'];
    const child = spawn(process.execPath, args, { cwd: tree, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.once('error', fail);
    child.once('close', () => {
      const figures = readFigures(output);
      if (figures.size > 0) done(figures);
      else fail(new Error(`the benches measured nothing in ${tree}:\n${output.slice(-2000)}`));
    });
  });

if (base === '') throw new Error('say what to compare with: make bench-compare BASE=<revision>');
const isWithoutBooks = base === 'without-books';
const revision = isWithoutBooks ? base : git('rev-parse', '--short', `${base}^{commit}`);
const turns = isTogether ? 'at the same time' : 'in turn';
say(`base ${revision}, head this tree; ${pairs} pairs, ${turns}, of: bench ${benchArguments.join(' ')}`);
const tree = isWithoutBooks ? copyWithoutBooks() : makeTree();
const interrupted = (): never => {
  removeTree(tree);
  process.exit(130);
};
process.once('SIGINT', interrupted);
process.once('SIGTERM', interrupted);
try {
  const before: RunFigures[] = [];
  const after: RunFigures[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    // The order changes, so that the state that one run leaves behind harms both trees alike.
    const order = pair % 2 === 0 ? [tree, root] : [root, tree];
    const runs = isTogether ? await Promise.all(order.map(run)) : [];
    if (!isTogether) for (const each of order) runs.push(await run(each));
    for (const [place, figures] of runs.entries()) (order[place] === tree ? before : after).push(figures);
    say(`  pair ${pair + 1} of ${pairs} is done`);
  }
  const differences = differencesOf(before, after);
  for (const line of differenceLines(revision, 'this tree', differences)) say(line);
} finally {
  removeTree(tree);
}
