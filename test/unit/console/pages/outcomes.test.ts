import { describe, expect, it } from 'vitest';
import {
  type Bucket,
  chartsOf,
  reasonCounts,
  sentenceOf,
  stepOf,
  stepSeconds,
} from '../../../../console/src/pages/outcomes/series.ts';
import { ownerQuery, ownerText } from '../../../../console/src/parts/owners.tsx';

const bucket = (at: number, given: Partial<Bucket>): Bucket => ({
  ...{ at, pipeline: 'metrics', received: 0, stored: 0, dead_lettered: 0, dropped: {}, refusals: [] },
  ...given,
});

const sumOf = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

describe('the chart of outcomes', () => {
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`reason_${index}`, 100 - index]));
  const buckets = [
    bucket(600, { stored: 1000, dropped: many, dead_lettered: 2 }),
    bucket(660, { stored: 500, dropped: { reason_8: 1 } }),
    bucket(660, {
      pipeline: 'traces',
      stored: 70,
      refusals: [
        { kind: 'refused', reason: 'rate_limited', requests: 3, items: 99 },
        { kind: 'value_lost', reason: 'value_cut', requests: 1, items: 8 },
      ],
    }),
  ];

  it('has every item of the answer exactly once, in its own bucket, also those of reasons without a series', () => {
    const { times, outcomes } = chartsOf(buckets, 590, 730, 'minute', '');
    expect(times).toEqual([540, 600, 660, 720]);
    expect(sumOf(outcomes.flatMap(({ values }) => values))).toBe(1000 + 500 + 70 + 2 + 1 + 864);
    expect(outcomes.map(({ values }) => values[2])).toEqual([570, 0, 0, 0, 0, 1, 0]);
  });

  it('has a series for the largest reasons, one for the others, and no two with the same look', () => {
    const { outcomes } = chartsOf(buckets, 590, 730, 'minute', '');
    expect(outcomes.map(({ label }) => label)).toEqual([
      'stored',
      'reason_0',
      'reason_1',
      'reason_2',
      'reason_3',
      '5 other reasons',
      'dead-lettered',
    ]);
    expect(new Set(outcomes.map(({ mark }) => mark)).size).toBe(outcomes.length);
  });

  it('shows points or spans alone', () => {
    const { outcomes, refusals } = chartsOf(buckets, 590, 730, 'minute', 'traces');
    expect(outcomes.map(({ key, values }) => [key, sumOf(values)])).toEqual([
      ['stored', 70],
      ['dead_lettered', 0],
    ]);
    expect(refusals.map(({ label, values }) => [label, sumOf(values)])).toEqual([
      ['value lost: value_cut', 8],
      ['refused: rate_limited', 3],
    ]);
  });

  it('lists the outcomes of one bucket, the largest first', () => {
    const { sums, sumsAt } = chartsOf(buckets, 590, 730, 'minute', '');
    expect(sums[0]).toEqual(['stored', 1570]);
    expect(sumsAt(660).filter(([, items]) => items > 0)).toEqual([
      ['stored', 570],
      ['reason_8', 1],
    ]);
  });

  it('counts what was refused with its items, of one bucket too', () => {
    const { bucketsAt } = chartsOf(buckets, 590, 730, 'minute', '');
    expect(reasonCounts(bucketsAt(undefined)).get('rate_limited')).toBe('3 requests with 99 items');
    expect([...reasonCounts(bucketsAt(660))]).toEqual([
      ['reason_8', '1 item'],
      ['rate_limited', '3 requests with 99 items'],
      ['value_cut', '8 values'],
    ]);
  });

  // Samples are few, and those of a loud reason are the newest: they count nothing.
  it('has one count of a reason that was the outcome of items and a refusal, over all signals', () => {
    const refusals = (requests: number, items: number) => [
      { kind: 'refused' as const, reason: 'too_old', requests, items },
      { kind: 'duplicate' as const, reason: 'again', requests, items },
    ];
    const counts = reasonCounts([
      { dropped: { too_old: 3 }, refusals: refusals(8, 800) },
      { dropped: { too_old: 2, never: 0 }, refusals: refusals(1, 0) },
    ]);
    expect([...counts]).toEqual([['too_old', '5 items, 9 requests with 800 items']]);
  });

  it('takes a name like those of objects for a reason like any other', () => {
    const { outcomes } = chartsOf(
      [bucket(600, { dropped: { constructor: 2, toString: 1 } })],
      600,
      610,
      'minute',
      '',
    );
    expect(outcomes.map(({ key, values }) => [key, sumOf(values)])).toContainEqual(['constructor', 2]);
  });
});

describe('the sentence of the outcomes', () => {
  const refused = (requests: number, items: number) => [
    { refusals: [{ kind: 'refused' as const, reason: 'metrics_empty', requests, items }] },
  ];
  const term = (given: object) => ({
    ...{ dead_lettered: 0, repeated: 0, lost: 0, stuck: 0, unrecorded: 0 },
    ...given,
  });

  // A loss that the sentence leaves out makes all that was received look stored or dropped.
  it('has every item that was received, also those that are in no outcome', () => {
    const sums = [
      ['stored', 222],
      ['too_old', 20],
    ] as const;
    expect(sentenceOf(sums, [term({}), term({ lost: 7 }), term({ stuck: 1 })], [])).toBe(
      '250 items: 88.8% stored, 20 dropped, most by too_old (20), 0 dead-lettered, 7 lost, 1 stuck.',
    );
    expect(sentenceOf([], [term({ lost: 7 })], [])).toBe(
      '7 items: 0% stored, 0 dropped, 0 dead-lettered, 7 lost.',
    );
  });

  it('has a dead letter that was lost once', () => {
    const account = term({ dead_lettered: 100, lost: 400 });
    expect(sentenceOf([['dead_lettered', 500]], [account], [])).toBe(
      '500 items: 0% stored, 0 dropped, 100 dead-lettered, 400 lost.',
    );
  });

  it('names what was refused beside them', () => {
    expect(sentenceOf([['stored', 2]], [], refused(16, 1_600))).toBe(
      '2 items: 100% stored, 0 dropped, 0 dead-lettered; beside them 16 requests with 1,600 items were refused.',
    );
    expect(sentenceOf([], [], refused(1, 100))).toBe(
      'No items were settled in this time; beside them 1 request with 100 items was refused.',
    );
  });
});

it('a chart has at most 600 buckets, for every time and every choice', () => {
  for (const seconds of [60, 3_600, 36_000, 86_400, 604_800, 2_592_000, 31_536_000])
    for (const chosen of ['', 'minute', 'hour', 'day', 'nonsense']) {
      const step = stepOf(0, seconds, chosen);
      expect(seconds / stepSeconds[step] + 1).toBeLessThanOrEqual(600);
    }
  expect(stepOf(0, 3_600, 'hour')).toBe('hour');
  expect(stepOf(0, 2_592_000, 'minute')).toBe('day');
});

it('an owner in the address is a data id or an application; one that cannot be read is not taken for all owners', () => {
  expect(ownerQuery('1500001')).toEqual({ data_id: 1500001 });
  expect(ownerQuery('app:3')).toEqual({ app_id: 3 });
  expect(ownerQuery('')).toEqual({});
  for (const text of ['app:', 'app7', 'shop', '0', '1500001 ', '1e9', '-1', 'app:3;x', '1'.repeat(16)])
    expect(ownerQuery(text)).toBeUndefined();
  expect(
    [
      { data_id: 7, app_id: 0 },
      { data_id: 0, app_id: 3 },
      { data_id: 0, app_id: 0 },
    ].map(ownerText),
  ).toEqual(['7', 'app:3', '']);
});
