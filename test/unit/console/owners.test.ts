import { describe, expect, it } from 'vitest';
import { refusalsOf } from '../../../console/src/pages/outcomes/series.ts';
import {
  changeText,
  groupedRefusals,
  hoursOf,
  isFound,
  mergedSources,
  policyChange,
  sdksOf,
  sourceState,
  waitingWords,
} from '../../../console/src/pages/owners/figures.ts';

type Balance = Parameters<typeof hoursOf>[0][number];
type Refusal = Parameters<typeof groupedRefusals>[0][number];

const balance = (minute: number, received: number, dropped: Record<string, number> = {}): Balance => ({
  ...{ pipeline: 'metrics', data_id: 1_500_001, app_id: 0, minute, received, stored: received, dropped },
  ...{ dead_lettered: 0, repeated: 0, lost: 0, stuck: 0, unrecorded: 0, in_flight: 0, adds_up: true },
  ...{ differences: [], refusals: [] },
});

const refusal = (at: number, more: Partial<Refusal> = {}): Refusal => ({
  ...{ at, reason: 'timestamp_unit_seconds', stage: 'transfer', ordinal: 0, field: 'timestamp', value: '1' },
  ...{ detail: '', sender: '10.0.0.1', sdk: '', sampled: true, meaning: '', remedy: '', ...more },
});

describe('the hour of an owner', () => {
  const until = 1_800_000_030;
  const now = until - (until % 60);

  it('has a count for each of sixty minutes, the newest last, and their sum', () => {
    const rows = [balance(now, 5), balance(now - 59 * 60, 7), balance(now, 3, { too_old: 1, other: 2 })];
    const hour = hoursOf(rows, rows, ({ data_id }) => data_id, until).get(1_500_001);
    expect(hour?.get('received')?.sum).toBe(15);
    expect(hour?.get('received')?.minutes).toHaveLength(60);
    expect([hour?.get('received')?.minutes[0], hour?.get('received')?.minutes[59]]).toEqual([7, 8]);
    expect(hour?.get('dropped')).toMatchObject({ sum: 3 });
    expect(hour?.get('dropped')?.minutes[59]).toBe(3);
  });

  it('has what is in no outcome', () => {
    const row = { ...balance(now, 9), lost: 4, stuck: 2, dead_lettered: 3, in_flight: 1 };
    const hour = hoursOf([row], [], () => 1, until).get(1);
    expect([hour?.get('lost')?.sum, hour?.get('dead_lettered')?.sum, hour?.get('in_flight')?.sum]).toEqual([
      6, 3, 1,
    ]);
    expect(hour?.get('lost')?.minutes).toEqual([]);
  });

  it('has no place for a minute outside of it', () => {
    const rows = [balance(now, 0), balance(now - 60 * 60, 4), balance(now + 60, 4)];
    const hour = hoursOf(rows, rows, () => 1, until).get(1);
    expect(hour?.get('received')?.minutes).toHaveLength(60);
    expect(hour?.get('received')?.minutes.every((count) => count === 0)).toBe(true);
  });
});

describe('a search of owners', () => {
  const owner = { id: 1_500_012, name: 'Shop orders', biz: 2, state: 'enabled' } as const;

  it.each([
    ['', true],
    ['ORD', true],
    ['15000', true],
    ['00012', false],
    ['biz:2', true],
    ['biz:22', false],
    ['shop  biz:2', true],
    ['shop biz:3', false],
  ])('%j finds it: %s', (search, found) => expect(isFound(owner, search)).toBe(found));
});

describe('a source', () => {
  it('is what its report is, and enabled only while its data source is', () => {
    expect(sourceState({ state: 'active' }, { is_enable: true })).toBe('enabled');
    expect(sourceState({ state: 'active' }, { is_enable: false })).toBe('disabled');
    expect(sourceState({ state: 'purging' }, { is_enable: false })).toBe('purging');
    expect(sourceState({ state: 'creating' }, undefined)).toBe('creating');
    expect(sourceState(undefined, { is_enable: true })).toBe('enabled');
  });

  it('is listed once with its report, and alone without one', () => {
    type Reports = Parameters<typeof mergedSources>[0];
    type Sources = Parameters<typeof mergedSources>[1];
    const report = { mon_data_id: 1_500_002, mon_biz_id: 2, name: 'orders', state: 'active' };
    const source = { is_platform_data_id: false, is_enable: true };
    const merged = mergedSources(
      [report] as unknown as Reports,
      [
        { ...source, mon_data_id: 1_500_002, data_name: '2_custom_time_series_orders' },
        { ...source, mon_data_id: 1_500_001, data_name: '-3_custom_time_series_alone' },
      ] as unknown as Sources,
    );
    expect(merged).toEqual([
      { id: 1_500_001, name: '-3_custom_time_series_alone', biz: -3, state: 'enabled' },
      { id: 1_500_002, name: 'orders', biz: 2, state: 'enabled' },
    ]);
  });
});

