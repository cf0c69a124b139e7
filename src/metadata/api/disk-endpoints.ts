import { z } from 'zod';
import { csvOf } from '../../model/csv.ts';
import { Fault } from '../../model/fault.ts';
import { pipelines } from '../../model/signals.ts';
import { dayMs, dayText } from '../../model/time.ts';
import type { DiskUse, StoreUse, Volume } from '../disk/disk-use.ts';
import { bytesPerDay } from '../disk/forecast.ts';
import { growingOf, type Stored } from '../disk/stored.ts';
import type { Records } from '../records/store.ts';
import { bizOfOwner } from '../usage.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { bizQuery, formatQuery, ownerOrBizOf, ownerQuery, refuseUnknownOwner } from './queries.ts';

const count = z.int();

const volume = z
  .strictObject({
    disk: z.string().meta({
      description:
        'data: the disk of the data folder, which the stores share; else the name of the store on it',
    }),
    stores: z.array(z.string()),
    bytes: count.meta({ description: 'Of the tables' }),
    bytes_per_day: count.meta({ description: 'What a day adds: the bytes of the last whole day' }),
    free_bytes: count.nullable().meta({ description: 'null: not known' }),
    total_bytes: count.nullable().meta({ description: 'null: not known' }),
    days_left: z.number().nullable().meta({
      description:
        'Days until the disk is full at the growth of the last day, retention included; 3650 for longer. null: not known',
    }),
    why: z.string().meta({ description: 'Why there is no forecast; empty where there is one' }),
  })
  .meta({ id: 'DiskVolume' });

const diskRow = z
  .strictObject({
    store: z.string(),
    mon_biz_id: count.nullable().meta({ description: 'null for a day, and for owners without a record' }),
    pipeline: z
      .enum(pipelines)
      .nullable()
      .meta({ description: 'null for a day, and for tables without an owner' }),
    data_id: count.meta({ description: '0 for an application, a day, and tables without an owner' }),
    app_id: count.meta({ description: '0 for a data id, a day, and tables without an owner' }),
    day: z.string().nullable().meta({ description: 'A day of UTC; null for an owner, and for other rows' }),
    days: count.meta({ description: 'Days with rows' }),
    rows: count,
    bytes: count.meta({ description: 'On the disk; of items of applications, their share of the day' }),
    bytes_per_day: count.nullable().meta({ description: 'null for a day' }),
    retention_days: z.number().nullable().meta({ description: 'null: kept for ever, and for a day' }),
  })
  .meta({ id: 'DiskUsage' });

type DiskRow = z.output<typeof diskRow>;

const shownVolume = ({ disk, stores, bytes, bytesPerDay: perDay, space, daysLeft, why }: Volume) => ({
  ...{ disk, why, stores: [...stores] },
  bytes: Math.round(bytes),
  bytes_per_day: Math.round(perDay),
  free_bytes: space?.freeBytes ?? null,
  total_bytes: space?.totalBytes ?? null,
  days_left: daysLeft === undefined ? null : Math.floor(daysLeft * 10) / 10,
});

type Day = Stored['days'][number];

const sumsOf = (days: readonly Day[]) => ({
  days: new Set(days.flatMap(({ day }) => (day === undefined ? [] : [day]))).size,
  rows: Math.round(days.reduce((sum, { rows }) => sum + rows, 0)),
  bytes: Math.round(days.reduce((sum, { bytes }) => sum + bytes, 0)),
});

/** The shortest of several tables says nothing about the others. */
const retentionOf = (stored: readonly Stored[]): number | null => {
  const [first, ...others] = stored;
  return others.some(({ retentionDays }) => retentionDays !== first?.retentionDays)
    ? null
    : (first?.retentionDays ?? null);
};

