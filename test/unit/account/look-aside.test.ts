import { describe, expect, it } from 'vitest';
import { createLookAside } from '../../../src/account/look-aside.ts';
import type { StoreFindings } from '../../../src/account/store-look.ts';

/** A look that ends at a call, under a clock and a patience of our own. */
const aside = () => {
  let elapsedMs = 0;
  let endPatience = (): void => undefined;
  const begun: PromiseWithResolvers<StoreFindings>[] = [];
  const looks = createLookAside({
    look: () => {
      const look = Promise.withResolvers<StoreFindings>();
      begun.push(look);
      return look.promise;
    },
    elapsed: () => elapsedMs,
    rest: () =>
      new Promise((done) => {
        endPatience = done;
      }),
  });
  const findings = (waitedMs: number, isNextSoon: boolean, readMs: number): StoreFindings => ({
    ...{ differences: [], compared: [], isLeftOut: () => false, waitedMs, isNextSoon, readMs },
  });
  return {
    take: looks.take,
    isRunning: () => looks.isRunning,
    impatient: () => {
      const taken = looks.take();
      endPatience();
      return taken;
    },
    begun,
    pass: (ms: number) => {
      elapsedMs += ms;
    },
    end: (waitedMs = 0, isNextSoon = false, readMs = 0) =>
      begun.at(-1)?.resolve(findings(waitedMs, isNextSoon, readMs)),
    fail: (error: Error) => begun.at(-1)?.reject(error),
  };
};

describe('a look at the stores', () => {
  it('that ends at once is taken up by the call that began it, and the next one comes after 35 seconds', async () => {
    const looks = aside();
    const first = looks.take();
    looks.end();
    expect(await first).toMatchObject({ compared: [] });
    looks.pass(34_999);
    expect(await looks.take()).toBeUndefined();
    expect(looks.begun).toHaveLength(1);
    looks.pass(1);
    const second = looks.take();
    looks.end();
    expect(await second).toBeDefined();
  });

  it('that sees a day begin to change is followed by another one at the next call', async () => {
    const looks = aside();
    const first = looks.take();
    looks.end(0, true);
    expect(await first).toBeDefined();
    const second = looks.take();
    looks.end();
    expect(await second).toBeDefined();
    expect(looks.begun).toHaveLength(2);
  });

  it('that takes long holds no call up, is the only one, and is taken up once', async () => {
    const looks = aside();
    expect(await looks.impatient()).toBeUndefined();
    looks.pass(60_000);
    expect(await looks.impatient()).toBeUndefined();
    expect(looks.isRunning()).toBe(true);
    expect(looks.begun).toHaveLength(1);
    looks.end(59_000);
    expect(await looks.take()).toMatchObject({ waitedMs: 59_000 });
    expect(looks.isRunning()).toBe(false);
    expect(await looks.take()).toBeUndefined();
  });

  it('rests for 39 times its work, to which its waits do not belong', async () => {
    const looks = aside();
    const first = looks.take();
    looks.pass(12_000);
    looks.end(10_000);
    await first;
    looks.pass(77_999);
    expect(await looks.take()).toBeUndefined();
    looks.pass(1);
    void looks.impatient();
    expect(looks.begun).toHaveLength(2);
  });

  it('that read many rows looks at the sizes again as soon as one that read none', async () => {
    const looks = aside();
    const first = looks.take();
    looks.pass(4_000);
    looks.end(0, false, 4_000);
    await first;
    looks.pass(35_000);
    void looks.impatient();
    expect(looks.begun).toHaveLength(2);
  });

  it('that sees a day begin to change rests for nine times its work, so that a slow machine finds a loss in time too', async () => {
    const looks = aside();
    const first = looks.take();
    looks.pass(2_000);
    looks.end(0, true);
    await first;
    looks.pass(17_999);
    expect(await looks.take()).toBeUndefined();
    looks.pass(1);
    void looks.impatient();
    expect(looks.begun).toHaveLength(2);
  });

  it('that fails fails this call and the next ones, and each of them tries again, until one succeeds', async () => {
    const looks = aside();
    const first = looks.take();
    looks.fail(new Error('no ClickHouse'));
    await expect(first).rejects.toThrow('no ClickHouse');
    await expect(looks.impatient()).rejects.toThrow('no ClickHouse');
    expect(looks.begun).toHaveLength(2);
    const third = looks.take();
    looks.end();
    expect(await third).toMatchObject({ compared: [] });
    expect(await looks.take()).toBeUndefined();
  });
});
