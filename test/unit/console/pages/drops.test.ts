import { expect, it } from 'vitest';
import { addTo, emptyTail, keptMax } from '../../../../console/src/pages/drops/tail.ts';

const drop = (at: number) => ({
  ...{
    at,
    pipeline: 'metrics' as const,
    data_id: 1,
    app_id: 0,
    stage: 'receiver',
    reason: 'metrics_empty',
    ordinal: 0,
  },
  ...{ field: 'metrics', value: '{}', detail: '', payload: '{}', sender: '', sdk: '' },
});

it('a live tail keeps the newest 1,000 samples, the newest first, and counts all that came', () => {
  let tail = emptyTail;
  for (let second = 0; second < 12; second++)
    tail = addTo(
      tail,
      Array.from({ length: 100 }, (_, index) => drop(second + index / 1000)),
      second === 3 ? 17 : 0,
    );
  expect(tail.drops.length).toBe(keptMax);
  expect(tail.drops[0]?.at).toBe(11.099);
  expect(tail.drops.at(-1)?.at).toBe(2);
  expect(tail.count).toBe(1200);
  expect(tail.skipped).toBe(17);
});

it('a sample that came live and is read from the history, too, is shown once', () => {
  const live = addTo(emptyTail, [drop(1), drop(2)], 0);
  const both = addTo(live, [drop(2), drop(3)], 0);
  expect(both.drops.map(({ at }) => at)).toEqual([3, 2, 1]);
  expect(both.count).toBe(3);
});
