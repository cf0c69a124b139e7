import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ApplicationPolicy } from '../../../../src/directory/policies.ts';
import type { Records } from '../../../../src/metadata/records/store.ts';
import { startItemRetention } from '../../../../src/metadata/retention/item-retention.ts';
import { Fault } from '../../../../src/model/fault.ts';
import type { Clickhouse } from '../../../../src/stores/clickhouse/client.ts';
import { itemTables } from '../../../../src/stores/clickhouse/item-tables.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const appId = 2;
const ofWeek: ApplicationPolicy = { retention_days: 7 };

/** The deletions of one look at a ClickHouse whose items of the application are all older than a week, by a copy that says a week. */
const lookOnce = async (
  get: Records['applicationPolicies']['get'],
  askLeader: Records['bucket']['askLeader'] = async () => {},
  apps = [appId],
): Promise<string[]> => {
  const deletions: string[] = [];
  const clickhouse: Pick<Clickhouse, 'rows' | 'run'> = {
    rows: async (schema, sql) =>
      sql.includes('system.mutations') ? [] : [schema.parse({ day: '20261101', apps, items: 1, parts: [] })],
    run: async (sql) => void deletions.push(sql),
  };
  const { applicationPolicies, bucket } = createMemoryRecords().records;
  const copy = { ...applicationPolicies, list: () => apps.map((id) => ({ id, value: ofWeek })), get };
  const retention = startItemRetention({
    clickhouse: clickhouse as Clickhouse,
    records: { applicationPolicies: copy, bucket: { ...bucket, askLeader } },
    now: Date.now,
    log: createLog('test', 'silent'),
  });
  await vi.advanceTimersByTimeAsync(0);
  await retention.stop();
  return deletions;
};

const policy = (value: ApplicationPolicy) => async () => ({ value, revision: 2 });

it('items are deleted by the policy that KV has, never by that of before this process lost NATS', async () => {
  expect(await lookOnce(policy({ retention_days: null }))).toEqual([]);
  expect(await lookOnce(policy({ retention_days: 30 }))).toEqual([]);
  expect(await lookOnce(async () => undefined)).toEqual([]);
  const away = new Fault('transient', 'nats_unavailable', 'no answer');
  expect(await lookOnce(() => Promise.reject(away))).toEqual([]);
  expect(await lookOnce(policy(ofWeek))).toHaveLength(itemTables.length);
});

it('items are not deleted by the policy of a NATS server that is cut off from its cluster', async () => {
  const away = new Fault('transient', 'nats_unavailable', 'no answer');
  expect(await lookOnce(policy(ofWeek), () => Promise.reject(away))).toEqual([]);
});

it('a deletion of the items of many applications reads at most 100 policies at once, and none behind a changed one', async () => {
  const apps = Array.from({ length: 1_000 }, (_, index) => index + 1);
  let open = 0;
  let most = 0;
  let reads = 0;
  let asked = 0;
  const read = (days: number) => async () => {
    reads++;
    most = Math.max(most, ++open);
    await Promise.resolve();
    open--;
    return { value: { retention_days: days }, revision: 2 };
  };
  const ask = async (): Promise<void> => void asked++;
  expect(await lookOnce(read(7), ask, apps)).toHaveLength(itemTables.length);
  expect({ most, reads, asked }).toEqual({
    most: 100,
    reads: 1_000 * itemTables.length,
    asked: 10 * itemTables.length,
  });
  reads = 0;
  expect(await lookOnce(read(8), ask, apps)).toEqual([]);
  expect(reads).toBe(100 * itemTables.length);
});
