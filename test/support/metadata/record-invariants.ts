import { recordKeys } from '../../../src/directory/keys.ts';
import type { CustomReport } from '../../../src/directory/records.ts';
import type { Backup } from '../../../src/metadata/backup/document.ts';
import { exportRecords } from '../../../src/metadata/backup/export.ts';
import { type Records, type ReservedName, reservedNames } from '../../../src/metadata/records/store.ts';
import { dataIdOfTableId, owningBusiness, tableIdOf } from '../../../src/metadata/records/values.ts';
import type { QuestdbSql } from '../../../src/stores/questdb/sql.ts';
import { viewPrefix } from '../../../src/wire/column-naming.ts';

type State = {
  readonly doc: Backup;
  readonly tables: ReadonlySet<string>;
  readonly views: readonly string[];
  readonly holderOf: (name: ReservedName) => Promise<number | undefined>;
  readonly lookUp: (key: string) => Promise<number | undefined>;
  readonly broken: string[];
};

const isGone = ({ state }: CustomReport): boolean => state !== 'active' && state !== 'creating';

const repeated = <T>(values: readonly T[]): T[] =>
  values.filter((value, index) => values.indexOf(value) !== index);

/** Specification 2.4, and architecture 8.1 of the four records of each report. */
const checkReports = ({ doc, tables, broken }: State): void => {
  for (const report of Object.values(doc.custom_reports)) {
    const name = `report ${report.custom_report_id} (${report.state})`;
    const id = String(report.mon_data_id);
    const [source, group, table] = [doc.data_sources[id], doc.time_series_groups[id], doc.result_tables[id]];
    if (report.table_id !== tableIdOf(owningBusiness(report), 'mon', report.mon_data_id))
      broken.push(`${name}: table_id ${report.table_id} does not embed its business and data id`);
    if (group !== undefined && group.time_series_group_id !== report.time_series_group_id)
      broken.push(`${name}: has another group`);
    for (const record of [group, table])
      if (record !== undefined && record.table_id !== report.table_id)
        broken.push(`${name}: table_id differs`);
    if (report.state === 'active') {
      if (source === undefined || group === undefined || table === undefined)
        broken.push(`${name}: is not whole`);
      if (!tables.has(report.table_id)) broken.push(`${name}: has no table in QuestDB`);
      if (group?.is_delete || table?.is_deleted) broken.push(`${name}: is deleted below`);
      if (group?.is_split_measurement !== report.is_split_measurement) broken.push(`${name}: layout differs`);
    } else if (isGone(report)) {
      if (source?.is_enable || group?.is_enable || table?.is_enable) broken.push(`${name}: is enabled below`);
      if (group?.is_delete === false || table?.is_deleted === false)
        broken.push(`${name}: is not deleted below`);
    }
    const purge = doc.purges[id];
    const isPurge = report.state === 'purging' || report.state === 'purged';
    if (isPurge !== (purge !== undefined)) broken.push(`${name}: purge ${purge?.state ?? 'missing'}`);
  }
};

const checkRecords = ({ doc, broken }: State): void => {
  for (const [id, group] of Object.entries(doc.time_series_groups)) {
    if (doc.data_sources[id]?.mon_data_id !== group.mon_data_id)
      broken.push(`group of ${id} without its source`);
    if (dataIdOfTableId(group.table_id) !== group.mon_data_id || String(group.mon_data_id) !== id)
      broken.push(`group of ${id}: table_id ${group.table_id}`);
  }
  for (const [id, table] of Object.entries(doc.result_tables)) {
    if (doc.time_series_groups[id]?.table_id !== table.table_id)
      broken.push(`table of ${id} without its group`);
  }
};

const checkUnique = ({ doc, broken }: State): void => {
  const reports = Object.values(doc.custom_reports);
  const groups = Object.values(doc.time_series_groups);
  const sources = Object.values(doc.data_sources);
  const applications = Object.values(doc.applications);
  const goneIds = new Set(reports.filter(isGone).map(({ mon_data_id }) => mon_data_id));
  const unique: Record<string, unknown[]> = {
    'data id of reports': reports.map(({ mon_data_id }) => mon_data_id),
    'group id of reports': reports.map(({ time_series_group_id }) => time_series_group_id),
    'group id': groups.map(({ time_series_group_id }) => time_series_group_id),
    'report name': reports
      .filter((report) => !isGone(report))
      .map(({ mon_biz_id, name }) => `${mon_biz_id}:${name}`),
    'group name': groups
      .filter(({ is_delete }) => !is_delete)
      .map(({ mon_biz_id, time_series_group_name }) => `${mon_biz_id}:${time_series_group_name}`),
    data_name: sources
      .filter(({ mon_data_id }) => !goneIds.has(mon_data_id) && doc.purges[String(mon_data_id)] === undefined)
      .map(({ data_name }) => data_name),
    'application name': applications
      .filter(({ is_delete }) => !is_delete)
      .map(({ mon_biz_id, app_name }) => `${mon_biz_id}:${app_name}`),
    token: [
      ...[...sources, ...applications].map(({ token }) => token),
      ...Object.values(doc.previous_tokens)
        .map(({ token }) => token)
        .filter((token) => !sources.some((source) => source.token === token)),
    ],
  };
  for (const [what, values] of Object.entries(unique)) {
    const twice = repeated(values);
    if (twice.length > 0) broken.push(`the same ${what} twice: ${twice.join()}`);
  }
};

