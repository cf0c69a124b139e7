import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createBreaker } from '../../../src/transfer/breaker.ts';

const limits = { inARowMax: 10, shareMax: 0.2, shareItemsMin: 100, pauseMs: 1_000 };

const breakerOf = () => {
  const changes: string[] = [];
  const breaker = createBreaker(limits, { onChange: (state) => changes.push(state) });
  return { breaker, changes };
};

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

// A deployment that cannot write a single row would otherwise empty the stream into the dead letters overnight.
describe('the breaker', () => {
  it('opens when more items in a row become dead letters than it allows, across messages', () => {
    const { breaker } = breakerOf();
    breaker.note(5, 5);
    breaker.note(5, 5);
    expect(breaker.state).toBe('closed');
    breaker.note(1, 1);
    expect([breaker.state, breaker.why]).toEqual(['open', '11 items in a row went to the dead letters']);
  });

  it('counts from zero again when an item is stored', () => {
    const { breaker } = breakerOf();
    for (let round = 0; round < 50; round++) {
      breaker.note(5, 5);
      breaker.note(100, 0);
    }
    expect(breaker.state).toBe('closed');
  });

  it('opens on too high a share, though each message brings good items too, and not before enough were seen', () => {
    const { breaker } = breakerOf();
    for (let round = 0; round < 9; round++) breaker.note(10, 3);
    expect(breaker.state).toBe('closed');
    breaker.note(10, 3);
    expect([breaker.state, breaker.why]).toEqual([
      'open',
      '30 % of the last 100 items went to the dead letters',
    ]);
  });

  it('uses recent items only: a bad day long past opens nothing', () => {
    const { breaker } = breakerOf();
    breaker.note(100, 19);
    for (let round = 0; round < 20; round++) breaker.note(100, 0);
    breaker.note(100, 10);
    expect(breaker.state).toBe('closed');
  });

  it('tries one batch after the pause: a fit one closes it, another one opens it again for a whole pause', () => {
    const { breaker, changes } = breakerOf();
    breaker.note(11, 11);
    vi.advanceTimersByTime(999);
    expect(breaker.state).toBe('open');
    vi.advanceTimersByTime(1);
    expect(breaker.state).toBe('trial');
    expect(breaker.tried(10, 10)).toBe(false);
    expect(breaker.state).toBe('open');
    vi.advanceTimersByTime(1_000);
    // Some are good, and still too few.
    expect(breaker.tried(10, 3)).toBe(false);
    vi.advanceTimersByTime(1_000);
    expect(breaker.tried(10, 2)).toBe(true);
    expect([breaker.state, breaker.why]).toEqual(['closed', undefined]);
    breaker.note(5, 5);
    expect(changes).toEqual(['open', 'trial', 'open', 'trial', 'open', 'trial', 'closed']);
  });

  it('is closed by hand at any time, and forgets its counts', () => {
    const { breaker } = breakerOf();
    breaker.note(11, 11);
    breaker.reset();
    expect(breaker.state).toBe('closed');
    breaker.note(9, 9);
    vi.advanceTimersByTime(5_000);
    expect(breaker.state).toBe('closed');
  });
});
