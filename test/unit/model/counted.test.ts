import { describe, expect, it } from 'vitest';
import { counted } from '../../../src/model/counted.ts';

describe('a count', () => {
  it.each([
    [0, '0 points'],
    [1, '1 point'],
    [1n, '1 point'],
    [2, '2 points'],
  ])('of %s agrees with its noun', (count, expected) => {
    expect(counted(count, 'point')).toBe(expected);
  });

  it('takes a plural that does not end in s', () => {
    expect([counted(1, 'entry', 'entries'), counted(2, 'entry', 'entries')]).toEqual([
      '1 entry',
      '2 entries',
    ]);
  });
});
