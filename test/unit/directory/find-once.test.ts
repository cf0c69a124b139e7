import { expect, it } from 'vitest';
import { createFindOnce, lookUpsAtOnceMax, lookUpsPerSecond } from '../../../src/directory/find-once.ts';

const start = () => {
  const clock = { ms: 0 };
  const fetched: string[] = [];
  const { findOnce } = createFindOnce(
    () => clock.ms,
    () => clock.ms,
  );
  /** What each of these lookups came to. */
  const look = (credentials: readonly string[], fetch: () => Promise<void>, isKnown = true) =>
    Promise.allSettled(
      credentials.map((credential) =>
        findOnce(
          credential,
          () => undefined,
          () => {
            fetched.push(credential);
            return fetch();
          },
          isKnown,
        ),
      ),
    );
  return { clock, fetched, look };
};

const different = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `credential ${from + index}`);

// Credentials are free to make: without a bound one sender loads the bus, and the process, with thousands of reads.
it('unknown credentials have a bounded number of reads under way, and the others fail at once', async () => {
  const { fetched, look } = start();
  const { promise, resolve } = Promise.withResolvers<void>();
  const looking = look(different(1_000), () => promise);
  expect(fetched).toHaveLength(lookUpsAtOnceMax);
  resolve();
  const ends = await looking;
  const refused = ends.filter((end) => end.status === 'rejected');
  expect(refused).toHaveLength(1_000 - lookUpsAtOnceMax);
  expect(refused[0]?.reason).toMatchObject({ kind: 'transient', code: 'too_many_lookups' });
});

it('unknown credentials have a bounded number of reads a second', async () => {
  const { clock, fetched, look } = start();
  const oneByOne = async (credentials: readonly string[]) => {
    for (const credential of credentials) await look([credential], async () => {});
  };
  await oneByOne(different(1_000));
  const atOnce = fetched.length;
  expect(atOnce).toBeLessThanOrEqual(2 * lookUpsPerSecond);
  clock.ms += 1_000;
  await oneByOne(different(1_000, 1_000));
  expect(fetched.length - atOnce).toBe(lookUpsPerSecond);
});

// Credentials are free to make: else senders without a valid one use up what those with one need.
it('senders without a valid credential leave half of the reads to those with one', async () => {
  const { fetched, look } = start();
  const { promise, resolve } = Promise.withResolvers<void>();
  const looking = look(different(1_000), () => promise, false);
  expect(fetched).toHaveLength(lookUpsAtOnceMax / 2);
  const known = look(different(1_000, 1_000), () => promise);
  expect(fetched).toHaveLength(lookUpsAtOnceMax);
  resolve();
  await Promise.all([looking, known]);

  const later = start();
  const oneByOne = async (credentials: readonly string[], isKnown: boolean) => {
    for (const credential of credentials) await later.look([credential], async () => {}, isKnown);
  };
  await oneByOne(different(1_000), false);
  expect(later.fetched).toHaveLength(lookUpsPerSecond);
  await oneByOne(different(1_000, 1_000), true);
  expect(later.fetched).toHaveLength(2 * lookUpsPerSecond);
});

// A request with more wrong tokens than may be looked up is sent again and again, with the same ones.
it('a credential that was looked up in vain is unknown, to a sender with a valid one, also while no read may begin', async () => {
  const { clock, look } = start();
  const none = async () => {};
  await look(['wrong'], none);
  clock.ms += 2_000;
  for (const credential of different(1_000)) await look([credential], none);
  expect(await look(['wrong'], none)).toEqual([{ status: 'fulfilled', value: undefined }]);
  const refused = [...(await look(['wrong'], none, false)), ...(await look(['new'], none))];
  expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

// All processes of a new source begin with the same token at the same moment.
it('lookups of one credential at the same time share a read', async () => {
  const { fetched, look } = start();
  const ends = await look(
    Array.from({ length: 1_000 }, () => 'new'),
    async () => {},
  );
  expect(fetched).toEqual(['new']);
  expect(ends.every(({ status }) => status === 'fulfilled')).toBe(true);
});
