import { describe, expect, it } from 'vitest';
import { type Directory, startDirectory } from '../../../src/directory/directory.ts';
import { recordKeys } from '../../../src/directory/keys.ts';
import type { ApplicationPolicy, SourcePolicy } from '../../../src/directory/policies.ts';
import { applicationRules, sourceRules } from '../../../src/directory/rules.ts';
import { createRecordWriter, defaultRules } from '../../support/metadata/directory-records.ts';
import { createMemoryBucket, type MemoryBucket } from '../../support/stack/memory-bucket.ts';

const { source: sourceDefaults, application: applicationDefaults } = defaultRules;
const dayMs = 86_400_000;
const token = '0123456789abcdef0123456789abcdef';

const startOn = (
  records: MemoryBucket,
  columns: MemoryBucket,
  onInvalid: (key: string) => void = (key) => {
    throw new Error(key);
  },
): Directory => startDirectory({ records, columns, defaults: defaultRules, now: () => 0, onInvalid });

describe('the rules of a data id', () => {
  const { time } = sourceDefaults;
  it.each<[what: string, policy: SourcePolicy, change: object]>([
    ['nothing', {}, {}],
    ['a window ahead', { ahead_seconds_max: 5 }, { time: { ...time, aheadMsMax: 5_000 } }],
    ['no window ahead', { ahead_seconds_max: null }, { time: { ...time, aheadMsMax: undefined } }],
    ['an age', { age_seconds_max: 60 }, { time: { ...time, ageMsMax: 60_000 } }],
    ['an age of zero', { age_seconds_max: 0 }, { time: { ...time, ageMsMax: 0 } }],
    ['points of a request', { points_max: 3 }, { pointsMax: 3 }],
    ['metric columns', { metric_columns_max: 4 }, { metricsMax: 4 }],
    ['dimension columns', { dimension_columns_max: 5 }, { dimensionsMax: 5 }],
    ['a retention', { retention_days: 2 }, { time: { ...time, ageMsMax: 2 * dayMs } }],
    ['no retention', { retention_days: null }, {}],
    [
      'the default retention of the deployment, which nobody asked for',
      { retention_days_initial: 90 },
      { initialDays: 90 },
    ],
    [
      'a retention and a shorter age',
      { retention_days: 2, age_seconds_max: 60 },
      { time: { ...time, ageMsMax: 60_000 } },
    ],
    [
      'a retention and a longer age',
      { retention_days: 1, age_seconds_max: 999_999 },
      { time: { ...time, ageMsMax: dayMs } },
    ],
    [
      'a retention and no age',
      { retention_days: 1, age_seconds_max: null },
      { time: { ...time, ageMsMax: dayMs } },
    ],
  ])('are those of the pipeline file except the fields of its policy: %s', (_what, policy, change) => {
    expect(sourceRules(policy, sourceDefaults)).toEqual({ ...sourceDefaults, ...change });
  });

  it('have no age where the policy removes the window of the file', () => {
    const inherited = { ...sourceDefaults, time: { aheadMsMax: 1, ageMsMax: 2 } };
    expect(sourceRules({ age_seconds_max: null }, inherited).time).toEqual({
      aheadMsMax: 1,
      ageMsMax: undefined,
    });
  });
});

