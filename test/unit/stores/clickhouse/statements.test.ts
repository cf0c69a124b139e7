import { ClickHouseError } from '@clickhouse/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../../src/model/fault.ts';
import { blockStatements, type UidRange } from '../../../../src/stores/clickhouse/block-statements.ts';
import { toFault } from '../../../../src/stores/clickhouse/faults.ts';
import { logsTable, spansTable } from '../../../../src/stores/clickhouse/item-tables.ts';
import {
  insertId,
  messagesLabel,
  parseInsertId,
  parseMessagesLabel,
} from '../../../../src/stores/clickhouse/query-id.ts';
import { coalesceRanges, rangesOverlap } from '../../../../src/stores/clickhouse/ranges.ts';
import { always } from '../../../support/properties.ts';

const uid = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const near = fc.bigInt({ min: 0n, max: 200n });
const rangesOf = (value: fc.Arbitrary<bigint>): fc.Arbitrary<[bigint, bigint][]> =>
  fc.array(
    fc
      .tuple(value, fc.bigInt({ min: 0n, max: 30n }))
      .map(([first, more]): [bigint, bigint] => [first, first + more]),
    { minLength: 1, maxLength: 40 },
  );

describe('the ranges of a guard', () => {
  // A uid that is left out would be inserted a second time.
  it('hold every uid that was asked for, in no more ranges than allowed', () => {
    always(
      fc.property(fc.oneof(rangesOf(uid), rangesOf(near)), fc.integer({ min: 1, max: 12 }), (ranges, max) => {
        const result = coalesceRanges(ranges, max);
        expect(result.length).toBeLessThanOrEqual(max);
        for (const [first, last] of ranges) {
          expect(result.some((range) => range.first <= first && range.last >= last)).toBe(true);
        }
        for (const [index, range] of result.entries()) {
          const next = result[index + 1];
          if (next !== undefined) expect(next.first).toBeGreaterThan(range.last + 1n);
        }
      }),
    );
  });

  it('hold nothing else while there is room for all of them', () => {
    always(
      fc.property(rangesOf(near), (ranges) => {
        const held = new Set<bigint>();
        for (const { first, last } of coalesceRanges(ranges, 40)) {
          for (let value = first; value <= last; value++) held.add(value);
        }
        const asked = new Set<bigint>();
        for (const [first, last] of ranges) for (let value = first; value <= last; value++) asked.add(value);
        expect(held).toEqual(asked);
      }),
    );
  });

  it('close the narrowest gaps first', () => {
    const ranges: UidRange[] = [
      ['1000', '1009'],
      [0n, 9n],
      ['1015', '1020'],
      [5000n, 5001n],
    ];
    expect(coalesceRanges(ranges, 3)).toEqual([
      { first: 0n, last: 9n },
      { first: 1000n, last: 1020n },
      { first: 5000n, last: 5001n },
    ]);
  });
});

const { guardedInsert } = blockStatements(spansTable);

describe('a guarded insert', () => {
  const bounds = { uidRanges: [[1n, 9n]] as const, timeMin: 5n, timeMax: 6n, names: [['a', 'b']] as const };

  it('compares the names of the batch, each pair once', () => {
    const names = [
      ['a', 'b'],
      ['a', 'b'],
      ["it's", '\\'],
    ] as const;
    expect(guardedInsert({ ...bounds, names })).toContain(
      String.raw`(ServiceName, SpanName) IN (('a','b'),('it\'s','\\'))`,
    );
  });

  it('of log records compares services, and the seconds that their table is ordered by', () => {
    const logs = blockStatements(logsTable);
    const times = { timeMin: 1_999_999_999n, timeMax: 5_000_000_000n };
    const statement = logs.guardedInsert({ ...bounds, ...times, names: [['a'], ["it's"], ['a']] });
    expect(statement).toContain(String.raw`ServiceName IN ('a','it\'s')`);
    expect(statement).toContain('TimestampTime BETWEEN toDateTime(1) AND toDateTime(5)');
    expect(statement).toMatch(/^INSERT INTO otel\.otel_logs .* FROM otel\.otel_logs WHERE /);
  });

  // A statement has a longest length, names have none: to look at more rows is slower, to look for fewer names loses exactness.
  it('compares no names at all when there are too many, and stays within the limits of a server', () => {
    const names = Array.from({ length: 50_000 }, (_, index) => [`s${index}`, 'x'.repeat(200)] as const);
    const uidRanges = Array.from(
      { length: 5_000 },
      (_, index) => [BigInt(index * 10), BigInt(index * 10)] as const,
    );
    const statement = guardedInsert({ ...bounds, uidRanges, names });
    expect(statement).not.toContain('ServiceName, SpanName) IN');
    const widest = guardedInsert({ ...bounds, uidRanges, names: [['\u{10ffff}'.repeat(16_000), 'x']] });
    for (const text of [statement, widest]) {
      expect(Buffer.byteLength(text)).toBeLessThan(262_144);
      expect(encodeURIComponent(text).length).toBeLessThan(1_048_576);
    }
  });
});

