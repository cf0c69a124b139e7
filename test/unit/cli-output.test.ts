import { expect, it } from 'vitest';
import { integerArgument, tableLines, timeText } from '../../src/cli/output.ts';

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