describe('the rules of an application', () => {
  const { traces, logs, otel_metrics: metrics } = applicationDefaults;
  const { time, limits } = traces;
  it.each<[what: string, policy: ApplicationPolicy, change: object]>([
    ['nothing', {}, {}],
    ['a window ahead', { ahead_seconds_max: 5 }, { time: { ...time, aheadMsMax: 5_000 } }],
    ['an age', { age_seconds_max: 60 }, { time: { ...time, ageMsMax: 60_000 } }],
    ['spans of a request', { spans_max: 1 }, { limits: { ...limits, itemsMax: 1 } }],
    ['attributes', { attributes_max: 2 }, { limits: { ...limits, attributesMax: 2 } }],
    ['events', { events_max: 3 }, { limits: { ...limits, eventsMax: 3 } }],
    ['links', { links_max: 4 }, { limits: { ...limits, linksMax: 4 } }],
    ['bytes of a value', { value_bytes_max: 5 }, { limits: { ...limits, valueBytesMax: 5 } }],
    ['a retention', { retention_days: 2 }, { time: { ...time, ageMsMax: 2 * dayMs } }],
    ['the default retention of the deployment, which nobody asked for', { retention_days_initial: 90 }, {}],
  ])('are those of the pipeline file except the fields of its policy: %s', (_what, policy, change) => {
    expect(applicationRules(policy, applicationDefaults).traces).toEqual({ ...traces, ...change });
  });

  it.each<[what: string, policy: ApplicationPolicy, change: object]>([
    ['nothing', {}, {}],
    ['a window ahead', { ahead_seconds_max: 5 }, { time: { ...logs.time, aheadMsMax: 5_000 } }],
    ['log records of a request', { records_max: 1 }, { limits: { ...logs.limits, itemsMax: 1 } }],
    ['spans of a request', { spans_max: 1 }, {}],
    ['attributes', { attributes_max: 2 }, { limits: { ...logs.limits, attributesMax: 2 } }],
    ['bytes of a value', { value_bytes_max: 5 }, { limits: { ...logs.limits, valueBytesMax: 5 } }],
    ['a retention', { retention_days: 2 }, { time: { ...logs.time, ageMsMax: 2 * dayMs } }],
  ])('are for log records those of their own pipeline file: %s', (_what, policy, change) => {
    expect(applicationRules(policy, applicationDefaults).logs).toEqual({ ...logs, ...change });
  });

  it.each<[what: string, policy: ApplicationPolicy, change: object]>([
    ['nothing', {}, {}],
    ['data points of a request', { data_points_max: 1 }, { limits: { ...metrics.limits, itemsMax: 1 } }],
    ['log records of a request', { records_max: 1 }, {}],
    ['series', { series_max: 7 }, { seriesMax: 7 }],
    ['no bound of series', { series_max: null }, { seriesMax: undefined }],
    ['attributes', { attributes_max: 2 }, { limits: { ...metrics.limits, attributesMax: 2 } }],
    ['an age', { age_seconds_max: 60 }, { time: { ...metrics.time, ageMsMax: 60_000 } }],
  ])('are for data points those of their own pipeline file: %s', (_what, policy, change) => {
    expect(applicationRules(policy, applicationDefaults).otel_metrics).toEqual({ ...metrics, ...change });
  });

  // The table drops rows older than its TTL, with any windows of a policy.
  it('never let a span be older than the retention of the deployment', () => {
    const kept = { ...applicationDefaults, traces: { ...traces, time: { ...time, ttlSeconds: 7 * 86_400 } } };
    const ageOf = (policy: ApplicationPolicy | undefined): number | undefined =>
      applicationRules(policy, kept).traces.time.ageMsMax;
    expect(ageOf(undefined)).toBe(7 * dayMs);
    expect(ageOf({ age_seconds_max: null })).toBe(7 * dayMs);
    expect(ageOf({ age_seconds_max: 999_999 })).toBe(7 * dayMs);
    expect(ageOf({ age_seconds_max: 60 })).toBe(60_000);
    expect(ageOf({ retention_days: 60 })).toBe(7 * dayMs);
    expect(ageOf({ retention_days: 6 })).toBe(6 * dayMs);
    expect(applicationRules({}, kept).traces.time.ttlSeconds).toBe(7 * 86_400);
  });
});