describe('the id of an insert', () => {
  it('names its messages and its attempt', () => {
    const attempt = { stream: 'TRACES', first: 3, last: 900_000_000_000, boot: 1_500_001, attempt: 7 };
    expect(insertId(attempt)).toBe('tm-TRACES-3-900000000000-1500001-7');
    expect(parseInsertId(insertId(attempt))).toEqual(attempt);
  });

  it.each([
    '',
    'tm-TRACES',
    'tm-TRACES-1-2-3',
    'tm-TRACES-1-2-3-4-5',
    'tm-TRACES-a-2-3-4',
    'xtm-TRACES-1-2-3-4',
    '3f1c-9',
  ])('is not %j', (id) => {
    expect(parseInsertId(id)).toBeUndefined();
  });
});

describe('the label of an insert', () => {
  it('names its messages exactly', () => {
    expect(messagesLabel([7, 3, 4, 5, 900_000_000_000])).toBe('3-5 7-7 900000000000-900000000000');
    always(
      fc.property(
        fc.array(fc.nat({ max: 300 }), { minLength: 1 }),
        fc.nat({ max: 300 }),
        (sequences, one) => {
          const brought = parseMessagesLabel(messagesLabel(sequences)) ?? [];
          const asked = [{ first: BigInt(one), last: BigInt(one) }];
          expect(rangesOverlap(asked, brought)).toBe(sequences.includes(one));
        },
      ),
    );
  });

  // It travels in the URL of the insert; to name a message too many is slower, to miss one loses exactness.
  it('stays short for scattered messages and still names each', () => {
    const sequences = Array.from({ length: 50_000 }, (_, index) => 10 ** 12 + index * 2);
    const label = messagesLabel(sequences);
    expect(label.length).toBeLessThan(32_768);
    const brought = parseMessagesLabel(label) ?? [];
    for (const sequence of [sequences[0], sequences[777], sequences[49_999]]) {
      const one = BigInt(sequence ?? 0);
      expect(rangesOverlap([{ first: one, last: one }], brought)).toBe(true);
    }
  });

  it.each(['', 'x', '1', '1-2,3-4', '1-2 x', ' 1-2'])('is not %j', (label) => {
    expect(parseMessagesLabel(label)).toBeUndefined();
  });
});

describe('an error of ClickHouse', () => {
  const answer = (code: string) => new ClickHouseError({ code, type: 'SOME_TYPE', message: 'text\n  of it' });

  it.each([
    ['241', 'transient', 'clickhouse_unavailable'],
    ['252', 'transient', 'clickhouse_unavailable'],
    ['394', 'transient', 'clickhouse_unavailable'],
    ['117', 'permanent', 'clickhouse_rows_refused'],
    ['33', 'permanent', 'clickhouse_rows_refused'],
    ['60', 'permanent', 'clickhouse_rejected'],
    ['516', 'permanent', 'clickhouse_rejected'],
    // Taken as unknown: a wrong permanent would lose rows, a wrong transient only waits.
    ['49', 'transient', 'clickhouse_unclassified'],
    ['99999', 'transient', 'clickhouse_unclassified'],
  ])('with the code %s is %s %s', (code, kind, name) => {
    expect(toFault(answer(code))).toMatchObject({
      kind,
      code: name,
      message: `ClickHouse answered ${code} SOME_TYPE: text of it`,
    });
  });

  it('that is not an answer leaves the outcome unknown', () => {
    expect(toFault(new Error('socket hang up'))).toMatchObject({
      kind: 'transient',
      code: 'clickhouse_unavailable',
    });
  });

  it('that is a Fault already stays unchanged', () => {
    const fault = new Fault('internal', 'x', 'y');
    expect(toFault(fault)).toBe(fault);
  });
});
