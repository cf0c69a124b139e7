import { expect, it } from 'vitest';
import { createWatchTroubles } from '../../../src/bus/watch-troubles.ts';

it('a watch that fails is a problem once that lasts, with its last reason, until it reads a whole state or is dropped', () => {
  const clock = { ms: 0 };
  const troubles = createWatchTroubles(() => clock.ms);
  const told: string[] = [];
  troubles.listen({
    onBegin: ({ keys }, why) => told.push(`${keys}: ${why}`),
    onEnd: ({ keys }) => told.push(`${keys} is over`),
  });
  const all = { bucket: 'records', keys: '>' };
  const purges = { bucket: 'records', keys: 'purge.*' };
  troubles.over(all);
  troubles.failed(all, 'no answer');
  troubles.failed(purges, 'refused');
  clock.ms = 4_999;
  troubles.failed(all, 'refused');
  expect(troubles.problem).toBeUndefined();
  clock.ms = 5_000;
  expect(troubles.problem).toBe('changes of records do not arrive: refused');
  troubles.over(all);
  troubles.dropped(purges);
  expect(troubles.problem).toBeUndefined();
  expect(told).toEqual(['>: no answer', 'purge.*: refused', '> is over']);
});
