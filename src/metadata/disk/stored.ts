import { type ApplicationPolicy, retentionDaysOf } from '../../directory/policies.ts';
import { type ApplicationPipeline, applicationPipelines, type Pipeline } from '../../model/signals.ts';
import { dayMs } from '../../model/time.ts';
import type { UsageOwner } from '../../outcomes/usage.ts';
import type { Clickhouse } from '../../stores/clickhouse/client.ts';
import { type ItemDay, readItemDays } from '../../stores/clickhouse/item-days.ts';
import { itemTablesOf } from '../../stores/clickhouse/item-tables.ts';
import type { RetentionDays } from '../../stores/clickhouse/migrate-ttl.ts';
import { readTableDays as readClickhouseTables } from '../../stores/clickhouse/table-days.ts';
import type { QuestdbSql } from '../../stores/questdb/sql.ts';
import { readTableDays as readQuestdbTables } from '../../stores/questdb/table-days.ts';
import type { Records } from '../records/store.ts';
import { dataIdOfTableId } from '../records/values.ts';
import type { DayBytes, Growing } from './forecast.ts';

/** What one store has of one owner, or of none: data id and application 0. */
export type Stored = UsageOwner & {
  /** The signal of its rows; undefined for tables without an owner. */
  readonly pipeline: Pipeline | undefined;
  /** Undefined: for ever. */
  readonly retentionDays: number | undefined;
  /** Days since 1970; undefined for rows of no known day. */
  readonly days: readonly {
    readonly day: number | undefined;
    readonly rows: number;
    readonly bytes: number;
  }[];
};

/** Rows without a day do not grow, and are kept. */
export const growingOf = ({ retentionDays, days }: Stored): Growing => ({
  retentionDays,
  days: days.flatMap(({ day, bytes }): DayBytes[] => (day === undefined ? [] : [{ day, bytes }])),
});

const dayOf = (text: string): number | undefined => {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms / dayMs;
};

/** The points of an instance, by table. Throws the Faults of QuestDB. */
export const readStoredPoints = async (sql: Pick<QuestdbSql, 'exec'>): Promise<Stored[]> =>
  (await readQuestdbTables(sql)).map(({ table, retentionDays, days }) => ({
    pipeline: 'metrics',
    dataId: dataIdOfTableId(table) ?? 0,
    appId: 0,
    retentionDays,
    days: days.map((each) => ({ ...each, day: dayOf(each.day) })),
  }));

/** The days of a partition; a month is divided evenly over its days up to today. */
const daysOfPartition = (partition: string, today: number): (number | undefined)[] => {
  const [, year, month] = /^(\d{4})(\d\d)$/.exec(partition) ?? [];
  if (year === undefined) return [dayOf(partition)];
  const first = Date.UTC(Number(year), Number(month) - 1) / dayMs;
  const next = Date.UTC(Number(year), Number(month)) / dayMs;
  const count = Math.max(1, Math.min(next, today + 1) - first);
  return Array.from({ length: count }, (_, index) => first + index);
};

/** A look at the application of every item. */
const timeoutMs = 60_000;

/** Days of one application: one of several tables is one. */
const joinDays = (items: readonly ItemDay[]): Stored['days'] =>
  [...Map.groupBy(items, ({ day }) => day)].map(([day, same]) => ({
    day: dayOf(day),
    rows: same.reduce((sum, { rows }) => sum + rows, 0),
    bytes: same.reduce((sum, { bytes }) => sum + bytes, 0),
  }));

/** The items of one signal by application. */
const readStoredItems = async (
  clickhouse: Clickhouse,
  pipeline: ApplicationPipeline,
  policies: ReadonlyMap<number, ApplicationPolicy>,
  fallback: number | undefined,
): Promise<Stored[]> => {
  const tables = await Promise.all(
    itemTablesOf(pipeline).map((table) => readItemDays(clickhouse, table, { timeoutMs })),
  );
  // The TTL of the tables holds for every application.
  const keptDays = (appId: number): number | undefined => {
    const days = Math.min(retentionDaysOf(policies.get(appId)) ?? Infinity, fallback ?? Infinity);
    return days === Infinity ? undefined : days;
  };
  return [...Map.groupBy(tables.flat(), ({ appId }) => appId)].map(([appId, days]) => ({
    ...{ pipeline, dataId: 0, appId, retentionDays: keptDays(appId) },
    days: joinDays(days),
  }));
};

/** The items of each signal by application, and the tables of the account as owner 0. Throws the Faults of ClickHouse. */
export const readStoredInClickhouse = async (
  clickhouse: Clickhouse,
  records: Pick<Records, 'applicationPolicies'>,
  retentionDays: RetentionDays,
  today: number,
): Promise<Stored[]> => {
  const policies = new Map(records.applicationPolicies.list().map(({ id, value }) => [id, value]));
  const items = await Promise.all(
    applicationPipelines.map((pipeline) =>
      readStoredItems(clickhouse, pipeline, policies, retentionDays[pipeline]),
    ),
  );
  const others = (await readClickhouseTables(clickhouse)).map(
    ({ retentionDays, partitions }): Stored => ({
      pipeline: undefined,
      dataId: 0,
      appId: 0,
      retentionDays,
      days: partitions.flatMap(({ partition, rows, bytes }) => {
        const days = daysOfPartition(partition, today);
        return days.map((day) => ({ day, rows: rows / days.length, bytes: bytes / days.length }));
      }),
    }),
  );
  return [...items.flat(), ...others];
};
