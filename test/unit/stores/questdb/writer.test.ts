import { describe, expect, it } from 'vitest';
import { readBrokenTable, readRefusal } from '../../../../src/stores/questdb/writer.ts';

const body = (message: unknown, line?: unknown): string =>
  JSON.stringify({ code: 'invalid', message, line, errorId: 'a1' });

// QuestDB has one code for all its 400s. Read wrongly, a table that is being made costs good rows, or a bad row stops its
// consumer for ever.
describe('a 400 of QuestDB', () => {
  it.each([
    [
      'a missing table',
      body(
        'failed to parse line protocol:errors encountered on line(s):\nerror in line 1: table: 2_mon_time_series_1500001.__default__; table does not exist, creating new tables is disabled',
        1,
      ),
      { kind: 'table_missing', table: '2_mon_time_series_1500001.__default__' },
    ],
    [
      'a missing table with a semicolon in its name',
      body('table: a; b; table does not exist, creating new tables is disabled', 1),
      { kind: 'table_missing', table: 'a; b' },
    ],
    [
      'a column that may not be added',
      body('error in line 2: table: t, column: cpu; creating new columns is disabled', 2),
      undefined,
    ],
    ['a column that is gone', body('error in line 2: table: t, column: cpu does not exist', 2), undefined],
    [
      'a value of a type that the column has not',
      body(
        'error in line 3: table: t, column: cpu; cast error from protocol type: FLOAT to column type: SYMBOL',
        3,
      ),
      {
        kind: 'row_refused',
        line: 3,
        why: 'error in line 3: table: t, column: cpu; cast error from protocol type: FLOAT to column type: SYMBOL',
      },
    ],
    [
      'a line that is no line protocol',
      body('error in line 7: Could not parse entire line. Field value is missing', 7),
      {
        kind: 'row_refused',
        line: 7,
        why: 'error in line 7: Could not parse entire line. Field value is missing',
      },
    ],
    [
      'a reason over several lines',
      body('error in line 1:\n  table: t,\t column: x', 1),
      { kind: 'row_refused', line: 1, why: 'error in line 1: table: t, column: x' },
    ],
    ['a long reason', body('x'.repeat(2000), 1), { kind: 'row_refused', line: 1, why: 'x'.repeat(500) }],
    ['no line', body('something is wrong'), undefined],
    ['line 0', body('something is wrong', 0), undefined],
    ['half a line', body('something is wrong', 1.5), undefined],
    ['a line that is text', body('something is wrong', '4'), undefined],
    ['a message that is no text', body({ a: 1 }, 4), { kind: 'row_refused', line: 4, why: '' }],
    ['a text', 'Bad Request', undefined],
    ['nothing', '', undefined],
    ['null', 'null', undefined],
    ['an array', '[1]', undefined],
  ])('that says %s is read so', (_, text, expected) => {
    expect(readRefusal(text)).toEqual(expected);
  });
});

// The texts are QuestDB 9.3.4's own, after a kill while a table's columns were added.
describe('a 500 of QuestDB', () => {
  it('about a damaged log names the table', () => {
    const message =
      'failed to parse line protocol:errors encountered on line(s):write error: 2_mon_time_series_1500001.__default__, errno: 0, error: possible corruption in transaction metadata [table=2_mon_time_series_1500001.__default__~12, offset=144, newVersion=19]';
    expect(readBrokenTable(body(message, 1))).toEqual({
      kind: 'table_broken',
      table: '2_mon_time_series_1500001.__default__',
      why: message,
    });
  });

  it.each([
    ['a busy table', body('table is busy', 1)],
    ['no table', body('possible corruption in transaction metadata')],
    ['a text', 'Internal Server Error'],
  ])('that says %s names none', (_, text) => {
    expect(readBrokenTable(text)).toBeUndefined();
  });
});
