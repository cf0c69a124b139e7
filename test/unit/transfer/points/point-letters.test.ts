import { describe, expect, it } from 'vitest';
import type { HeldMessage } from '../../../../src/transfer/held-message.ts';
import { refusedRows } from '../../../../src/transfer/points/point-letters.ts';
import type { Part } from '../../../../src/wire/metrics-envelope.ts';
import { firstDelivery } from '../../../support/outcomes/deliveries.ts';

const time = Date.UTC(2026, 5, 1, 12);

type Row = readonly [metric: string, uid: number, target?: string];

const rowOf = ([metric, uid, target = 'x']: Row): string =>
  `t.__default__,metric=${metric},target=${target},host=a value=1.5,uid=${uid}i ${time}\n`;

/** The items of the dead letters of these uids, of a message with one split table whose rows stand for this number of points. */
const itemsOf = (points: number, rows: readonly Row[], refused: readonly number[]): number[] => {
  const bytes = Buffer.from(rows.map(rowOf).join(''));
  const part: Part = {
    ...{
      dataId: 1,
      table: 't.__default__',
      layout: 'narrow',
      rows: rows.length,
      points,
      base: '0',
      first: 1,
    },
    ...{ last: rows.length, timeMin: time, timeMax: time, bytes: bytes.length },
  };
  const message: HeldMessage = {
    delivery: firstDelivery,
    envelope: {
      header: { version: 1, kind: 'metrics', arrivedAt: time, parts: [part], deferred: [], outcomes: [] },
      partBytes: [bytes],
      deferredBytes: [],
    },
    ...{ rows: rows.length, bytes: 1, touchedAt: 0, takenAt: 0 },
  };
  const letters = refusedRows(
    rows
      .filter(([, uid]) => refused.includes(uid))
      .map((row) => ({ message, part, row: Buffer.from(rowOf(row)), why: 'no' })),
  );
  return letters.map(({ items }) => items);
};

// The account adds up either way: items that no dead letter counts are stored for it, and a purge takes them away unseen.
describe('dead letters of refused rows of a split table', () => {
  it('count one item for the rows of one point', () => {
    expect(
      itemsOf(
        2,
        [
          ['cpu', 1],
          ['mem', 2],
          ['cpu', 3, 'y'],
        ],
        [1, 2, 3],
      ),
    ).toEqual([1, 0, 1]);
  });

  it('count one item for a point of which a row between the refused ones is stored', () => {
    expect(
      itemsOf(
        1,
        [
          ['cpu', 1],
          ['mem', 2],
          ['swap', 3],
        ],
        [1, 3],
      ),
    ).toEqual([1, 0]);
  });

  it('count each point of one metric, though target, dimensions and time are equal', () => {
    expect(
      itemsOf(
        3,
        [
          ['cpu', 1],
          ['mem', 2],
          ['swap', 3],
        ],
        [1, 2, 3],
      ),
    ).toEqual([1, 1, 1]);
  });

  it('count two points with the same metrics', () => {
    const rows: Row[] = [
      ['cpu', 1],
      ['mem', 2],
      ['cpu', 3],
      ['mem', 4],
    ];
    expect(itemsOf(2, rows, [1, 2, 3, 4])).toEqual([1, 0, 1, 0]);
  });

  // The rows may be one point of two metrics and one of one, in either order.
  it('count every point where the rows do not say which of them are one', () => {
    const rows: Row[] = [
      ['cpu', 1],
      ['mem', 2],
      ['swap', 3],
    ];
    expect(itemsOf(2, rows, [1, 2, 3]).reduce((sum, items) => sum + items)).toBe(2);
  });

  it('never count more items than the part has points', () => {
    expect(itemsOf(0, [['cpu', 1]], [1])).toEqual([0]);
  });
});
