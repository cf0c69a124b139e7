import { describe, expect, it } from 'vitest';
import { shownRetention } from '../../../src/metadata/api/retention-endpoints.ts';

const now = Date.parse('2026-11-23T12:00:00Z');
const days = ['2026-11-01', '2026-11-20', '2026-11-23'].map((day) => ({ day, rows: 1, bytes: 10 }));

/** An application whose spans expire after 7 days by the pipeline files, and whose log records never do. */
const tables = [
  { pipeline: 'traces', ttl: 7, days: [] },
  { pipeline: 'logs', ttl: undefined, days },
] as const;
const own = (retention_days: number | null) => ({ app_id: 1, retention_days });

// The TTL of the tables holds for every application: a longer retention was promised, and rows were gone.
describe('the retention of an application', () => {
  it('is the one of the pipeline files where that is shorter', () => {
    const traces = tables.slice(0, 1);
    for (const policy of [own(30), own(null), { app_id: 1, retention_days_initial: 90 }, undefined])
      expect(shownRetention(undefined, policy, traces, now)).toMatchObject({
        ...{ retention_days: 7, origin: 'pipelines' },
      });
    expect(shownRetention(undefined, own(3), traces, now)).toMatchObject({
      retention_days: 3,
      origin: 'policy',
    });
  });

  it('names each signal', () => {
    expect(shownRetention(undefined, undefined, tables, now)).toMatchObject({
      retention_days: 7,
      origin: 'pipelines',
      signals: [
        { pipeline: 'traces', retention_days: 7, origin: 'pipelines' },
        { pipeline: 'logs', retention_days: null, origin: 'none' },
      ],
    });
    expect(shownRetention(undefined, own(30), tables, now).signals).toEqual([
      { pipeline: 'traces', retention_days: 7, origin: 'pipelines' },
      { pipeline: 'logs', retention_days: 30, origin: 'policy' },
    ]);
  });

  it('names for a change what each signal keeps', () => {
    expect(shownRetention(30, undefined, tables, now).change).toMatchObject({ retention_days: 7, rows: 0 });
    expect(shownRetention(10, undefined, tables, now).change).toMatchObject({ rows: 1 });
    expect(shownRetention(2, undefined, tables, now).change).toEqual({
      ...{ retention_days: 2, kept_from: '2026-11-21', days: 2, rows: 2, bytes: 20 },
    });
    expect(shownRetention('off', own(5), tables, now).change).toMatchObject({ retention_days: 7, rows: 0 });
  });

  it('of a data id has no signals', () => {
    const points = [{ pipeline: undefined, ttl: undefined, days }];
    expect(shownRetention(undefined, undefined, points, now)).toMatchObject({
      ...{ retention_days: null, origin: 'none', rows: 3, signals: [] },
    });
  });
});
