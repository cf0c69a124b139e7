import { describe, expect, it } from 'vitest';
import { type Keeping, removedRows } from '../../../../src/metadata/api/removed-rows.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';

const day = 86_400;
const nowMs = Date.UTC(2026, 10, 30, 12);
const now = nowMs / 1_000;

const points = (dataId: number, stored = 1) => ({ pipeline: 'metrics' as const, dataId, appId: 0, stored });
const spans = (appId: number) => ({ pipeline: 'traces' as const, dataId: 0, appId, stored: 1 });

describe('rows that were stored and are gone', () => {
  const keepingOf = async (): Promise<Keeping> => {
    const { records } = createMemoryRecords();
    const purge = { table_id: 't', state: 'purging' as const, requested_at: 1, requested_by: 'a' };
    await records.purges.create(1, { mon_data_id: 1, ...purge });
    await records.sourcePolicies.create(2, { retention_days: 7 });
    await records.applicationPolicies.create(4, { retention_days_initial: 3 });
    return { records, ttls: {}, nowMs };
  };

  it('are those of a purge, whenever they were stored', async () => {
    const found = removedRows(await keepingOf(), [points(1), points(3)], now - 60);
    expect(found).toEqual([
      { pipeline: 'metrics', data_id: 1, app_id: 0, purged: true, expired_before: null },
    ]);
  });

  it('may be those before the first day that the retention keeps, and no others', async () => {
    const keeping = await keepingOf();
    const of = (since: number) =>
      removedRows(keeping, [points(2), points(2), spans(4), spans(5)], since).map((each) => [
        each.data_id || each.app_id,
        each.purged,
        each.expired_before,
      ]);
    expect(of(now - 30 * day)).toEqual([
      [2, false, '2026-11-24'],
      [4, false, '2026-11-28'],
    ]);
    expect(of(now - 4 * day)).toEqual([[4, false, '2026-11-28']]);
    expect(of(now - 2 * day)).toEqual([]);
    const early = removedRows({ ...keeping, ttls: { traces: 1 } }, [spans(5)], now - 3 * day);
    expect(early.map((each) => each.expired_before)).toEqual(['2026-11-30']);
  });

  it('are not named where nothing was stored', async () => {
    expect(removedRows(await keepingOf(), [points(1, 0), points(2, 0)], now - 30 * day)).toEqual([]);
  });
});