describe('the directory', () => {
  it('follows a policy that is set, changed and removed, by the watch and by a whole reading', async () => {
    const records = createMemoryBucket();
    const columns = createMemoryBucket();
    const directory = startOn(records, columns);
    const write = createRecordWriter(records);
    await write.source(1, token);
    await write.application(2, token);
    records.snapshot();
    columns.snapshot();
    const pointsMax = (): number | undefined => directory.source(1)?.rules.pointsMax;
    const spans = () => {
      const { deduplicate, fillDimensions, rules } = directory.application(token) ?? {};
      return [rules?.traces.limits.itemsMax, deduplicate, fillDimensions];
    };
    const plain = [applicationDefaults.traces.limits.itemsMax, true, true];
    expect([pointsMax(), spans()]).toEqual([sourceDefaults.pointsMax, plain]);
    await write.sourcePolicy(1, { points_max: 9 });
    await write.applicationPolicy(2, { spans_max: 8, deduplicate: false, fill_dimensions: false });
    records.tell();
    expect([pointsMax(), spans()]).toEqual([9, [8, false, false]]);
    await records.delete(recordKeys.sourcePolicy(1));
    await records.delete(recordKeys.applicationPolicy(2));
    records.tell();
    expect([pointsMax(), spans()]).toEqual([sourceDefaults.pointsMax, plain]);
    await write.sourcePolicy(1, { points_max: 9 });
    await write.applicationPolicy(2, { spans_max: 8 });
    records.tell();
    await records.delete(recordKeys.sourcePolicy(1));
    await records.delete(recordKeys.applicationPolicy(2));
    records.snapshot();
    expect([pointsMax(), spans()]).toEqual([sourceDefaults.pointsMax, plain]);
  });

  it('keeps the last values when a policy does not parse', async () => {
    const records = createMemoryBucket();
    const columns = createMemoryBucket();
    const invalid: string[] = [];
    const directory = startOn(records, columns, (key) => invalid.push(key));
    const write = createRecordWriter(records);
    await write.source(1, token);
    await write.sourcePolicy(1, { points_max: 9 });
    records.snapshot();
    await records.put(recordKeys.sourcePolicy(1), { points_max: 'many' });
    records.tell();
    expect([directory.source(1)?.rules.pointsMax, invalid]).toEqual([9, [recordKeys.sourcePolicy(1)]]);
  });

  it('takes a purged data id for a disabled one, and sees its purge in the same lookup', async () => {
    const records = createMemoryBucket();
    const columns = createMemoryBucket();
    const directory = startOn(records, columns);
    const write = createRecordWriter(records);
    records.snapshot();
    columns.snapshot();
    await write.source(1, token);
    await write.purge(1, 'table');
    expect((await directory.authorize(1, token))?.isEnabled).toBe(false);
    await write.source(2, token);
    records.tell();
    expect(directory.source(2)?.isEnabled).toBe(true);
    await write.purge(2, 'table');
    records.tell();
    expect(directory.source(2)?.isEnabled).toBe(false);
  });

  // A deployment has thousands of data ids, and each push looks one up: a start must not take long, nor a change touch the others.
  it('reads 10,000 data ids in seconds, and rebuilds only the one that changes', {
    timeout: 60_000,
  }, async () => {
    const records = createMemoryBucket();
    const columns = createMemoryBucket();
    const write = createRecordWriter(records);
    const ids = Array.from({ length: 10_000 }, (_, index) => index + 1);
    for (const id of ids) {
      await write.source(id, token);
      await write.sourcePolicy(id, { points_max: id });
      await columns.put(`columns.${id}`, {
        mon_data_id: id,
        metrics: [{ name: 'a', column: 'a', first_seen: 1, last_seen: 1 }],
        dimensions: [],
      });
    }
    const directory = startOn(records, columns);
    // What the process itself needs: others on the machine must not decide.
    const before = process.cpuUsage();
    records.snapshot();
    columns.snapshot();
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5);
    expect(directory.source(10_000)?.rules.pointsMax).toBe(10_000);
    const sources = ids.map((id) => directory.source(id));
    await write.sourcePolicy(77, { points_max: 1 });
    records.tell();
    const changed = ids.filter((id, index) => directory.source(id) !== sources[index]);
    expect([changed, directory.source(77)?.rules.pointsMax]).toEqual([[77], 1]);
    expect(directory.source(77)?.metrics).toBe(sources[76]?.metrics);
  });
});
