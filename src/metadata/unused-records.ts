import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { columnsKey, recordKeys } from '../directory/keys.ts';
import type { Application, CustomReport } from '../directory/records.ts';
import { demoNames, doctorName } from '../directory/system-owners.ts';
import { fewLinesWrittenMs } from '../outcomes/publishers-feed.ts';
import type { OutcomeReads } from '../outcomes/reads.ts';
import { database } from '../stores/clickhouse/client.ts';
import type { QuestdbTables } from '../stores/questdb/tables.ts';
import { type Records, reservedNames } from './records/store.ts';

/** Whether any of these owners has ever had an item, or may have. Throws the Faults of NATS and ClickHouse. */
export type HasItems = (dataIds: readonly number[], appIds: readonly number[]) => Promise<boolean>;

const usedRow = z.object({ used: z.coerce.number() });

const drainedMsMax = 30_000;
const pollMs = 100;

/** Waits until every item of before this call has its line in ClickHouse; false where that takes too long. */
const untilRecorded = async (inFlight: OutcomeReads['inFlight']): Promise<boolean> => {
  await delay(fewLinesWrittenMs);
  const deadline = performance.now() + drainedMsMax;
  while (performance.now() < deadline) {
    if ((await inFlight()).every(({ messages }) => messages === 0)) return true;
    await delay(pollMs);
  }
  return false;
};

export const createHasItems =
  ({ clickhouse, inFlight }: Pick<OutcomeReads, 'clickhouse' | 'inFlight'>): HasItems =>
  async (dataIds, appIds) => {
    if (!(await untilRecorded(inFlight))) return true;
    const isOwner =
      '(data_id > 0 AND data_id IN {dataIds:Array(Int64)}) OR (app_id > 0 AND app_id IN {appIds:Array(Int64)})';
    const rows = await clickhouse.rows(
      usedRow,
      `SELECT count() AS used FROM ${database}.ingest_published WHERE ${isOwner}
       UNION ALL SELECT count() FROM ${database}.ingest_outcomes WHERE ${isOwner}`,
      { params: { dataIds, appIds } },
    );
    return rows.some(({ used }) => used > 0);
  };

const isOwnReport = ({ name, mon_biz_id: biz }: CustomReport): boolean =>
  name === doctorName || (name === demoNames.report && biz === demoNames.bizId);

const isOwnApplication = ({ app_name: name, mon_biz_id: biz }: Application): boolean =>
  name === doctorName || (name === demoNames.application && biz === demoNames.bizId);

/** What `tidemark up` and `tidemark doctor` made, where there is nothing else; undefined where there is. */
const ownRecords = (records: Records) => {
  const reports = records.reports.list();
  const applications = records.applications.list();
  const dataIds = reports.map(({ value }) => value.mon_data_id);
  const isOurs =
    reports.every(({ value }) => isOwnReport(value)) &&
    applications.every(({ value }) => isOwnApplication(value)) &&
    records.purges.list().length === 0 &&
    records.dataSources.list().every(({ id }) => dataIds.includes(id));
  return isOurs ? { reports, applications, dataIds } : undefined;
};

/** Whether the deployment holds nothing but what `tidemark up` and `tidemark doctor` made. */
export const isOnlyOwn = (records: Records): boolean => ownRecords(records) !== undefined;

const removeReport = async (records: Records, tables: QuestdbTables, report: CustomReport): Promise<void> => {
  const { bucket, system, columns } = records;
  const { mon_data_id: id, mon_biz_id: biz, name, custom_report_id: reportId } = report;
  const source = records.dataSources.known(id)?.value;
  const group = records.groups.known(id)?.value;
  const table = records.tables.known(id)?.value;
  // First what lets items in.
  await bucket.delete(recordKeys.dataSource(id));
  if (table !== undefined) await tables.drop(table.table_id);
  for (const key of [
    recordKeys.group(id),
    recordKeys.table(id),
    recordKeys.sourcePolicy(id),
    recordKeys.previousToken(id),
    recordKeys.sourceIdentity(id),
    recordKeys.subscription(id),
    recordKeys.placement(id),
  ])
    await bucket.delete(key);
  await columns.delete(columnsKey(id));
  if (source !== undefined) await system.delete(reservedNames.dataName(source.data_name).key);
  if (group !== undefined) {
    await bucket.delete(recordKeys.groupId(group.time_series_group_id));
    await system.delete(reservedNames.group(group.mon_biz_id, group.time_series_group_name).key);
  }
  await bucket.delete(reservedNames.report(biz, name).key);
  // Last: an interrupted call finds by it what is left.
  await bucket.delete(recordKeys.report(reportId));
};

const removeApplication = async (
  { bucket, previousApplicationTokens }: Records,
  { app_id: id, app_name: name, mon_biz_id: biz, token }: Application,
): Promise<void> => {
  const previous = previousApplicationTokens.known(id)?.value.token;
  for (const key of [
    ...[token, ...(previous === undefined ? [] : [previous])].map(recordKeys.applicationToken),
    recordKeys.applicationPolicy(id),
    recordKeys.previousApplicationToken(id),
    recordKeys.applicationIdentity(id),
    reservedNames.application(biz, name).key,
    recordKeys.application(id),
  ])
    await bucket.delete(key);
};

/**
 * Removes what `tidemark up` and `tidemark doctor` made, with its empty tables, where the deployment holds nothing else and none of it
 * has ever had an item. False where it is not so; nothing was changed then. Transient Faults.
 */
export const removeUnused = async (
  records: Records,
  tables: QuestdbTables,
  hasItems: HasItems,
): Promise<boolean> => {
  const own = ownRecords(records);
  if (own === undefined) return false;
  const appIds = own.applications.map(({ id }) => id);
  if (await hasItems(own.dataIds, appIds)) return false;
  for (const { value } of own.reports) await removeReport(records, tables, value);
  for (const { value } of own.applications) await removeApplication(records, value);
  return true;
};
