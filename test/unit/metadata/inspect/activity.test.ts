import { describe, expect, it } from 'vitest';
import type { Account } from '../../../../src/account/accounts.ts';
import { minuteOf, stateOf } from '../../../../src/metadata/inspect/activity.ts';
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

describe('a minute of an application', () => {
  const account = (pipeline: 'traces' | 'logs', own: Partial<Account>): Account => ({
    ...{ pipeline, dataId: 0, appId: 3, received: 0, recorded: 0, stored: 0, dropped: {}, deadLettered: 0 },
    ...{
      repeated: 0,
      lost: 0,
      stuck: 0,
      unrecorded: 0,
      inFlight: 0,
      addsUp: true,
      differences: [],
      refusals: [],
    },
    ...own,
  });

  it('counts the items of all its signals', () => {
    const refusals = [
      { kind: 'refused', reason: 'too_many_spans', requests: 2, items: 0 },
      { kind: 'duplicate', reason: 'duplicate_request', requests: 3, items: 4 },
    ] as const;
    const traces = account('traces', { received: 5, stored: 3, dropped: { too_old: 2 }, refusals });
    const logs = account('logs', {
      received: 7,
      stored: 4,
      dropped: { too_old: 1 },
      deadLettered: 2,
      lost: 6,
    });
    const none = {
      at: now,
      received: 0,
      stored: 0,
      dropped: 0,
      dead_lettered: 0,
      ...{ repeated: 0, lost: 0, stuck: 0, unrecorded: 0 },
      refused_requests: 0,
      repeated_requests: 0,
      values_lost: 0,
    };
    expect(minuteOf(now, [logs, traces])).toEqual({
      ...none,
      ...{
        received: 12,
        stored: 7,
        dropped: 3,
        dead_lettered: 2,
        lost: 6,
        refused_requests: 2,
        repeated_requests: 3,
      },
    });
    expect(minuteOf(now, [])).toEqual(none);
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
    expect(isOfOwner(drop('logs', { app_id: 3 }), { dataId: 0, appId: 3 })).toBe(true);
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
