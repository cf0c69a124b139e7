import { z } from 'zod';
import type { CsvCell } from '../model/csv.ts';
import { pipelines } from '../model/signals.ts';
import { bytesText, daysText } from './amounts.ts';
import { adminClient } from './client.ts';
import { type JsonOption, type OwnerOptions, queryText } from './options.ts';
import { nothing, printAnswer, printCsv, printLine, printTable, sayLines } from './output.ts';

const volumeSchema = z.object({
  disk: z.string(),
  stores: z.array(z.string()),
  bytes: z.number(),
  bytes_per_day: z.number(),
  free_bytes: z.number().nullable(),
  total_bytes: z.number().nullable(),
  days_left: z.number().nullable(),
  why: z.string(),
});

const rowSchema = z.object({
  store: z.string(),
  mon_biz_id: z.number().nullable(),
  pipeline: z.enum(pipelines).nullable(),
  data_id: z.number(),
  app_id: z.number(),
  day: z.string().nullable(),
  days: z.number(),
  rows: z.number(),
  bytes: z.number(),
  bytes_per_day: z.number().nullable(),
  retention_days: z.number().nullable(),
});

const diskSchema = z.object({
  at: z.number(),
  volumes: z.array(volumeSchema),
  items: z.array(rowSchema),
  missing: z.array(z.object({ store: z.string(), why: z.string() })).default([]),
});

type Volume = z.output<typeof volumeSchema>;
type Row = z.output<typeof rowSchema>;

/** The API forecasts no further. */
const daysLeftMax = 3_650;

const sizeText = (bytes: number | null): string => (bytes === null ? nothing : bytesText(bytes));

const fullText = ({ days_left: days }: Volume): string => {
  if (days === null) return 'not known';
  if (days >= daysLeftMax) return 'not in 10 years';
  return days < 1 ? 'within a day' : `in ${Math.floor(days)} ${days < 2 ? 'day' : 'days'}`;
};

const printVolumes = (volumes: readonly Volume[]): void => {
  printTable(
    ['DISK', 'STORES', 'STORED', 'PER DAY', 'FREE', 'OF', 'FULL'],
    volumes.map((volume) => [
      volume.disk,
      volume.stores.join(', '),
      bytesText(volume.bytes),
      bytesText(volume.bytes_per_day),
      sizeText(volume.free_bytes),
      sizeText(volume.total_bytes),
      fullText(volume),
    ]),
  );
  for (const { disk, why } of volumes) if (why !== '') printLine(`${disk}: ${why}`);
};

/** Tables without an owner are those of the account, and those that others made. */
const ownerText = ({ data_id: dataId, app_id: appId }: Row): string => {
  if (dataId !== 0) return `data id ${dataId}`;
  return appId === 0 ? 'other tables' : `application ${appId}`;
};

const keptText = ({ retention_days: days, data_id: dataId, app_id: appId }: Row): string => {
  if (dataId === 0 && appId === 0) return nothing;
  return daysText(days);
};

const printOwners = (items: readonly Row[]): void =>
  printTable(
    ['WHOSE', 'PIPELINE', 'BUSINESS', 'STORE', 'STORED', 'PER DAY', 'DAYS', 'ROWS', 'KEPT'],
    items.map((row) => [
      ownerText(row),
      row.pipeline,
      row.mon_biz_id,
      row.store,
      bytesText(row.bytes),
      sizeText(row.bytes_per_day),
      row.days,
      row.rows,
      keptText(row),
    ]),
  );

const printDays = (items: readonly Row[]): void =>
  printTable(
    ['DAY', 'STORE', 'STORED', 'ROWS'],
    items.map((row) => [row.day, row.store, bytesText(row.bytes), row.rows]),
  );

/** Rows as CSV, with the fields of their schema in its order. */
export const printCsvOf = (
  { shape }: z.ZodObject,
  rows: readonly Readonly<Record<string, CsvCell>>[],
): void => {
  const names = Object.keys(shape);
  printCsv(
    names,
    rows.map((row) => names.map((name) => row[name] ?? null)),
  );
};

/** The rows there are; where a store did not answer, the command fails: a program that reads them sees no difference. */
const printDiskCsv = ({ items, missing }: z.output<typeof diskSchema>): void => {
  printCsvOf(rowSchema, items);
  for (const { store, why } of missing) sayLines(`the rows of ${store} are missing: ${why}`);
  if (missing.length > 0) process.exitCode = 1;
};

/** A look at all tables and spans. */
const timeoutMs = 90_000;

/** `tidemark usage --disk`: the disks, and what the owners or the days have on them. */
export const printDiskUsage = async (
  options: JsonOption &
    OwnerOptions & { readonly by: 'owner' | 'day'; readonly biz?: number; readonly csv?: true },
): Promise<void> => {
  const { by, biz, dataId, appId } = options;
  const query = queryText({ by, mon_biz_id: biz, data_id: dataId, app_id: appId });
  const path = `/api/v1/usage/disk${query}`;
  const answered = await adminClient().ask(diskSchema, 'GET', path, { timeoutMs });
  printAnswer(answered, options, (answer) => {
    if (options.csv) return printDiskCsv(answer);
    printVolumes(answer.volumes);
    printLine('');
    if (by === 'day') printDays(answer.items);
    else printOwners(answer.items);
  });
};
