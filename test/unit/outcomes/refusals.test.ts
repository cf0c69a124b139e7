import { describe, expect, it } from 'vitest';
import { createRefusals } from '../../../src/outcomes/refusals.ts';

const minute = Date.UTC(2026, 10, 20, 13, 30);

const started = (rowsMax?: number) => {
  const clock = { ms: minute };
  const refusals = createRefusals({ now: () => clock.ms, ...(rowsMax === undefined ? {} : { rowsMax }) });
  return { clock, refusals };
};

describe('counting refused requests', () => {
  it('adds up requests and items by minute, owner, kind and reason', () => {
    const { clock, refusals } = started();
    refusals.add('metrics', 'refused', 1500001, 'rate_limited', 1, 10);
    refusals.add('metrics', 'refused', 1500001, 'rate_limited', 1, 5);
    refusals.add('metrics', 'duplicate', 1500001, 'duplicate_request', 1, 3);
    refusals.add('traces', 'value_lost', 7, 'value_cut', 1, 2);
    clock.ms += 60_000;
    refusals.add('metrics', 'refused', 1500001, 'rate_limited', 1, 1);
    const common = { pipeline: 'metrics', data_id: 1500001, app_id: 0, boot: 4, seq: 9 } as const;
    const first = { minute: '2026-11-20 13:30:00' };
    const refused = { ...common, kind: 'refused', reason: 'rate_limited' };
    expect(refusals.take(4, 9)).toEqual([
      { ...refused, ...first, requests: 2, items: 15 },
      { ...common, ...first, kind: 'duplicate', reason: 'duplicate_request', requests: 1, items: 3 },
      {
        ...common,
        ...first,
        pipeline: 'traces',
        data_id: 0,
        app_id: 7,
        kind: 'value_lost',
        reason: 'value_cut',
        requests: 1,
        items: 2,
      },
      { ...refused, minute: '2026-11-20 13:31:00', requests: 1, items: 1 },
    ]);
    expect(refusals.take(4, 10)).toEqual([]);
  });

  // A sender with many tokens must not be able to grow a receiver, nor to hide the refusals of others.
  it('keeps to its limit: beyond it owner 0 counts, and nothing is lost', () => {
    const { refusals } = started(100);
    for (let owner = 1; owner <= 1000; owner++)
      refusals.add('traces', 'refused', owner, 'rate_limited', 1, 2);
    const rows = refusals.take(1, 1);
    expect(rows.length).toBe(101);
    expect(rows.find(({ app_id }) => app_id === 0)).toMatchObject({ requests: 900, items: 1800 });
    expect(rows.reduce((sum, { items }) => sum + items, 0)).toBe(2000);
  });
});
