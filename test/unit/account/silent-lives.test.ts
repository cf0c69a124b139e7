import { describe, expect, it } from 'vitest';
import { createNotedLives, createSilentLives, type SeenLife } from '../../../src/account/silent-lives.ts';

const life = (number: number, isSilent: boolean, stream = 'METRICS', quietSeconds = 30): SeenLife => ({
  ...{ stream, life: number, minute: 60 * number, isSilent, isWriting: !isSilent },
  quietSeconds: isSilent ? 61 : quietSeconds,
});

/** What ClickHouse answers, call by call, and what it was asked. */
const watch = (...answers: SeenLife[][]) => {
  let elapsedMs = 0;
  const asked: object[] = [];
  const lives = createSilentLives(
    async (seconds) => {
      asked.push(seconds);
      return answers[asked.length - 1] ?? [];
    },
    7_200,
    () => elapsedMs,
  );
  const of = async (stream = 'METRICS') => [...(await lives.of(stream))];
  return { of, asked, pass: (ms: number) => (elapsedMs += ms) };
};

describe('lives that have fallen silent', () => {
  it('cost one query for all streams twice a minute, after the first time over the lines of the last minutes', async () => {
    const lives = watch([life(1, true), life(2, false), life(3, true, 'TRACES')], []);
    expect([await lives.of(), await lives.of('TRACES'), await lives.of('LOGS')]).toEqual([
      [[1, 60]],
      [[3, 180]],
      [],
    ]);
    lives.pass(29_999);
    await lives.of();
    expect(lives.asked).toEqual([{ published: 7_200, settled: 7_200 }]);
    lives.pass(1);
    await lives.of();
    expect(lives.asked[1]).toEqual({ published: 7_200, settled: 150 });
  });

  it('are not read again before one can have fallen silent, where none is', async () => {
    const lives = watch([life(2, false, 'METRICS', 4), life(3, false, 'TRACES', 10)], []);
    await lives.of();
    lives.pass(49_999);
    await lives.of();
    expect(lives.asked).toHaveLength(1);
    lives.pass(1);
    await lives.of();
    expect(lives.asked).toHaveLength(2);
    lives.pass(59_999);
    await lives.of();
    expect(lives.asked).toHaveLength(2);
    lives.pass(1);
    await lives.of();
    expect(lives.asked).toHaveLength(3);
  });

  it('stay silent when their lines are older than what is read, and are so no more once they write again', async () => {
    const lives = watch([life(1, true), life(2, true)], [life(2, true)], [life(1, false)]);
    await lives.of();
    lives.pass(30_000);
    expect(await lives.of()).toEqual([
      [1, 60],
      [2, 120],
    ]);
    lives.pass(30_000);
    expect(await lives.of()).toEqual([[2, 120]]);
  });

  it('stay silent while only their messages settle', async () => {
    const settling = { ...life(1, false), isWriting: false };
    const lives = watch([life(1, true)], [settling], [life(1, false)]);
    await lives.of();
    lives.pass(30_000);
    expect(await lives.of()).toEqual([[1, 60]]);
    lives.pass(30_000);
    expect(await lives.of()).toEqual([]);
  });

  it('are known with their minutes until they write again, but for the minutes of one that is still silent', () => {
    const noted = createNotedLives();
    const lines = [
      { life: 1, minute: 60 },
      { life: 2, minute: 120 },
      { life: 3, minute: 180 },
    ];
    const both = new Map([
      [1, 60],
      [2, 120],
    ]);
    noted.compared('METRICS', both, lines);
    noted.compared('METRICS', both, [{ life: 1, minute: 120 }]);
    expect([1, 2, 3].map((each) => noted.has('METRICS', each))).toEqual([true, true, false]);
    expect(noted.wokenAt('METRICS', both)).toEqual(new Set());
    const other = new Map([[2, 120]]);
    expect(noted.wokenAt('METRICS', other)).toEqual(new Set([60]));
    noted.compared('METRICS', other, []);
    expect(noted.has('METRICS', 1)).toBe(false);
    expect(noted.wokenAt('METRICS', other)).toEqual(new Set());
  });

  it('are read again after a failure', async () => {
    const lives = createSilentLives(
      () => Promise.reject(new Error('no ClickHouse')),
      7_200,
      () => 0,
    );
    await expect(lives.of('METRICS')).rejects.toThrow('no ClickHouse');
    await expect(lives.of('METRICS')).rejects.toThrow('no ClickHouse');
  });
});
