import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRefusalLog } from '../../../../src/metadata/api/refusal-log.ts';
import { createSharedReads } from '../../../../src/metadata/tokens/shared-reads.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

// A caller may repeat a refused request as often as it likes: each was a log line at level error before.
describe('refusals that callers bring about', () => {
  const started = () => {
    const lines: [level: string, fields: Record<string, unknown>, text: string][] = [];
    const log = createRefusalLog(
      {
        warn: (fields, text) => lines.push(['warn', fields, text]),
        info: (fields, text) => lines.push(['info', fields, text]),
      },
      Date.now,
    );
    return { log, lines };
  };

  it('are reported when they begin and, with their number, after a minute without any', async () => {
    const { log, lines } = started();
    for (let count = 0; count < 1_000; count++) {
      log.add('too_many_readers', 'the limit of 64 readers is reached');
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(lines).toEqual([
      [
        'warn',
        { code: 'too_many_readers' },
        'refused: the limit of 64 readers is reached; further refusals are only counted',
      ],
    ]);
    await vi.advanceTimersByTimeAsync(61_000);
    expect(lines.slice(1)).toEqual([
      ['info', { code: 'too_many_readers', answers: 1_000 }, expect.stringContaining('within a minute')],
    ]);
    log.add('too_many_readers', 'again');
    expect(lines).toHaveLength(3);
  });

  it('are separate for each code', () => {
    const { log, lines } = started();
    for (const code of ['a', 'b', 'a', 'b']) log.add(code, 'no');
    expect(lines.map(([, fields]) => fields['code'])).toEqual(['a', 'b']);
  });
});

describe('a read that is shared', () => {
  it('began after each of the calls that it answers, and not more often than it may', async () => {
    const begun: number[] = [];
    const read = createSharedReads(
      async () => {
        begun.push(Date.now());
        await new Promise((resolve) => setTimeout(resolve, 30));
      },
      50,
      Date.now,
    );
    const answers: { asked: number; answered: number }[] = [];
    const all: Promise<unknown>[] = [];
    for (let count = 0; count < 100; count++) {
      const asked = Date.now();
      all.push(read().then(() => answers.push({ asked, answered: Date.now() })));
      await vi.advanceTimersByTimeAsync(7);
    }
    await vi.advanceTimersByTimeAsync(1_000);
    await Promise.all(all);
    expect(answers).toHaveLength(100);
    for (const { asked, answered } of answers) {
      expect(begun.some((at) => at >= asked && at + 30 <= answered)).toBe(true);
      expect(answered - asked).toBeLessThanOrEqual(130);
    }
    for (const [index, at] of begun.entries())
      expect(at - (begun[index - 1] ?? -50)).toBeGreaterThanOrEqual(50);
    expect(begun.length).toBeLessThanOrEqual(700 / 50 + 2);
  });

  it('fails its callers, and continues', async () => {
    let fails = true;
    const read = createSharedReads(
      async () => {
        if (fails) throw new Error('away');
      },
      50,
      Date.now,
    );
    await expect(Promise.all([read(), read()])).rejects.toThrow('away');
    fails = false;
    const again = read();
    await vi.advanceTimersByTimeAsync(50);
    await expect(again).resolves.toBeUndefined();
  });
});
