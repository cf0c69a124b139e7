import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keptFromDay } from '../../../../src/directory/policies.ts';
import { newApplication } from '../../../../src/metadata/records/values.ts';
import {
  applicationPolicyChangeSchema,
  type PolicyDefaults,
  setApplicationPolicy,
  showApplicationPolicy,
} from '../../../../src/metadata/reports/policies.ts';
import { dayMs } from '../../../../src/model/time.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';

const today = 20_000;
const defaults: PolicyDefaults = {
  source: {
    ...{ ahead_seconds_max: 3600, age_seconds_max: null, points_max: 1, metric_columns_max: 1 },
    ...{ dimension_columns_max: 1, retention_days: null },
  },
  application: { traces: { retention_days: null }, logs: {}, otel_metrics: {} },
};

beforeEach(() => {
  vi.useFakeTimers({ now: today * dayMs + dayMs / 2 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** An application, and the first event day whose rows its retentions have left. */
const application = async () => {
  const { records } = createMemoryRecords();
  const request = { mon_biz_id: 2, app_name: 'shop', max_rate: 0, operator: 'ann' };
  await records.applications.create(1, newApplication(1, 'a'.repeat(32), request));
  const policy = () => records.applicationPolicies.known(1)?.value;
  return {
    records,
    policy,
    keep: (days: number | 'off' | null) =>
      setApplicationPolicy(records, defaults, 1, { retention_days: days }, undefined),
    keptFrom: () => keptFromDay(policy(), Date.now()) - today,
  };
};

describe('the event days that a retention has ended', () => {
  it('stay ended when it is longer, off or none, and none is ended by a retention that was never there', async () => {
    const { keep, keptFrom } = await application();
    expect(keptFrom()).toBe(-today);
    const seen: number[] = [];
    for (const days of [30, 60, 7, 10, 'off', null] as const) {
      await keep(days);
      seen.push(keptFrom());
    }
    expect(seen).toEqual([-29, -29, -6, -6, -6, -6]);
    vi.setSystemTime(Date.now() + 100 * dayMs);
    expect(keptFrom()).toBe(-6);
    await keep(7);
    await keep('off');
    expect(keptFrom()).toBe(94);
  });

  it('are no field of the policy that is shown or set', async () => {
    const { records, keep } = await application();
    await keep(7);
    await keep(null);
    const { own, policy } = await showApplicationPolicy(records, defaults, 1);
    expect([own, Object.keys(policy)]).toEqual([[], ['app_id', 'retention_days']]);
    expect(applicationPolicyChangeSchema.safeParse({ removed_before_day: 1 }).success).toBe(false);
  });
});
