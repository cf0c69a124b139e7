import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Fault } from '../../src/model/fault.ts';
import { dayMs } from '../../src/model/time.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import {
  type DaysNow,
  type KeptDays,
  readItemDays,
  removeExpiredItems,
} from '../../src/stores/clickhouse/item-days.ts';
import {
  dataPointTables,
  type ItemTable,
  itemTables,
  logsTable,
  spansTable,
} from '../../src/stores/clickhouse/item-tables.ts';
import { migrate } from '../../src/stores/clickhouse/migrate.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { waitFor } from '../support/wait.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = join(root, 'schemas/sql/clickhouse');
const log = createLog('test', 'silent');
const dataPoints = dataPointTables.map(({ name }) => name);
const tables = ['otel_traces', 'otel_traces_trace_id_ts', 'otel_logs', ...dataPoints];

let engines: TestEngines;
let clickhouse: Clickhouse;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});
beforeEach(async () => {
  await clickhouse.run('DROP DATABASE IF EXISTS otel SYNC');
});

const run = (traces?: number, logs = traces, otel_metrics = traces) =>
  migrate({ clickhouse, folder, retentionDays: { traces, logs, otel_metrics }, log });
/** By policies that are still those of `kept`. */
const removeExpired = (table: ItemTable, kept: KeptDays, nowMs = Date.now()) =>
  removeExpiredItems(clickhouse, table, kept, nowMs, async (apps) => apps.map((appId) => kept.get(appId)));
const deletions = async (): Promise<number | undefined> => {
  const [row] = await clickhouse.rows(
    z.object({ n: z.coerce.number() }),
    `SELECT count() AS n FROM system.mutations WHERE database = 'otel' AND command LIKE '%DELETE%'`,
  );
  return row?.n;
};
const changedBy = async (...days: Parameters<typeof run>): Promise<string[]> =>
  (await run(...days)).ttlChanged.map(({ table }) => table);

const ttls = async (): Promise<string[]> => {
  const rows = await clickhouse.rows(
    z.object({ ttl: z.string() }),
    `SELECT extract(engine_full, ' TTL (.+) SETTINGS') AS ttl FROM system.tables
     WHERE database = 'otel' AND name LIKE 'otel_%' AND name NOT LIKE '%_mv' AND engine != 'View' ORDER BY name`,
  );
  return rows.map(({ ttl }) => ttl);
};

/** Without a TTL; of the tables in the order of their names. */
const none = tables.map(() => '');

const ttlsOf = (days: number, logDays = days, pointDays = days): string[] => [
  `toDateTime(Timestamp) + toIntervalDay(${logDays})`,
  ...dataPoints.map(() => `toDateTime(TimeUnix) + toIntervalDay(${pointDays})`),
  `toDateTime(Timestamp) + toIntervalDay(${days})`,
  `toDateTime(Start) + toIntervalDay(${days})`,
];

/** Rows by the days that they were old when they were stored. */
const daysStored = async (): Promise<number[]> => {
  const rows = await clickhouse.rows(
    z.object({ days: z.coerce.number() }),
    'SELECT uid AS days FROM otel.otel_traces ORDER BY days',
  );
  return rows.map(({ days }) => days);
};

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Whole days before today. */
const ageOf = (day: string): number => Math.floor(Date.now() / dayMs) - Date.parse(day) / dayMs;

/** One item of each application at noon of today and of each of the days before. */
const storeDays = (
  apps: readonly number[],
  days: number,
  { name, time }: ItemTable = spansTable,
): Promise<void> =>
  clickhouse.run(
    `INSERT INTO otel.${name} (${time}, uid, AppId)
     SELECT toDateTime64(today() - number, 9, 'UTC') + toIntervalHour(12), app * 100 + number, app
     FROM numbers(${days}) ARRAY JOIN [${apps.join()}]::Array(UInt64) AS app`,
  );

