import { expect, it } from 'vitest';
import type { Difference } from '../../../src/account/difference.ts';
import { notNamedByBooks } from '../../../src/account/named-rows.ts';

const dayOf = 86_400;
const unrecorded = (day: number, items: number): Difference => ({
  ...{ kind: 'unrecorded', stream: 'METRICS', pipeline: 'metrics', dataId: 7, appId: 0, messages: 1 },
  ...{ minute: day * dayOf + 3_600, items },
});

it.each([
  ['those of the same days', [unrecorded(20_000, 12)], 8],
  ['those of the day before, whose items may be ahead of it', [unrecorded(19_999, 12)], 8],
  ['none of long before, whose rows may have expired', [unrecorded(19_998, 12)], 20],
])('of rows without a record the books of an earlier process have named %s', (_, found, left) => {
  const rows = new Map([['metrics 7 0', new Map([[20_000, 20]])]]);
  expect(notNamedByBooks(new Map([['metrics 7 0', 20]]), rows, found, new Map())).toEqual(
    new Map([['metrics 7 0', left]]),
  );
});