describe('refusals', () => {
  it('for one reason and field of one sender are one row with the newest value; the newest row is first', () => {
    const grouped = groupedRefusals([
      refusal(3, { value: 'c' }),
      refusal(5, { value: 'e' }),
      refusal(4, { value: 'd' }),
      refusal(6, { sender: '10.0.0.2' }),
      refusal(1, { reason: 'too_old' }),
    ]);
    expect(grouped.map(({ at, value }) => [at, value])).toEqual([
      [6, '1'],
      [5, 'e'],
      [1, '1'],
    ]);
  });
});

describe('SDKs', () => {
  it('are those of the days and of the samples, each with its last sender and the reasons of its samples', () => {
    type Day = Parameters<typeof sdksOf>[0][number];
    const day = { last_sdk: 'go/1', last_seen: 10, last_sender: 'a' } as unknown as Day;
    const never = { last_sdk: '', last_seen: null, last_sender: '' } as unknown as Day;
    const found = sdksOf(
      [day, never],
      [
        { sdk: 'go/1', at: 20, sender: 'b', reason: 'too_old' },
        { sdk: '__proto__', at: 15, sender: 'c', reason: 'too_old' },
        { sdk: 'go/1', at: 5, sender: 'd', reason: 'too_old' },
        { sdk: '', at: 30, sender: '', reason: 'span_refused' },
      ],
    );
    expect(
      found.map(({ sdk, lastAt, sender, reasons }) => [sdk, lastAt, sender, reasons.get('too_old')]),
    ).toEqual([
      ['go/1', 20, 'b', 2],
      ['__proto__', 15, 'c', 1],
    ]);
  });
});

describe('the change of a policy', () => {
  const policy = {
    policy: { mon_data_id: 1, age_seconds_max: 'off', points_max: 50_000, retention_days: 30 },
    own: ['retention_days'],
  } as const;
  const own = { policy: policy.policy, own: [...policy.own] };
  const filled = (values: Record<string, string>) => ({
    text: (name: string) => new Map(Object.entries(values)).get(name),
  });

  it('has only what the form changed: a value, off, and null for the default', () => {
    expect(policyChange(own, filled({ retention_days: '30' }))).toEqual({});
    expect(policyChange(own, filled({}))).toEqual({ retention_days: null });
    expect(policyChange(own, filled({ retention_days: 'off', points_max: ' 10 ' }))).toEqual({
      retention_days: 'off',
      points_max: 10,
    });
  });

  it('that is no number names its field', () => {
    expect(() => policyChange(own, filled({ points_max: '1e3', retention_days: '30' }))).toThrow(
      expect.objectContaining({ field: 'points_max', status: 422 }),
    );
  });
});

describe('refusals of an application', () => {
  it('of all its signals are one row for each kind and reason', () => {
    const refused = { kind: 'refused', reason: 'too_large', requests: 2, items: 1 } as const;
    const repeated = { kind: 'duplicate', reason: 'duplicate', requests: 3, items: 4 } as const;
    expect(refusalsOf([{ refusals: [refused, repeated] }, { refusals: [refused] }])).toEqual([
      { ...refused, requests: 4, items: 2 },
      repeated,
    ]);
  });
});

describe('words', () => {
  it('say what arrived in the item of the pipeline', () => {
    expect(waitingWords('waiting', ['metrics'])).toBe('Waiting for the first point …');
    expect(waitingWords('stored', ['traces', 'logs'])).toBe('A span or log record was stored');
    expect(waitingWords('refused', ['metrics'])).toContain('refused or dropped');
  });

  it('say the change of a cardinality only where both days were counted', () => {
    expect([changeText(5, 2), changeText(2, 1_005), changeText(2, 2), changeText(2, null)]).toEqual([
      '+3',
      '−1,003',
      '±0',
      '',
    ]);
  });
});
