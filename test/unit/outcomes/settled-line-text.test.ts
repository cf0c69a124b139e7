import { expect, it } from 'vitest';
import { settledLineText } from '../../../src/outcomes/ledger.ts';
import type { SettledLine } from '../../../src/outcomes/rows.ts';

const line: SettledLine = {
  ...{
    pipeline: 'metrics',
    data_id: 1_500_001,
    app_id: 0,
    base: '18446744073709551615',
    first: 3,
    ordinal: -1,
  },
  ...{ redrive: 2, minute: '2026-02-03 04:05:00', received: 7 },
  outcomes: { stored: 3, 'dropped/a "name"': 4 },
  ...{ at: '2026-02-03 04:05:06.789', stream: 'METRICS-b', life: 9, serial: 5, sent: '2026-02-03 04:05:00' },
  ...{ sequence: 12, owners: 2, items: 7 },
};
const lists = {
  ...{
    letters: [-1, 4],
    letter_items: [2, 1],
    days: [20_487, 20_488],
    day_rows: [1, 2],
    day_sums: ['0', '18446744073709551614'],
  },
};

it('a line is the JSON of its members, without the lists that it does not have', () => {
  expect(JSON.parse(settledLineText(line))).toEqual(line);
  expect(JSON.parse(settledLineText({ ...line, ...lists }))).toEqual({ ...line, ...lists });
});

it('a line leaves out the first ordinal and the redrive where they are 0, as the columns have it', () => {
  const { first, redrive, ...rest } = line;
  expect(JSON.parse(settledLineText({ ...line, first: 0, redrive: 0 }))).toEqual(rest);
});
