import { describe, expect, it } from 'vitest';
import { createFailingSenders } from '../../../src/ingress/failing-senders.ts';

const minuteMs = 60_000;

const setUp = () => {
  const clock = { ms: 0 };
  const failing = createFailingSenders(() => clock.ms);
  return { clock, isDue: failing.isDue };
};

describe('a sender that fails authorisation', () => {
  // A sender of one request an hour would otherwise hide behind one of a hundred a second.
  it('is due once in ten minutes, by reason, address and named data id, regardless of others', () => {
    const { clock, isDue } = setUp();
    for (let count = 0; count < 10_000; count++) isDue('unauthorized', '10.0.0.1', 1_500_001);
    expect(isDue('unauthorized', '10.0.0.1', 1_500_001)).toBe(false);
    expect(isDue('unauthorized', '10.0.0.2', 1_500_001)).toBe(true);
    expect(isDue('unauthorized', '10.0.0.1', 1_500_002)).toBe(true);
    expect(isDue('data_source_disabled', '10.0.0.1', 1_500_001)).toBe(true);
    clock.ms = 10 * minuteMs;
    expect(isDue('unauthorized', '10.0.0.1', 1_500_001)).toBe(true);
  });

  it('is one of a thousand at most, so that forged addresses fill neither memory nor LEDGER', () => {
    const { isDue } = setUp();
    const due = Array.from({ length: 5_000 }, (_, index) => isDue('unauthorized', `10.0.0.${index}`, 0));
    expect(due.filter(Boolean)).toHaveLength(1_000);
  });
});
