import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  integerArgument,
  printFields,
  printJson,
  printJsonLine,
  printLine,
  printLines,
  printTable,
  sayLines,
  tableLines,
  timeText,
} from '../../../src/cli/output.ts';
import { createLogStream } from '../../../src/embedded/log-stream.ts';
import { unseenIn, unseenInWords, visible } from '../../../src/model/visible-text.ts';

it('aligns the columns of a table and leaves no white space at the ends', () => {
  expect(
    tableLines(
      ['ID', 'NAME'],
      [
        ['1500001', 'a'],
        ['2', 'longer'],
      ],
    ),
  ).toEqual(['ID       NAME', '1500001  a', '2        longer']);
});

it('takes integers below 0 and nothing that only begins like one', () => {
  expect(integerArgument('-3')).toBe(-3);
  for (const text of ['', '2x', '1.5', 'x', '1e3']) expect(() => integerArgument(text)).toThrow();
});

it('writes times in UTC to the second, and a dash where there is none', () => {
  expect(timeText(1_700_000_000)).toBe('2023-11-14 22:13:20Z');
  expect(timeText(null)).toBe('–');
});

// One record with such a time would end the list of all the others.
it('writes a dash for a time that no calendar has', () => {
  expect(timeText(8_640_000_000_000)).toBe('+275760-09-13 00:00:00Z');
  for (const seconds of [8_640_000_000_001, -8_640_000_000_001, Number.NaN, Number.MAX_SAFE_INTEGER])
    expect(timeText(seconds)).toBe('–');
});

it('makes the table of an answer of any length', () => {
  const rows = Array.from({ length: 300_000 }, (_, index) => [String(index)]);
  expect(tableLines(['ID'], rows)).toHaveLength(300_001);
});

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Characters that a terminal obeys, that change the direction of a text, and that are invisible. */
const unseen = [
  ...range(0, 0x1f),
  ...range(0x7f, 0x9f),
  0xad,
  0x34f,
  0x61c,
  0x115f,
  ...range(0x200b, 0x200f),
  ...range(0x2028, 0x202e),
  ...range(0x2060, 0x2069),
  0x3164,
  0xfeff,
  0xd800,
  0xdfff,
  0xe0041,
];

/** Texts as people write them. */
const seen = [
  'cpu_load',
  '主机-1',
  'größe',
  'مرحبا',
  'שלום',
  'हिन्दी',
  '👍🏽',
  '1️⃣',
  'a b',
  '"\\{}',
  'e\u0301',
];

// Other people write names, descriptions, errors and samples, and the reader of a list may hold the admin token.
describe('printed text', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const printed = (print: () => void): string => {
    let text = '';
    const take = (chunk: unknown): boolean => {
      text += String(chunk);
      return true;
    };
    vi.spyOn(process.stdout, 'write').mockImplementation(take);
    vi.spyOn(process.stderr, 'write').mockImplementation(take);
    print();
    return text;
  };

  const ways: readonly (readonly [string, (text: string) => void])[] = [
    ['a cell of a table', (text) => printTable(['NAME', 'TEXT'], [['a', text]])],
    // `query points --by` has a column for each value of a dimension.
    ['the head of a table', (text) => printTable(['NAME', text], [['a', 'b']])],
    ['the head of a table without rows', (text) => printTable(['NAME', text], [])],
    ['a field', (text) => printFields([['name', text]])],
    ['the name of a field', (text) => printFields([[text, 'value']])],
    ['a line', printLine],
    ['JSON', (text) => printJson({ [text]: [text] })],
    ['a line of JSON', (text) => printJsonLine({ [text]: [text] })],
    ['a line of a log', (text) => createLogStream((line) => process.stdout.write(line))('questdb', text)],
  ];

  /** A line feed begins another line there, with the name of who wrote it. */
  const mayBreak: ReadonlySet<string> = new Set(['a line of a log']);

  it.each(ways)('has no raw character that a terminal obeys or that is invisible: %s', (name, print) => {
    for (const code of unseen) {
      const character = String.fromCodePoint(code);
      const text = printed(() => print(`a${character}b`));
      expect(text.replaceAll('\n', ''), code.toString(16)).not.toContain(character);
      if (character === '\n' && mayBreak.has(name)) continue;
      expect(text.match(/\n/g)?.length ?? 0, code.toString(16)).toBe(
        printed(() => print('ab')).match(/\n/g)?.length,
      );
    }
  });

  it('is a line of a log for each line of what up says of an engine', () => {
    const lines: string[] = [];
    createLogStream((line) => lines.push(line))('questdb', 'was not ready; last lines:\n  one\n  two');
    expect(lines).toEqual([
      'questdb    | was not ready; last lines:\n',
      'questdb    |   one\n',
      'questdb    |   two\n',
    ]);
  });

  it.each(ways)('is text as people write it: %s', (_, print) => {
    for (const text of seen) {
      const shown = printed(() => print(text));
      expect(shown.includes(text) || shown.includes(JSON.stringify(text))).toBe(true);
    }
  });

  it('shows each such character by its number', () => {
    expect(visible('a\u001b[2J\u009b\u202e\u{e0041}\ud800z')).toBe(
      'a\\u{1b}[2J\\u{9b}\\u{202e}\\u{e0041}\\u{d800}z',
    );
    expect(tableLines(['A'], [['\u001b[31mx']])).toEqual(['A', '\\u{1b}[31mx']);
    // The rows below each other, where the terminal is too narrow.
    expect(tableLines(['A\u0007', 'B'], [['x', 'y']], 1)).toEqual(['A\\u{7}  x', 'B       y']);
  });

  it('is the same value in JSON', () => {
    const value = { 'a\u009b\u007f': ['\u2028\u202e\u{e0041}\u001b\n\ud800'] };
    expect(JSON.parse(printed(() => printJson(value)))).toEqual(value);
    expect(JSON.parse(printed(() => printJsonLine(value)))).toEqual(value);
  });

  it('keeps the lines of a text that has several, and nothing else of it', () => {
    expect(printed(() => printLines('a\nb\u001b[2J\r\nc'))).toBe('a\nb\\u{1b}[2J\\u{d}\nc\n');
    expect(printed(() => sayLines('tidemark: a\u009b'))).toBe('tidemark: a\\u{9b}\n');
  });

  it('passes through here for every command', () => {
    const folder = join(import.meta.dirname, '../../../src/cli');
    const writers = globSync('**/*.ts', { cwd: folder }).filter((file) =>
      /(?:stdout|stderr)\.write|console\.(?!ts'|md\b)/.test(readFileSync(join(folder, file), 'utf8')),
    );
    // The log of `up`, whose lines are made visible where they are made.
    expect(writers.toSorted()).toEqual(['output.ts', 'up.ts']);
  });
});

describe('an invisible character', () => {
  it('is found in a name, for every kind of it', () => {
    for (const code of unseen)
      expect(unseenIn(`a${String.fromCodePoint(code)}b`)).toBe(
        `U+${code.toString(16).toUpperCase().padStart(4, '0')}`,
      );
    for (const text of seen) expect(unseenIn(text)).toBeUndefined();
  });

  it('is found in words but for the joiners that some scripts are written with', () => {
    for (const text of ['می\u200cخواهم', 'क्\u200dष', '👩\u200d👧']) {
      expect(unseenInWords(text)).toBeUndefined();
      expect(unseenIn(text)).toMatch(/^U\+200[CD]$/);
    }
    expect(unseenInWords('a\u200cb\u202e')).toBe('U+202E');
  });
});
