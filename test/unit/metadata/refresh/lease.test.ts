import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createLease, type HeldLease } from '../../../../src/metadata/refresh/lease.ts';
import { createMemoryKv } from '../../../support/metadata/refresh-memory-kv.ts';

const seconds = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(count * 1000);

const held = (lease: HeldLease | undefined): HeldLease => {
  if (lease === undefined) throw new Error('the lease was not given');
  return lease;
};

/** Two processes on one bucket; each has its own eyes. */
const setUp = () => {
  const kv = createMemoryKv();
  const leaseOf = () => createLease(kv, 'lease.test', z.object({ n: z.int() }));
  return { kv, left: leaseOf(), right: leaseOf(), third: leaseOf() };
};

const take = () => ({ n: 1 });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a lease', () => {
  it('is had by one at a time, and by the next once it is given back', async () => {
    const { left, right } = setUp();
    const first = held(await left.acquire(take));
    expect(await right.acquire(take)).toBeUndefined();
    expect(await right.observe()).toMatchObject({ state: 'held', note: { n: 1 } });
    await first.release();
    expect(await right.observe()).toMatchObject({ state: 'free', note: { n: 1 } });
    expect(await right.acquire(() => ({ n: 2 }))).toBeDefined();
    expect(await left.observe()).toMatchObject({ state: 'held', note: { n: 2 } });
  });

  it('is taken by one of two that ask in the same moment', async () => {
    const { left, right } = setUp();
    const both = await Promise.all([left.acquire(take), right.acquire(take)]);
    expect(both.filter((one) => one !== undefined)).toHaveLength(1);
  });

  it('lives as long as its holder renews it', async () => {
    const { left, right } = setUp();
    const first = held(await left.acquire(take));
    for (let minute = 0; minute < 10; minute++) {
      await seconds(60);
      expect((await right.observe()).state).toBe('held');
    }
    await first.check();
    expect(first.signal.aborted).toBe(false);
  });

  // A killed leader renews no more; its clock, and how long ago it wrote, do not count.
  it('is taken over after its time to live was watched through, and not a moment before', async () => {
    const { kv, left, right } = setUp();
    await kv.put('lease.test', { holder: 'killed long ago', renewals: 3, note: { n: 7 } });
    await seconds(3600);
    expect((await right.observe()).state).toBe('held');
    await seconds(29.9);
    expect(await right.acquire(take)).toBeUndefined();
    // The other process has only begun to look.
    expect(await left.acquire(take)).toBeUndefined();
    await seconds(0.2);
    expect(await left.acquire(take)).toBeUndefined();
    expect(await right.observe()).toMatchObject({ state: 'expired', note: { n: 7 } });
    expect(await right.acquire(() => ({ n: 8 }))).toBeDefined();
  });

  // Its holder may still write, and nobody can renew it.
  it.each(['', 'text', { holder: 7 }])(
    'that cannot be read is named until its time to live was watched through, and then taken over: %s',
    async (value) => {
      const { kv, left, right } = setUp();
      const first = held(await left.acquire(take));
      await kv.put('lease.test', value);
      await expect(first.check()).rejects.toMatchObject({ code: 'lease_lost' });
      const named = {
        kind: 'transient',
        code: 'record_invalid',
        message: expect.stringContaining('lease.test'),
      };
      await expect(right.acquire(take)).rejects.toMatchObject(named);
      await seconds(29.9);
      await expect(right.observe()).rejects.toMatchObject(named);
      await seconds(0.2);
      expect(await right.observe()).toMatchObject({ state: 'expired', note: undefined });
      const next = held(await right.acquire(take));
      await next.check();
    },
  );

  it('is not taken over because of a time in which KV was down', async () => {
    const { kv, right } = setUp();
    await kv.put('lease.test', { holder: 'other', renewals: 3, note: { n: 7 } });
    await right.observe();
    await seconds(20);
    kv.isAway = true;
    await expect(right.observe()).rejects.toMatchObject({ kind: 'transient' });
    await seconds(20);
    kv.isAway = false;
    expect((await right.observe()).state).toBe('held');
    await seconds(30);
    expect((await right.observe()).state).toBe('expired');
  });

  it('is lost by a holder that does not reach KV, before another process can take it over', async () => {
    const { kv, left, right } = setUp();
    const first = held(await left.acquire(take));
    await seconds(5);
    await right.observe();
    kv.isAway = true;
    await seconds(24.9);
    expect(first.signal.aborted).toBe(false);
    await seconds(0.2);
    expect(first.signal.aborted).toBe(true);
    kv.isAway = false;
    await expect(first.check()).rejects.toMatchObject({ kind: 'transient', code: 'lease_lost' });
    expect((await right.observe()).state).toBe('held');
    // Giving back what is lost changes nothing.
    await first.release();
    expect((await right.observe()).state).toBe('held');
    await seconds(30);
    expect(await right.acquire(take)).toBeDefined();
  });

  it('outlives a short absence of KV', async () => {
    const { kv, left } = setUp();
    const first = held(await left.acquire(take));
    await seconds(9);
    kv.isAway = true;
    await seconds(15);
    kv.isAway = false;
    await seconds(60);
    await first.check();
  });

  it('is kept where a renewal was stored and its answer got lost', async () => {
    const { kv, left } = setUp();
    const first = held(await left.acquire(take));
    kv.losesAnswers = true;
    await seconds(11);
    kv.losesAnswers = false;
    await seconds(30);
    await first.check();
  });

  // A process that was paused for minutes wakes up in the middle of its work.
  it('passes no write once another process has it', async () => {
    const { kv, left, right } = setUp();
    const first = held(await left.acquire(take));
    await kv.put('lease.test', { holder: 'other', renewals: 0, note: { n: 2 } });
    await expect(first.check()).rejects.toMatchObject({ code: 'lease_lost' });
    expect(first.signal.aborted).toBe(true);
    await first.release();
    expect((await right.observe()).state).toBe('held');
  });

  it('is not taken where the judge declines', async () => {
    const { left, right } = setUp();
    expect(await left.acquire(() => undefined)).toBeUndefined();
    expect(await right.observe()).toMatchObject({ state: 'free', note: undefined });
  });
});
