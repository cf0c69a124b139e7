import { describe, expect, it } from 'vitest';
import { createUnchangedLetters } from '../../../src/account/unchanged-letters.ts';

const searches = () => {
  let elapsedMs = 0;
  const unchanged = createUnchangedLetters(() => elapsedMs);
  return { unchanged, pass: (ms: number) => (elapsedMs += ms) };
};

describe('the search for lost dead letters', () => {
  it('is left out once two searches found every letter in the same state of DEADLETTER, for four minutes', () => {
    const { unchanged, pass } = searches();
    expect(unchanged.isSo('1')).toBe(false);
    unchanged.searched('1', true);
    expect(unchanged.isSo('1'), 'its record may come later').toBe(false);
    unchanged.searched('1', true);
    expect(unchanged.isSo('1')).toBe(true);
    expect(unchanged.isSo('2')).toBe(false);
    pass(239_999);
    expect(unchanged.isSo('1')).toBe(true);
    pass(1);
    expect(unchanged.isSo('1')).toBe(false);
    unchanged.searched('1', true);
    expect(unchanged.isSo('1')).toBe(true);
  });

  it('is done after a letter came or went, twice', () => {
    const { unchanged } = searches();
    for (const state of ['1', '1', '2']) unchanged.searched(state, true);
    expect(unchanged.isSo('2')).toBe(false);
    unchanged.searched('2', true);
    expect(unchanged.isSo('2')).toBe(true);
  });

  it('is done while a letter is missed, and where lines of the books were changed', () => {
    const { unchanged } = searches();
    for (const isWhole of [true, true, false]) unchanged.searched('1', isWhole);
    expect(unchanged.isSo('1')).toBe(false);
    unchanged.searched('1', true);
    expect(unchanged.isSo('1'), 'one search').toBe(false);
    unchanged.searched('1', true);
    expect(unchanged.isSo('1')).toBe(true);
    unchanged.touch();
    expect(unchanged.isSo('1')).toBe(false);
    unchanged.searched('1', true);
    unchanged.searched('1', true);
    expect(unchanged.isSo('1')).toBe(true);
  });
});
