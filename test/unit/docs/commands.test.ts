import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commandModules, createProgram } from '../../../src/cli/program.ts';
import { codeOf, documents, readDocument as read, root } from '../../support/docs-code.ts';

const makefile = read('Makefile');
const targets = new Set([...makefile.matchAll(/^([a-z-]+):/gm)].map(([, name]) => name));

const program = await createProgram();

/** What is wrong with the words and options behind `tidemark`; `|` stands between words of which each is meant. */
const wrongWith = (rest: string): string[] => {
  const words = rest.trim().split(/\s+/);
  const follow = (command: Command, [word = '', ...more]: readonly string[]): string[] => {
    if (/^[a-z][a-z-]*(\|[a-z-]+)*$/.test(word) && command.commands.length > 0)
      return word.split('|').flatMap((name) => {
        const next = command.commands.find((each) => each.name() === name);
        return next === undefined ? [`no command ${command.name()} ${name}`] : follow(next, more);
      });
    const known = [...command.options, ...program.options].map(({ long }) => long);
    return [word, ...more]
      .flatMap((each) => /^--[a-z-]+/.exec(each) ?? [])
      .filter((option) => option !== '--help' && !known.includes(option))
      .map((option) => `no option ${option} of ${command.name()}`);
  };
  return follow(program, words);
};

/** Commands of the program in a line of code; `-n tidemark` and `deploy/tidemark` are names of Kubernetes. */
const commandsIn = (line: string): string[] =>
  [
    ...line.matchAll(/(?<![\w/.=-]|-n |namespace )(?:bin\/)?tidemark ([a-z][^&;()]*?)(?=$| \| |[&;()]|>)/g),
  ].map(([, rest = '']) => rest);

// An operator pastes these at night.
describe('every command that a document names', () => {
  it.each(documents)('is a target of make or a command of the program with its options: %s', (path) => {
    const code = codeOf(read(path));
    const made = code.flatMap((line) => [...line.matchAll(/(?<![\w-])make ([a-z][a-z-]*)/g)]);
    const unknown = made.flatMap(([, name = '']) => (targets.has(name) ? [] : [`no target ${name}`]));
    expect([...unknown, ...code.flatMap(commandsIn).flatMap(wrongWith)]).toEqual([]);
  });

  it.each(documents)('runs test files that exist: %s', (path) => {
    const named = codeOf(read(path)).flatMap((line) => [...line.matchAll(/(?<![\w/])test\/[\w/.-]+\.ts/g)]);
    expect(named.filter(([file]) => !existsSync(join(root, file)))).toEqual([]);
  });

  // One spelling works everywhere: npm's runner warns of its own Node's version before each answer.
  it.each(documents)('is not called through npm: %s', (path) => {
    expect(
      read(path)
        .split('\n')
        .filter((line) => /\bnpx\b/.test(line)),
    ).toEqual([]);
  });

  it.each([
    ['README.md', 10],
    ['docs/commands.md', 30],
  ])('is one in the table of commands: %s', (path, least) => {
    const [, below = ''] = read(path).split(/^##? Commands$/m);
    const rows = below.split('\n## ')[0]?.split('\n') ?? [];
    const firsts = rows.flatMap((row) => /^\| (`.*?`) \| /.exec(row)?.[1] ?? []);
    const named = firsts.flatMap((cell) => codeOf(cell)).filter((each) => !each.startsWith('<'));
    expect(named.length).toBeGreaterThan(least);
    // `admin-token create …`, `list`: the second goes on with the first one's command.
    const found = firsts.flatMap((cell) => {
      let parent = '';
      return codeOf(cell).flatMap((each) => {
        const [word = ''] = each.split(' ');
        const isTop = program.commands.some((command) => word.split('|').includes(command.name()));
        if (isTop) parent = word;
        return wrongWith(isTop ? each : `${parent} ${each}`);
      });
    });
    expect(found).toEqual([]);
  });

  it('has its row in docs/commands.md where the program has it', () => {
    const listed = codeOf(read('docs/commands.md')).flatMap((each) => each.split(' ')[0]?.split('|') ?? []);
    expect(
      program.commands.map((command) => command.name()).filter((name) => !listed.includes(name)),
    ).toEqual([]);
  });

  it('is checked: a missing one is found', () => {
    const text =
      'Run `make nothing`, `tidemark dlq unlist`, `tidemark up --nope` and `kubectl -n tidemark get pods`.';
    const code = codeOf(text);
    expect(code.flatMap(commandsIn).flatMap(wrongWith)).toEqual([
      'no command dlq unlist',
      'no option --nope of up',
    ]);
    expect(targets.has('nothing')).toBe(false);
  });
});

describe('the command line', () => {
  // A command that is listed under another name would be unknown when it is called by its own.
  it.each(commandModules.map(({ names }) => names))('loads %s by what it is called', async (...names) => {
    for (const name of names)
      expect((await createProgram(name)).commands.map((command) => command.name())).toEqual(names);
  });

  it('has all of them where none is named, for its help', async () => {
    const names = commandModules.flatMap((each) => each.names);
    for (const word of [undefined, '--help', 'help', 'nothing'])
      expect((await createProgram(word)).commands.map((command) => command.name())).toEqual(names);
  });
});

describe('make help', () => {
  it('lists every target', () => {
    const phony = /^\.PHONY: (.*)$/m.exec(makefile)?.[1]?.split(' ') ?? [];
    const listed = [...makefile.matchAll(/^([a-z-]+):.*## \S/gm)].map(([, name]) => name);
    expect(listed.toSorted()).toEqual(phony.toSorted());
  });
});
