import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareDay,
  type DayResult,
  needsDistinct,
  type RowSum,
} from '../../../src/account/day-difference.ts';
import { always } from '../../support/properties.ts';

const rowSum = (uids: Iterable<bigint>): RowSum => {
  let [rows, sum] = [0, 0n];
  for (const uid of uids) {
    rows++;
    sum = BigInt.asUintN(64, sum + uid);
  }
  return { rows, sum };
};

type Look = {
  readonly before: readonly bigint[];
  readonly stored: readonly bigint[];
  readonly after?: readonly bigint[];
  readonly isUnknown?: boolean;
  readonly repeated?: readonly bigint[];
  readonly isCaughtUp?: boolean;
  readonly collapses?: boolean;
};

/** Compares as the account does: the distinct uids are read where they are needed. */
const look = ({ before, stored, after = before, ...change }: Look): DayResult => {
  const settled = {
    ...{ before: rowSum(before), after: rowSum(after), isUnknown: change.isUnknown ?? false },
    repeated: rowSum(change.repeated ?? []),
  };
  const rows = rowSum(stored);
  const distinct = needsDistinct(settled, rows) ? { distinct: rowSum(new Set(stored)) } : {};
  return compareDay(
    settled,
    { ...rows, ...distinct },
    { isCaughtUp: change.isCaughtUp ?? true, collapses: change.collapses ?? true },
  );
};

const rowsOf = (result: DayResult, kind: string): number =>
  result.state === 'differs' ? (result.differences.find((each) => each.kind === kind)?.rows ?? 0) : 0;

const top = 2n ** 63n - 1000n;
const some = [1n, 2n, 3n, top];

describe('the records of a day beside the rows of a store', () => {
  const cases: [string, Look, DayResult | [string, number][]][] = [
    ['are equal', { before: some, stored: some }, { state: 'equal' }],
    ['lack a row', { before: some, stored: some.slice(1) }, [['missing_in_the_store', 1]]],
    ['lack all rows', { before: some, stored: [] }, [['missing_in_the_store', 4]]],
    ['have a row too many', { before: some, stored: [...some, 9n] }, [['unrecorded', 1]]],
    ['have a row twice', { before: some, stored: [...some, 3n] }, [['unmerged', 1]]],
    [
      'have a row twice for good',
      { before: some, stored: [...some, 3n], collapses: false },
      [['unrecorded', 1]],
    ],
    [
      'lack a row and have another twice',
      { before: some, stored: [1n, 1n, 3n, top] },
      [
        ['missing_in_the_store', 1],
        ['unmerged', 1],
      ],
    ],
    [
      'lack a row and have another instead',
      { before: some, stored: [1n, 2n, 4n, top] },
      [
        ['missing_in_the_store', 1],
        ['unrecorded', 1],
      ],
    ],
    [
      'have rows of earlier programs',
      { before: some, stored: [...some, 9n], isUnknown: true },
      [['not_known', 1]],
    ],
    [
      'lack a row regardless of what earlier programs stored',
      { before: some, stored: some.slice(1), isUnknown: true },
      [['missing_in_the_store', 1]],
    ],
    [
      'have a row whose record may be on its way',
      { before: some, stored: [...some, 9n], isCaughtUp: false },
      { state: 'in_flight' },
    ],
    [
      'lack what an earlier try of a repeated request stored',
      { before: some, stored: [...some, 9n], repeated: [9n] },
      { state: 'equal' },
    ],
    [
      'lack that and a row',
      { before: some, stored: [...some.slice(1), 9n], repeated: [9n] },
      [['missing_in_the_store', 1]],
    ],
    [
      'lack that and have a row too many',
      { before: some, stored: [...some, 9n, 8n], repeated: [9n] },
      [['unrecorded', 1]],
    ],
    [
      'lack that while its record may be on its way',
      { before: some, stored: [...some, 9n], repeated: [9n], isCaughtUp: false },
      { state: 'in_flight' },
    ],
    [
      'lack that and a row while others are written',
      { before: some, after: [...some, 7n], stored: [...some.slice(2), 9n], repeated: [9n] },
      [['missing_in_the_store', 1]],
    ],
    [
      'are being written',
      { before: some, stored: [...some, 9n], after: [...some, 9n, 10n] },
      { state: 'in_flight' },
    ],
    [
      'lack a row while others are written',
      { before: some, stored: [1n, 2n, 9n], after: [...some, 9n] },
      [['missing_in_the_store', 1]],
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => {
    const result = look(given);
    if (!Array.isArray(expected)) return expect(result).toEqual(expected);
    expect(result.state === 'differs' && result.differences).toEqual(
      expected.map(([kind, rows]) => ({ kind, rows })),
    );
  });

  const uid = fc.bigInt({ min: top, max: top + 40n });
  const uids = fc.uniqueArray(uid, { maxLength: 30 });

  it('are distinguished for any loss, any excess and any copies', () => {
    always(
      fc.property(
        uids,
        uids,
        fc.array(uid, { maxLength: 5 }),
        fc.boolean(),
        (recorded, held, again, collapses) => {
          const copied = again.filter((each) => held.includes(each));
          const result = look({ before: recorded, stored: [...held, ...copied], collapses });
          const lost = recorded.filter((each) => !held.includes(each)).length;
          const excess = held.filter((each) => !recorded.includes(each)).length;
          const copies = (kind: string): number =>
            kind === (collapses ? 'unmerged' : 'unrecorded') ? copied.length : 0;
          if (lost + excess + copied.length === 0) expect(result.state).toBe('equal');
          const missing = rowsOf(result, 'missing_in_the_store');
          const unrecorded = rowsOf(result, 'unrecorded') - copies('unrecorded');
          expect(rowsOf(result, 'unmerged')).toBe(copies('unmerged'));
          expect(missing - unrecorded).toBe(lost - excess);
          if (lost === 0 || excess === 0) expect([missing, unrecorded]).toEqual([lost, excess]);
          expect(missing <= lost && unrecorded <= excess).toBe(true);
          if (lost + excess > 0 && rowSum(recorded).sum !== rowSum(held).sum)
            expect(result.state).toBe('differs');
        },
      ),
      10_000,
    );
  });

  // Each row is stored before it is recorded; the look sees the three states at any moments of this order.
  it('never differ while nothing is lost, at any moments they are read', () => {
    const moments = fc.tuple(fc.nat(60), fc.nat(60), fc.nat(60));
    always(
      fc.property(fc.array(fc.boolean(), { maxLength: 60 }), moments, uid, (steps, times, first) => {
        const [readBefore = 0, readStore = 0, readAfter = 0] = times.toSorted((a, b) => a - b);
        /** Rows stored, and rows recorded, after this number of steps. */
        const at = (moment: number): [bigint[], bigint[]] => {
          let [stored, recorded] = [0, 0];
          for (const isStore of steps.slice(0, moment)) {
            if (isStore) stored++;
            else if (recorded < stored) recorded++;
          }
          const list = (count: number): bigint[] =>
            Array.from({ length: count }, (_, row) => first + BigInt(row));
          return [list(stored), list(recorded)];
        };
        const [stored] = at(readStore);
        const after = at(readAfter)[1];
        const result = look({
          ...{ before: at(readBefore)[1], stored, after },
          isCaughtUp: stored.length <= after.length,
        });
        expect(result.state).not.toBe('differs');
      }),
      10_000,
    );
  });
});
