import { z } from 'zod';
import { csvName, csvOf } from '../../model/csv.ts';
import { Fault } from '../../model/fault.ts';
import { dayMs, dayText } from '../../model/time.ts';
import { diskAnswer, diskRow } from '../answers/disk.ts';
import type { DiskUse, StoreUse, Volume } from '../disk/disk-use.ts';
import { bytesPerDay } from '../disk/forecast.ts';
import { growingOf, type Stored } from '../disk/stored.ts';
import type { Records } from '../records/store.ts';
import { bizOfOwner } from '../usage.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { bizQuery, formatQuery, ownerOrBizOf, ownerQuery, refuseUnknownOwner } from './queries.ts';

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
    answer: diskAnswer,
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
        csv: {
          name: csvName('disk', use.at / 1000),
          text: () => {
            if (missing.length > 0) throw incomplete(missing);
            return csvOf(columns, items);
          },
        },
      };
    },
  });
