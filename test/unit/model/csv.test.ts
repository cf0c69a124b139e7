import { describe, expect, it } from 'vitest';
import { csvName, csvText } from '../../../src/model/csv.ts';

const cellOf = (text: string): string => csvText(['a'], [[text]]).slice('a\r\n'.length, -2);

describe('CSV', () => {
  it('quotes what separates cells and lines, and leaves numbers and empty cells plain', () => {
    expect(csvText(['name', 'n', 'x'], [['a,"b"\r\nc', -3, null]])).toBe(
      'name,n,x\r\n"a,""b""\r\nc",-3,\r\n',
    );
  });

  // A sender chooses its SDK's name, and the reader of the table would run it.
  it.each(['=1+1', '+1', '-2+3', '@SUM(A1)', '|calc', '%x', '\t=1', '\r=1', '  =1', '＝1'])(
    'takes the force from the formula %j',
    (formula) => {
      expect(cellOf(formula).replace(/^"/, '')).toMatch(/^'/);
    },
  );

  // Files of several periods come into one folder.
  it('has a name with its period', () => {
    expect(csvName('outcomes', 1_764_496_800, 1_764_500_400)).toBe(
      'outcomes-20251130T100000Z-20251130T110000Z.csv',
    );
    expect(csvName('disk', 1_764_496_800.25)).toBe('disk-20251130T100000Z.csv');
  });

  it('leaves other texts as they are', () => {
    for (const text of ['otel-go/1.2', '10.0.0.7', '::1', 'a=b', '']) expect(cellOf(text)).toBe(text);
  });
});