describe('the retention of spans', () => {
  it('is the TTL of their tables, which a migration changes only where it is another', async () => {
    expect(await changedBy()).toEqual([]);
    expect(await ttls()).toEqual(none);
    expect(await changedBy(30)).toEqual(tables);
    expect(await ttls()).toEqual(ttlsOf(30));
    expect(await changedBy(30)).toEqual([]);
    await clickhouse.run('ALTER TABLE otel.otel_traces MODIFY TTL toDateTime(Timestamp) + toIntervalHour(5)');
    expect(await changedBy(30)).toEqual(['otel_traces']);
    expect(await changedBy(7)).toEqual(tables);
    expect(await ttls()).toEqual(ttlsOf(7));
    // Each signal has its own.
    expect((await run(7, 3)).ttlChanged).toEqual([{ table: 'otel_logs', days: 3 }]);
    expect(await ttls()).toEqual(ttlsOf(7, 3));
    expect((await run(7, 3, 2)).ttlChanged).toEqual(dataPoints.map((table) => ({ table, days: 2 })));
    expect(await ttls()).toEqual(ttlsOf(7, 3, 2));
  });

  it('stays when a later migration, from another folder of pipelines, gives none', async () => {
    await run(7);
    expect(await changedBy()).toEqual([]);
    expect(await ttls()).toEqual(ttlsOf(7));
  });

  it.each([spansTable, logsTable, dataPointTables[1]])(
    'of an application removes its days of $name that ended longer ago, and no item of another application or signal',
    async (table) => {
      await run();
      for (const each of itemTables) await storeDays([1, 2, 3], 10, each);
      const kept = new Map([
        [1, 3],
        [2, 8],
      ]);
      const removed = await removeExpired(table, kept);
      expect(removed).toEqual({ days: 6, items: 7 });
      await waitFor('the deletions are done', 60_000, async () => {
        const again = await removeExpired(table, kept);
        return again !== undefined && again.days === 0;
      });
      const stored = await readItemDays(clickhouse, table, {});
      const agesOf = (appId: number): number[] =>
        stored.flatMap((each) => (each.appId === appId ? [ageOf(each.day)] : [])).toSorted((a, b) => a - b);
      expect([1, 2, 3].map(agesOf)).toEqual([range(4), range(9), range(10)]);
      expect(stored.every(({ rows, bytes }) => rows === 1 && bytes > 0)).toBe(true);
      for (const other of itemTables)
        if (other !== table) expect(await readItemDays(clickhouse, other, {})).toHaveLength(30);
    },
  );

  it('of an application is what its policy says right before a deletion, and not what this process read before', async () => {
    await run();
    await storeDays([1, 2], 10);
    const kept = new Map([
      [1, 3],
      [2, 8],
    ]);
    const remove = (now: DaysNow) => removeExpiredItems(clickhouse, spansTable, kept, Date.now(), now);
    const away = new Fault('transient', 'nats_unavailable', 'no answer from NATS');
    expect(await remove(async (apps) => apps.map(() => undefined))).toBeUndefined();
    expect(
      await remove(async (apps) => apps.map((appId) => (appId === 1 ? 30 : kept.get(appId)))),
    ).toBeUndefined();
    await expect(remove(() => Promise.reject(away))).rejects.toThrow(away);
    expect(await deletions()).toBe(0);
    expect(await readItemDays(clickhouse, spansTable, {})).toHaveLength(20);
  });

  it('of an application takes days without other items at once, and needs no mutation of the whole table for them', async () => {
    await run();
    await storeDays([1], 60);
    await storeDays([2], 5);
    expect(await removeExpired(spansTable, new Map([[1, 9]]))).toEqual({ days: 50, items: 50 });
    expect(await deletions()).toBe(0);
    expect(await readItemDays(clickhouse, spansTable, { appId: 1 })).toHaveLength(10);
    expect(await readItemDays(clickhouse, spansTable, { appId: 2 })).toHaveLength(5);
  });

  it('of an application keeps the items of another one in any part of its days', async () => {
    await run();
    await storeDays([1], 10);
    await storeDays([2], 8);
    await storeDays([1, 2], 6);
    // Days 9 and 8 have app 1 alone; days 4 to 7 have both, in parts of their own or in one.
    expect(await removeExpired(spansTable, new Map([[1, 3]]))).toEqual({ days: 6, items: 8 });
    await waitFor('the deletions are done', 60_000, async () => {
      const stored = await readItemDays(clickhouse, spansTable, { appId: 1 });
      return stored.length === 4;
    });
    const others = await readItemDays(clickhouse, spansTable, { appId: 2 });
    expect(others.map(({ rows }) => rows).toSorted((x, y) => x - y)).toEqual([1, 1, 2, 2, 2, 2, 2, 2]);
  });

  it('of an application removes days of its own behind older days that it shares, in one call', async () => {
    await run();
    await storeDays([1, 2], 30);
    // Days 11 to 29 have app 1 beside app 2, days 4 to 10 have it alone.
    await clickhouse.run('DELETE FROM otel.otel_traces WHERE AppId = 2 AND toDate(Timestamp) > today() - 11');
    await clickhouse.run('OPTIMIZE TABLE otel.otel_traces FINAL');
    const kept = new Map([
      [1, 3],
      [2, 60],
    ]);
    expect(await removeExpired(spansTable, kept)).toEqual({ days: 26, items: 26 });
    await waitFor('the deletions are done', 60_000, async () => {
      const stored = await readItemDays(clickhouse, spansTable, { appId: 1 });
      return stored.length === 4;
    });
    expect(await readItemDays(clickhouse, spansTable, { appId: 2 })).toHaveLength(19);
  });

  it('of an application stops before the first day that holds items of another policy', async () => {
    await run();
    await storeDays([1], 10);
    await storeDays([2], 6);
    const kept = new Map([
      [1, 2],
      [2, 2],
    ]);
    const removed = await removeExpiredItems(clickhouse, spansTable, kept, Date.now(), async (apps) =>
      apps.map((appId) => (appId === 2 ? 30 : kept.get(appId))),
    );
    expect(removed).toEqual({ days: 4, items: 4 });
    expect(await readItemDays(clickhouse, spansTable, {})).toHaveLength(12);
  });

  it('of an application goes by the clock that is behind, and does nothing without one', async () => {
    await run();
    await storeDays([1], 10);
    const longAgo = Date.now() - 30 * dayMs;
    expect(await removeExpired(spansTable, new Map([[1, 3]]), longAgo)).toEqual({
      days: 0,
      items: 0,
    });
    expect(await removeExpired(spansTable, new Map())).toEqual({
      days: 0,
      items: 0,
    });
  });

  it.each([20_000, 36_500])(
    'of %d days removes nothing of today, by the TTL or of an application',
    async (days) => {
      await run(days);
      await storeDays([1, 2], 3);
      await clickhouse.run('OPTIMIZE TABLE otel.otel_traces FINAL');
      const nothing = { days: 0, items: 0 };
      expect(await removeExpired(spansTable, new Map([[1, days]]))).toEqual(nothing);
      const beside = new Map([
        [1, days],
        [2, 1],
      ]);
      expect(await removeExpired(spansTable, beside)).toEqual({
        days: 1,
        items: 1,
      });
      const stored = await readItemDays(clickhouse, spansTable, { appId: 1 });
      expect(stored.map(({ day }) => ageOf(day)).toSorted((x, y) => x - y)).toEqual(range(3));
      expect(await changedBy(days)).toEqual([]);
    },
  );

  it('removes the stored rows that are older, and nothing else', async () => {
    await run();
    await clickhouse.run(
      `INSERT INTO otel.otel_traces (Timestamp, TraceId, uid)
       SELECT now64(9) - toIntervalDay(number), toString(number), number FROM numbers(10)`,
    );
    await run(5);
    await waitFor('the old days are gone', 60_000, async () => {
      const days = await daysStored();
      if (days.some((day) => day > 6)) throw new Error(days.join());
      return true;
    });
    expect(await daysStored()).toEqual(expect.arrayContaining([0, 1, 2, 3, 4]));
  });

  it('follows pipelines/traces.yaml in `tidemark migrate`, which prints the change', async () => {
    const pipelines = join(await tempFolder(), 'pipelines');
    cpSync(join(root, 'pipelines'), pipelines, { recursive: true });
    const file = join(pipelines, 'traces.yaml');
    const write = (days: string): void =>
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replace(/retention_days: .*/, `retention_days: ${days}`),
      );
    const tidemark = (...args: string[]) =>
      promisify(execFile)(process.execPath, [join(root, 'src/main.ts'), 'migrate', ...args], {
        env: {
          PATH: process.env['PATH'],
          TIDEMARK_CLICKHOUSE_URL: engines.clickhouse.url,
          TIDEMARK_PIPELINES: pipelines,
        },
      });
    write('12');
    expect((await tidemark()).stdout).toMatch(
      /otel_traces now keeps its rows for 12 days\notel_traces_trace_id_ts now keeps its rows for 12 days\nschema version \d+\n$/,
    );
    expect(await ttls()).toEqual([...none.slice(2), ...ttlsOf(12).slice(-2)]);
    write('off');
    expect(JSON.parse((await tidemark('--json')).stdout)).toMatchObject({ ttl_changed: [] });
    write('no');
    await expect(tidemark()).rejects.toMatchObject({
      stderr: expect.stringContaining('/transfer/retention_days'),
    });
    expect(await ttls()).toEqual([...none.slice(2), ...ttlsOf(12).slice(-2)]);
  });
});