const checkCounters = ({ doc, broken }: State): void => {
  const highest: Backup['counters'] = {
    data_id: Math.max(
      0,
      ...Object.keys(doc.data_sources).map(Number),
      ...Object.values(doc.custom_reports).map(({ mon_data_id }) => mon_data_id),
    ),
    custom_report_id: Math.max(0, ...Object.keys(doc.custom_reports).map(Number)),
    time_series_group_id: Math.max(
      0,
      ...Object.values(doc.time_series_groups).map((group) => group.time_series_group_id),
    ),
    app_id: Math.max(0, ...Object.keys(doc.applications).map(Number)),
  };
  for (const name of ['data_id', 'custom_report_id', 'time_series_group_id', 'app_id'] as const) {
    if (doc.counters[name] < highest[name]) broken.push(`counter ${name} is behind`);
  }
};

/** Names are held by what has them, and lookups find it. */
const checkIndexes = async ({ doc, holderOf, lookUp, broken }: State): Promise<void> => {
  const held = async (name: ReservedName, id: number): Promise<void> => {
    const holder = await holderOf(name);
    if (holder !== id) broken.push(`${name.text} is held by ${holder}, not by ${id}`);
  };
  for (const report of Object.values(doc.custom_reports)) {
    if (isGone(report)) continue;
    await held(reservedNames.report(report.mon_biz_id, report.name), report.custom_report_id);
    const source = doc.data_sources[String(report.mon_data_id)];
    if (source !== undefined) await held(reservedNames.dataName(source.data_name), source.mon_data_id);
  }
  for (const group of Object.values(doc.time_series_groups)) {
    if ((await lookUp(recordKeys.groupId(group.time_series_group_id))) !== group.mon_data_id)
      broken.push(`group ${group.time_series_group_id} is not found by its id`);
    if (!group.is_delete)
      await held(reservedNames.group(group.mon_biz_id, group.time_series_group_name), group.mon_data_id);
  }
  for (const application of Object.values(doc.applications)) {
    const { app_id, app_name, mon_biz_id, is_delete } = application;
    if ((await lookUp(recordKeys.applicationToken(application.token))) !== app_id)
      broken.push(`application ${app_id} is not found by its token`);
    if (!is_delete) await held(reservedNames.application(mon_biz_id, app_name), app_id);
  }
};

/** What QuestDB has belongs to a record, and nothing of a purged data id is left. */
const checkTables = ({ doc, tables, views, broken }: State): void => {
  for (const name of tables) {
    const dataId = dataIdOfTableId(name);
    if (dataId !== undefined && doc.result_tables[String(dataId)]?.table_id !== name)
      broken.push(`table ${name} in QuestDB has no record`);
  }
  for (const purge of Object.values(doc.purges)) {
    if (purge.state !== 'purged') continue;
    if (tables.has(purge.table_id)) broken.push(`purged table ${purge.table_id} is there`);
    const left = views.filter((view) => view.startsWith(viewPrefix(purge.table_id)));
    if (left.length > 0) broken.push(`views of purged ${purge.table_id} are there: ${left.join()}`);
  }
};

/**
 * What of specification 2.4 and architecture 8.1 does not hold: nothing while no call is under way and the keeper has done its
 * rounds. `records` may be behind others' writes by a moment.
 */
export const brokenInvariants = async (
  records: Records,
  sql: QuestdbSql,
  ignoreTables: ReadonlySet<string> = new Set(),
): Promise<string[]> => {
  const names = async (query: string): Promise<string[]> =>
    (await sql.exec(query)).dataset.map(([name]) => String(name));
  const tables = await names('SELECT table_name FROM tables()');
  const state: State = {
    doc: await exportRecords(records),
    tables: new Set(tables.filter((name) => !ignoreTables.has(name))),
    views: await names('SELECT view_name FROM views()'),
    holderOf: records.holderOf,
    lookUp: records.lookUp,
    broken: [],
  };
  checkReports(state);
  checkRecords(state);
  checkUnique(state);
  checkCounters(state);
  checkTables(state);
  await checkIndexes(state);
  return state.broken;
};
