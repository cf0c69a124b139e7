import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { recordKeys } from '../../../../src/directory/keys.ts';
import { pollingNodeManagement } from '../../../../src/metadata/refresh/node-management.ts';
import { runOnce } from '../../../../src/metadata/refresh/run.ts';
import type { RefreshRun } from '../../../../src/metadata/refresh/runs.ts';
import {
  createRigNodeManagement,
  createRigRecords,
  rigLease,
  rigRunDeps,
} from '../../../support/metadata/refresh-rig.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Sixty reports with subscriptions, and from then on an API that answers 32 calls in the time of a run. */
const setUp = async () => {
  const reports = createRigRecords();
  for (let dataId = 1; dataId <= 60; dataId++) reports.add(dataId);
  const api = createRigNodeManagement();
  const { records } = reports;
  const deps = rigRunDeps({ records, nodeManagement: api.nodeManagement, runMsMax: 599 });
  let runId = 0;
  const run = async (): Promise<RefreshRun> => {
    api.calls.length = 0;
    const running = runOnce(deps, rigLease, ++runId, 'schedule');
    await vi.runAllTimersAsync();
    return running;
  };
  expect(await run()).toMatchObject({ created: 60, failed: [] });
  api.callMs = 150;
  return { reports, api, deps, run };
};

describe('a run with a slow node management API', () => {
  it('begins with what changed: a report that is new, and one that is disabled', async () => {
    const { reports, api, run } = await setUp();
    reports.add(61);
    reports.setEnabled(50, false);
    expect(await run()).toMatchObject({ created: 1, deleted: 1 });
    expect(api.calls.slice(0, 2).map(({ action }) => action)).toEqual(['create', 'update']);
  });

  it('comes to every unchanged report: each run begins behind the one where the last ended', async () => {
    const { api, run } = await setUp();
    const seen = new Set<number>();
    for (const count of [32, 60]) {
      const { unchanged, failed } = await run();
      expect(unchanged).toBe(32);
      expect(failed).toHaveLength(28);
      for (const { id } of api.calls) seen.add(id);
      expect(seen.size).toBe(count);
    }
  });

  it('comes to every changed report, too, where the first ones take the time of each run', async () => {
    const { reports, api, run } = await setUp();
    for (let dataId = 61; dataId <= 120; dataId++) reports.add(dataId);
    api.refuses = true;
    const tried = new Set<number>();
    for (const count of [32, 60]) {
      await run();
      for (const { id } of api.calls) tried.add(id);
      expect(tried.size).toBe(count);
    }
  });
});

// One process had the policy of before, another none: each replaced the other's file in each run.
it.each([recordKeys.sourcePolicy(1), recordKeys.previousToken(1), recordKeys.report(9)])(
  'fails a report whose record %s cannot be read, and leaves its subscription',
  async (key) => {
    const reports = createRigRecords();
    reports.add(1);
    reports.add(2);
    const deps = rigRunDeps({ records: reports.records, nodeManagement: pollingNodeManagement });
    expect(await runOnce(deps, rigLease, 1, 'manual')).toMatchObject({ created: 2, failed: [] });
    const held = await deps.subscriptions.read(1);
    if (held === undefined) throw new Error('there is no subscription');
    await deps.subscriptions.save({ ...held.value, custom_report_id: 9 }, held);
    const before = deps.subscriptions.known(1);
    reports.unreadable.add(key);
    const changed = { ...deps, defaults: { maxRate: 7, aheadSecondsMax: 60 } };
    const failed = [
      { mon_data_id: 1, error: expect.stringContaining(`record_invalid: the record ${key} cannot be read`) },
    ];
    expect(await runOnce(changed, rigLease, 2, 'manual')).toMatchObject({ updated: 1, failed });
    reports.setEnabled(1, false);
    expect(await runOnce(changed, rigLease, 3, 'manual')).toMatchObject({ deleted: 0, unchanged: 1, failed });
    expect(deps.subscriptions.known(1)).toEqual(before);
    reports.unreadable.clear();
    expect(await runOnce(changed, rigLease, 4, 'manual')).toMatchObject({ deleted: 1, failed: [] });
  },
);
