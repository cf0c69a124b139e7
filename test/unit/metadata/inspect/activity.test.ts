import { describe, expect, it } from 'vitest';
import { stateOf } from '../../../../src/metadata/inspect/activity.ts';
import { isOfOwner } from '../../../../src/outcomes/arrivals.ts';
import { startOfBucket } from '../../../../src/outcomes/buckets.ts';
import type { Drop } from '../../../../src/outcomes/drops.ts';

const now = 1_800_000_000;
const requestAt = (at: number) => ({ at, sender: '', sdk: '' });

describe('the state of an owner', () => {
  it.each([
    ['disabled', false, now - 1, []],
    ['receiving', true, now - 299, [now - 1]],
    ['refused', true, now - 301, [now - 10]],
    ['refused', true, undefined, [now - 10]],
    ['silent', true, now - 301, [now - 301]],
    ['never', true, undefined, []],
  ])('is %s', (state, isEnabled, lastAt, refusedAt) => {
    const last = lastAt === undefined ? undefined : requestAt(lastAt);
    expect(
      stateOf(
        isEnabled,
        last,
        refusedAt.map((at) => ({ at })),
        now,
      ),
    ).toBe(state);
  });
});

describe('a sample', () => {
  const drop = (pipeline: Drop['pipeline'], ids: Partial<Drop>): Drop => ({
    ...{ at: now, pipeline, data_id: 0, app_id: 0, stage: '', reason: '', ordinal: 0, field: '', value: '' },
    ...{ detail: '', payload: '', request: '', sender: '', sdk: '', ...ids },
  });
  const source = { dataId: 1_500_001, appId: 0 };

  it.each([
    [true, drop('metrics', { data_id: 1_500_001 })],
    [true, drop('metrics', { detail: 'the token is wrong; data id 1500001' })],
    [false, drop('metrics', { detail: 'data id 15000011' })],
    [false, drop('metrics', { data_id: 7, detail: 'data id 1500001' })],
    [false, drop('traces', { app_id: 1_500_001 })],
  ])('is of a data id: %s', (isOf, sample) => {
    expect(isOfOwner(sample, source)).toBe(isOf);
  });

  it('is of an application by its pipeline and id', () => {
    expect(isOfOwner(drop('traces', { app_id: 3 }), { dataId: 0, appId: 3 })).toBe(true);
    expect(isOfOwner(drop('metrics', { data_id: 3 }), { dataId: 0, appId: 3 })).toBe(false);
  });
});

describe('a bucket', () => {
  it.each([
    ['minute', 1_800_000_059, 1_800_000_000],
    ['hour', 1_800_003_599, 1_800_000_000],
    ['day', 1_800_000_000, 1_799_971_200],
  ] as const)('by %s begins with it, in UTC', (by, at, start) => {
    expect(startOfBucket(at, by)).toBe(start);
  });
});