const byOwner = (records: Records, { store, stored }: StoreUse, today: number): DiskRow[] =>
  [
    ...Map.groupBy(stored, ({ pipeline, dataId, appId }) => `${pipeline} ${dataId} ${appId}`).values(),
  ].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { dataId, appId } = first;
    return {
      store,
      ...{ mon_biz_id: bizOfOwner(records, first), pipeline: first.pipeline ?? null },
      ...{ data_id: dataId, app_id: appId, day: null },
      ...sumsOf(group.flatMap(({ days }) => days)),
      bytes_per_day: Math.round(group.reduce((sum, each) => sum + bytesPerDay(growingOf(each), today), 0)),
      retention_days: retentionOf(group),
    };
  });

const byDay = ({ store, stored }: StoreUse): DiskRow[] =>
  [
    ...Map.groupBy(
      stored.flatMap(({ days }) => days),
      ({ day }) => day,
    ),
  ].map(([day, days]) => ({
    ...{ store, mon_biz_id: null, pipeline: null, data_id: 0, app_id: 0 },
    day: day === undefined ? null : dayText(day),
    ...sumsOf(days),
    ...{ bytes_per_day: null, retention_days: null },
  }));

const diskQuery = z.strictObject({
  ...ownerQuery,
  by: z
    .enum(['owner', 'day'], 'must be owner or day')
    .default('owner')
    .meta({ description: 'One row per data id or application, or per day of UTC, of each store' }),
  mon_biz_id: bizQuery,
  format: formatQuery,
});

type DiskQuery = z.output<typeof diskQuery>;

const columns = diskRow.keyof().options;

/** Without the rows of other owners than those asked for. */
const asked = (records: Records, query: DiskQuery, { stores }: DiskUse): StoreUse[] => {
  const { dataId, appId, biz } = ownerOrBizOf(query);
  const isAsked = (stored: Stored): boolean => {
    if (biz !== undefined) return bizOfOwner(records, stored) === biz;
    if (dataId !== undefined) return stored.dataId === dataId;
    return appId === undefined || stored.appId === appId;
  };
  return stores.map((store) => ({ ...store, stored: store.stored.filter(isAsked) }));
};

/** A table of CSV has no place that says that rows are missing. */
const incomplete = (missing: readonly { readonly store: string; readonly why: string }[]): Fault =>
  new Fault(
    'transient',
    'store_unavailable',
    `rows are missing: ${missing.map(({ store, why }) => `${store}: ${why}`).join('; ')}`,
  );

/** What owners have on the disks, and when those are full (docs/usage.md). */
export const diskEndpoint = ({ inspected }: ApiDeps): Endpoint =>
  endpoint({
    method: 'GET',
    path: '/api/v1/usage/disk',
    tag: 'Outcomes',
    summary: 'Bytes on the disks by owner or day, what a day adds, and when each disk is full',
    role: 'viewer',
    namesRecord: true,
    query: diskQuery,
    hasCsv: true,
    answer: z.strictObject({
      at: z.number().meta({ description: 'Unix seconds: when it was read, at most a minute ago' }),
      volumes: z.array(volume),
      items: z.array(diskRow),
      missing: z
        .array(z.strictObject({ store: z.string(), why: z.string() }))
        .meta({ description: 'Stores that did not answer: their rows are not in `items`' }),
    }),
    run: async ({ query, records }) => {
      await refuseUnknownOwner(records, query);
      const use = await inspected.disk.read();
      const today = Math.floor(use.at / dayMs);
      const stores = asked(records, query, use);
      const items =
        query.by === 'day'
          ? stores.flatMap(byDay).toSorted((a, b) => (a.day ?? '').localeCompare(b.day ?? ''))
          : stores.flatMap((store) => byOwner(records, store, today)).toSorted((a, b) => b.bytes - a.bytes);
      const missing = use.stores.flatMap(({ store, why }) => (why === '' ? [] : [{ store, why }]));
      return {
        body: { at: use.at / 1000, volumes: use.volumes.map(shownVolume), items, missing },
        // The disks are rows of another kind.
        csv: () => {
          if (missing.length > 0) throw incomplete(missing);
          return csvOf(columns, items);
        },
      };
    },
  });
