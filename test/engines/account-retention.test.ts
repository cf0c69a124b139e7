import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { compareStores } from '../../src/account/store-compare.ts';
import { keptFromDay } from '../../src/directory/policies.ts';
import { newApplication } from '../../src/metadata/records/values.ts';
import { type PolicyDefaults, setApplicationPolicy } from '../../src/metadata/reports/policies.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { removeExpiredItems } from '../../src/stores/clickhouse/item-days.ts';
import { spansTable } from '../../src/stores/clickhouse/item-tables.ts';
import { createMemoryRecords } from '../support/metadata/memory-records.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

const appId = 4;
const today = Math.floor(Date.now() / 86_400_000);
const defaults: PolicyDefaults = {
  source: {
    ...{ ahead_seconds_max: 3600, age_seconds_max: null, points_max: 1, metric_columns_max: 1 },
    ...{ dimension_columns_max: 1, retention_days: null },
  },
  application: { traces: {}, logs: {}, otel_metrics: {} },
};

let engines: TestEngines;
let clickhouse: Clickhouse;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});
beforeEach(async () => {
  for (const table of ['otel_traces', 'ingest_outcomes', 'ingest_days'])
    await clickhouse.run(`TRUNCATE TABLE otel.${table}`);
});

/** Ten spans of an event day, which arrived on another day. */
const store = (day: number, base: number, arrivedOn: number): Promise<void> =>
  clickhouse.run(`
    INSERT INTO otel.otel_traces (Timestamp, TraceId, SpanId, ServiceName, SpanName, uid, AppId, BizId, ArrivedAt)
    SELECT toDateTime64(${day} * 86400 + 3600, 9), 'a', 'b', 's', 'n', ${base} + number, ${appId}, 2,
      toDateTime64(${arrivedOn} * 86400 + 3600, 3) FROM numbers(10)`);

const record = (day: number, base: number, arrivedOn: number): Promise<void> =>
  clickhouse.run(`
    INSERT INTO otel.ingest_outcomes (pipeline, data_id, app_id, base, first, ordinal, redrive, minute, received, outcomes,
      at, letters, letter_items, days, day_rows, day_sums, book)
    VALUES ('traces', 0, ${appId}, ${base}, 0, -1, 0, toDateTime(${arrivedOn} * 86400 + 3600, 'UTC'), 10, map('stored', 10),
      now64(3), [], [], [${day}], [10], [45], 1)`);

const compare = async (
  keptFrom: (owner: number) => number = () => 0,
  aheadMsMax: number | undefined = 3_600_000,
): Promise<unknown[]> => {
  const { differences } = await compareStores(
    {
      ...{ clickhouse, points: [], isLeftOut: () => false, caughtUp: async () => () => true },
      keptFrom: (_, owner) => keptFrom(owner),
      aheadMsMax: () => aheadMsMax,
      pause: async () => {},
    },
    { pipeline: 'traces' },
  );
  return differences.map(({ day, kind, items }) => [(day ?? 0) - today, kind, items]);
};

const rowsLeft = async (): Promise<number | undefined> => {
  const [row] = await clickhouse.rows(
    z.object({ n: z.coerce.number() }),
    'SELECT count() AS n FROM otel.otel_traces',
  );
  return row?.n;
};

describe('items that a retention removed, as it was asked to', () => {
  it('are not missed once the retention is longer, or off; those of later days are', async () => {
    const { records } = createMemoryRecords();
    const request = { mon_biz_id: 2, app_name: 'shop', max_rate: 0, operator: 'ann' };
    await records.applications.create(appId, newApplication(appId, 'a'.repeat(32), request));
    const keep = (days: number | 'off') =>
      setApplicationPolicy(records, defaults, appId, { retention_days: days }, undefined);
    const keptFrom = (owner: number): number =>
      keptFromDay(records.applicationPolicies.known(owner)?.value, Date.now());
    for (const [index, day] of [today - 10, today - 3].entries()) {
      await store(day, 1000 * (index + 1), day);
      await record(day, 1000 * (index + 1), day);
    }
    await keep(7);
    await removeExpiredItems(clickhouse, spansTable, new Map([[appId, 7]]), Date.now(), async () => [7]);
    await until('the old spans are gone', async () => (await rowsLeft()) === 10);
    expect(await compare(keptFrom)).toEqual([]);
    for (const days of ['off', 30, 20, 'off'] as const) {
      await keep(days);
      expect(await compare(keptFrom)).toEqual([]);
    }
    await clickhouse.run('TRUNCATE TABLE otel.otel_traces');
    expect(await compare(keptFrom)).toEqual([[-3, 'missing_in_the_store', 10]]);
  });
});

/** What a line that named ten rows has left where its record has expired. */
const named = (day: number, base: number): Promise<void> =>
  clickhouse.run(
    `INSERT INTO otel.ingest_days VALUES ('traces', 0, ${appId}, ${day}, 10, ${45 + 10 * base})`,
  );

describe('items dated ahead of their arrival', () => {
  const sizes = { bounded: 3_600_000, wide: 120 * 86_400_000 };

  it('are not unrecorded when their record expires before their day has come, nor on that day', async () => {
    for (const [base, day] of [
      [1000, today + 60],
      [2000, today],
    ] as const) {
      await store(day, base, today - 92);
      await record(day, base, today - 92);
      await named(day, base);
    }
    await clickhouse.run('OPTIMIZE TABLE otel.ingest_outcomes FINAL');
    expect(await compare(undefined, sizes.wide)).toEqual([]);
  });

  it('are unrecorded where no line has ever named them, beside others whose record has expired, and on days near their arrival', async () => {
    await store(today + 60, 1000, today - 92);
    await named(today + 60, 1000);
    await store(today + 60, 2000, today);
    await store(today, 3000, today);
    await named(today, 3000);
    expect(await compare(undefined, sizes.bounded)).toEqual([
      [0, 'unrecorded', 10],
      [60, 'unrecorded', 10],
    ]);
  });
});
