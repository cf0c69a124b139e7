import { describe, expect, it } from 'vitest';
import { backOffMs, retry } from '../../../src/runtime/back-off.ts';

const soon = { firstMs: 1, mostMs: 2 };

describe('a retry', () => {
  it('comes at once before any failure, then at growing intervals that have a limit', () => {
    const backOff = { firstMs: 250, mostMs: 5_000 };
    expect([0, 1, 2, 3, 4, 5, 6, 7, 2_000].map((failures) => backOffMs(backOff, failures))).toEqual([
      0, 250, 500, 1000, 2000, 4000, 5000, 5000, 5000,
    ]);
  });

  it('follows each failure, until the work succeeds', async () => {
    const failures: unknown[] = [];
    let tries = 0;
    const work = async (): Promise<string> => {
      tries++;
      if (tries < 3) throw `failure ${tries}`;
      return 'done';
    };
    const onFailure = (error: unknown): void => void failures.push(error);
    expect(await retry(work, { ...soon, onFailure })).toBe('done');
    expect(failures).toEqual(['failure 1', 'failure 2']);
  });

  it('ends with the error that onFailure throws', async () => {
    const work = (): Promise<never> => Promise.reject(new Error('the port is taken'));
    const onFailure = (error: unknown): void => {
      throw error;
    };
    await expect(retry(work, { ...soon, onFailure })).rejects.toThrow('the port is taken');
  });

  it('ends in the middle of a wait when the signal fires, with its reason', async () => {
    const stop = new AbortController();
    const reason = new Error('stopped');
    const work = (): Promise<never> => Promise.reject(new Error('away'));
    const onFailure = (): void => void setImmediate(() => stop.abort(reason));
    const hour = { firstMs: 3_600_000, mostMs: 3_600_000 };
    await expect(retry(work, { ...hour, signal: stop.signal, onFailure })).rejects.toBe(reason);
  });
});
