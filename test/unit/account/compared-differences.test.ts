import { describe, expect, it } from 'vitest';
import { comparedIn } from '../../../src/account/compared-differences.ts';
import type { Difference, DifferenceKind } from '../../../src/account/difference.ts';

const minute = 1_790_000_040;
const gapMinute = minute + 30;

const of = (kind: DifferenceKind, owner: number, at = minute, messages = 3): Difference => ({
  ...{ kind, stream: 'METRICS', pipeline: 'metrics', dataId: owner, appId: 0, minute: at },
  ...{ items: owner === 0 ? 0 : 9, messages },
});

const isReplaced = comparedIn({
  stream: 'METRICS',
  minutes: new Set([minute]),
  gapMinutes: new Set([gapMinute]),
  wokenAt: new Set([minute + 120]),
});

describe('what a comparison of the books replaces', () => {
  it('are the losses of its minutes and of the changed gaps, with an owner and without', () => {
    for (const owner of [0, 1_500_001])
      for (const kind of ['lost_in_the_stream', 'lost_by_the_engine', 'stuck', 'unrecorded'] as const)
        expect(isReplaced(of(kind, owner)), `${kind} of ${owner}`).toBe(true);
    expect(isReplaced(of('lost_in_the_stream', 0, gapMinute))).toBe(true);
  });

  it('is nothing of other minutes, gaps and streams', () => {
    expect(isReplaced(of('lost_in_the_stream', 1_500_001, minute + 60))).toBe(false);
    expect(isReplaced(of('lost_in_the_stream', 0, gapMinute + 60))).toBe(false);
    expect(isReplaced({ ...of('lost_in_the_stream', 1_500_001), stream: 'TRACES' })).toBe(false);
  });

  it('is not what a store, the dead letters or the end of a receiver have shown', () => {
    expect(isReplaced(of('missing_in_the_store', 1_500_001))).toBe(false);
    expect(isReplaced(of('unrecorded', 1_500_001, minute, 0))).toBe(false);
    expect(isReplaced(of('orphan', 1_500_001))).toBe(false);
    expect(isReplaced(of('not_counted', 0))).toBe(false);
    expect(isReplaced(of('not_counted', 1_500_001))).toBe(true);
    expect(isReplaced(of('not_counted', 0, minute + 120)), 'of a receiver that writes again').toBe(true);
  });
});
