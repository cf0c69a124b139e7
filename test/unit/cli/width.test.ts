import { describe, expect, it } from 'vitest';
import { tableLines } from '../../../src/cli/output.ts';
import { columnsFor, cutTo, wrapped } from '../../../src/cli/width.ts';

describe('the width of a text on a terminal', () => {
  it.each([
    ['cpu_load', 8],
    ['主机-1', 6],
    ['支付 服务', 9],
    ['größe', 5],
    ['e\u0301', 1],
    ['ｆｕｌｌ', 8],
    ['서버', 4],
    ['👍🏽', 2],
    ['1️⃣', 2],
    ['–', 1],
  ])('of %s is %i columns', (text, columns) => {
    expect(columnsFor(text)).toBe(columns);
  });

  it('bounds what is cut, and never splits a character', () => {
    expect(cutTo('支付服务', 5)).toBe('支付…');
    expect(cutTo('支付', 4)).toBe('支付');
  });
});

describe('a table', () => {
  const rows = [
    ['1500001', '支付 服务', 'active'],
    ['2', 'shop', 'deleted'],
  ];

  it('aligns Chinese names with others', () => {
    const lines = tableLines(['ID', 'NAME', 'STATE'], rows);
    expect(lines).toEqual([
      'ID       NAME       STATE',
      '1500001  支付 服务  active',
      '2        shop       deleted',
    ]);
    expect(lines.slice(1).map((line) => columnsFor(line.slice(0, line.search(/active|deleted/))))).toEqual([
      20, 20,
    ]);
  });

  const reasons = Array.from({ length: 20 }, (_, index) => `some_reason_of_a_refusal_${index} 1`).join(', ');

  it.each([80, 120])('fits a terminal of %i columns, and loses nothing', (columns) => {
    const lines = tableLines(['WHOSE', 'REFUSED', 'REPEATED'], [['data id 1500001', reasons, '0']], columns);
    for (const line of lines) expect(columnsFor(line)).toBeLessThanOrEqual(columns);
    const shown = lines.slice(1).map((line) => line.slice(17).replace(/ {2,}0$/, ''));
    expect(shown.join(' ')).toBe(reasons);
  });

  it('has a line for each cell where its columns are too many for the terminal', () => {
    const head = ['WHOSE', ...Array.from({ length: 9 }, (_, index) => `FIGURE ${index}`), 'REFUSED'];
    const row = (id: number): string[] => [
      `data id ${id}`,
      ...head.slice(2).map((_, index) => `${index} of many more`),
      reasons,
    ];
    const lines = tableLines(head, [row(1), row(2)], 80);
    for (const line of lines) expect(columnsFor(line)).toBeLessThanOrEqual(80);
    expect(lines.slice(0, 2)).toEqual(['WHOSE     data id 1', 'FIGURE 0  0 of many more']);
    const second = lines.indexOf('WHOSE     data id 2');
    expect(lines[second - 1]).toBe('');
    const shown = lines.slice(second + 10).map((line) => line.slice(10));
    expect(shown.join(' ')).toBe(reasons);
    for (const line of tableLines(head, [], 80)) expect(columnsFor(line)).toBeLessThanOrEqual(80);
  });

  it('is whole where no terminal bounds it: programs read lines', () => {
    expect(tableLines(['REFUSED'], [[reasons]])).toHaveLength(2);
  });

  it('breaks a word that is longer than its column', () => {
    expect(wrapped('a'.repeat(25), 10)).toEqual(['a'.repeat(10), 'a'.repeat(10), 'a'.repeat(5)]);
  });
});
