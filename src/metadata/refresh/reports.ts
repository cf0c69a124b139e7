import type { SourcePolicy } from '../../directory/policies.ts';
import type { CustomReport, DataSource, ResultTable, TimeSeriesGroup } from '../../directory/records.ts';
import { type CollectorDefaults, type CollectorValues, collectorValues } from './document.ts';

/** The records of one kind: `list` reads this process's copy, `get` reads KV. */
export type ReadSet<T> = {
  list(): readonly { readonly id: number; readonly value: T }[];
  get(id: number): Promise<{ readonly value: T } | undefined>;
};

/** The records that the job reads. All but the reports are by their mon_data_id. */
export type RefreshRecords = {
  readonly reports: ReadSet<CustomReport>;
  readonly dataSources: ReadSet<DataSource>;
  readonly groups: ReadSet<TimeSeriesGroup>;
  readonly tables: ReadSet<ResultTable>;
  readonly sourcePolicies: ReadSet<SourcePolicy>;
  /** Resolves when the copies were filled for the first time. */
  readonly ready: Promise<void>;
};

/** A report with a subscription, and the facts for its collectors. */
export type WantedReport = { readonly report: CustomReport; readonly values: CollectorValues };

type Parts = {
  readonly report: CustomReport | undefined;
  readonly dataSource: DataSource | undefined;
  readonly group: TimeSeriesGroup | undefined;
  readonly table: ResultTable | undefined;
  readonly policy: SourcePolicy | undefined;
};

/** Undefined for a report that is not active, or is disabled or deleted in any of its records. */
const wanted = (
  { report, dataSource, group, table, policy }: Parts,
  defaults: CollectorDefaults,
): WantedReport | undefined => {
  if (report?.state !== 'active' || dataSource === undefined || group === undefined || table === undefined) {
    return undefined;
  }
  const isEnabled = dataSource.is_enable && group.is_enable && table.is_enable;
  if (!isEnabled || group.is_delete || table.is_deleted) return undefined;
  return { report, values: collectorValues(dataSource, group, policy, defaults) };
};

const byId = <T>(set: ReadSet<T>): ReadonlyMap<number, T> =>
  new Map(set.list().map(({ id, value }) => [id, value]));

/** Every report that has a subscription, from this process's copy of the records. */
export const wantedReports = (records: RefreshRecords, defaults: CollectorDefaults): WantedReport[] => {
  const dataSources = byId(records.dataSources);
  const groups = byId(records.groups);
  const tables = byId(records.tables);
  const policies = byId(records.sourcePolicies);
  return records.reports.list().flatMap(({ value: report }) => {
    const id = report.mon_data_id;
    const parts = { dataSource: dataSources.get(id), group: groups.get(id), table: tables.get(id) };
    const one = wanted({ report, ...parts, policy: policies.get(id) }, defaults);
    return one === undefined ? [] : [one];
  });
};

/** The same for one report, from KV: a copy may be behind. */
export const readWantedReport = async (
  records: RefreshRecords,
  customReportId: number,
  dataId: number,
  defaults: CollectorDefaults,
): Promise<WantedReport | undefined> => {
  const [report, dataSource, group, table, policy] = await Promise.all([
    records.reports.get(customReportId),
    records.dataSources.get(dataId),
    records.groups.get(dataId),
    records.tables.get(dataId),
    records.sourcePolicies.get(dataId),
  ]);
  const parts = { dataSource: dataSource?.value, group: group?.value, table: table?.value };
  return wanted({ report: report?.value, ...parts, policy: policy?.value }, defaults);
};
