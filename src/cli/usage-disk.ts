import type { z } from 'zod';
import { diskAnswer, diskRow } from '../metadata/answers/disk.ts';
import type { CsvCell } from '../model/csv.ts';
import { bytesText, daysText } from './amounts.ts';
import { adminClient } from './client.ts';
import { type JsonOption, type OwnerOptions, queryText } from './options.ts';
import { nothing, printAnswer, printCsv, printLine, printTable, sayLines } from './output.ts';
import { ownerText } from './owner-text.ts';

// A metadata of an earlier version does not answer it.
const diskSchema = diskAnswer.extend({ missing: diskAnswer.shape.missing.default([]) });

type Disk = z.output<typeof diskSchema>;
type Volume = Disk['volumes'][number];
type Row = Disk['items'][number];

/** The API forecasts no further. */
const daysLeftMax = 3_650;

const sizeText = (bytes: number | null): string => (bytes === null ? nothing : bytesText(bytes));

const fullText = ({ days_left: days }: Volume): string => {
  if (days === null) return 'not known';
  if (days >= daysLeftMax) return 'not in 10 years';
  if (days === 0) return 'now';
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

const keptText = ({ retention_days: days, data_id: dataId, app_id: appId }: Row): string => {
  if (dataId === 0 && appId === 0) return nothing;
  return daysText(days);
};

const printOwners = (items: readonly Row[]): void =>
  printTable(
    ['WHOSE', 'PIPELINE', 'BUSINESS', 'STORE', 'STORED', 'PER DAY', 'DAYS', 'ROWS', 'KEPT'],
    items.map((row) => [
      // Tables without an owner are those of the account, and those that others made.
      ownerText(row, 'other tables'),
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
const printDiskCsv = ({ items, missing }: Disk): void => {
  printCsvOf(diskRow, items);
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
