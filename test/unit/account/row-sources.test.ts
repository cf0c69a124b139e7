import { describe, expect, it } from 'vitest';
import { noSources, type RowSources, sourcedRows } from '../../../src/account/row-sources.ts';

const minute = 1_790_000_040;

/** Takes from these sources, one after the other, for lives in a minute. */
const take = (
  sources: Partial<RowSources>,
  ...asked: readonly { lives: number[]; most: number; at?: number; hashedMost?: number }[]
): number[] => {
  const rows = sourcedRows({ ...noSources, ...sources });
  return asked.map(({ lives, most, at = minute, hashedMost = most }) =>
    rows.take({ lives: new Set(lives), minute: at, hashedMost }, most),
  );
};

describe('rows without a record', () => {
  it('are those of a life whose epoch they have, each once', () => {
    const epochs = new Map([
      [7, 5],
      [9, 4],
    ]);
    const lives = new Set([7, 9]);
    expect(take({ epochs, lives }, { lives: [7], most: 3 }, { lives: [7, 8], most: 9 })).toEqual([3, 2]);
    expect(take({ epochs, lives }, { lives: [8], most: 9 }, { lives: [7, 9], most: 9 })).toEqual([0, 9]);
    expect(take({ epochs, lives }, { lives: [], most: 9 })).toEqual([0]);
  });

  it('with an epoch that names no life may be of any life that began before', () => {
    const epochs = new Map([[8, 5]]);
    expect(take({ epochs }, { lives: [9], most: 9 }, { lives: [7], most: 9 })).toEqual([0, 5]);
  });

  it('of requests with an identity may be of any life, and of no loss that was found before they came', () => {
    expect(take({ hashed: 6 }, { lives: [7], most: 4 }, { lives: [9], most: 4 })).toEqual([4, 2]);
    expect(take({ hashed: 6 }, { lives: [7], most: 4, hashedMost: 1 })).toEqual([1]);
  });

  it('of an application are of the minute in which they arrived', () => {
    const minutes = new Map([[minute, 3]]);
    expect(take({ minutes }, { lives: [7], most: 9, at: minute + 60 }, { lives: [9], most: 9 })).toEqual([
      0, 3,
    ]);
  });
});
