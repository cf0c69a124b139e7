import { recordKeys } from '../../directory/keys.ts';
import type { SourcePolicy } from '../../directory/policies.ts';
import type {
  CustomReport,
  DataSource,
  PreviousToken,
  ResultTable,
  TimeSeriesGroup,
} from '../../directory/records.ts';
import { isSystemReport } from '../../directory/system-owners.ts';
import { type Unreadable, unreadableOf } from '../../directory/unreadable.ts';
import { Fault } from '../../model/fault.ts';
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
  readonly previousTokens: ReadSet<PreviousToken>;
  /** The keys of records that this process cannot read; its copy has none, or what was there before. */
  readonly unreadable: Pick<Unreadable, 'size' | 'has'>;
  /** Resolves when the copies were filled for the first time. */
  readonly ready: Promise<void>;
};

/** A report with a subscription, and the facts for its collectors. */
export type WantedReport = {
  /** Null for a report that was made step by step: its three records have no report record. */
  readonly customReportId: number | null;
  readonly name: string;
  readonly values: CollectorValues;
  /** The token before a rotation, while receivers still take it. */
  readonly previous: PreviousToken | undefined;
};

type Parts = {
  readonly report: CustomReport | undefined;
  readonly dataSource: DataSource | undefined;
  readonly group: TimeSeriesGroup | undefined;
  readonly table: ResultTable | undefined;
  readonly policy: SourcePolicy | undefined;
  readonly previous: PreviousToken | undefined;
};

/**
 * Undefined for a report that is not complete, or is disabled or deleted in any of its records, or is Tidemark's own. `nowSeconds` is Unix
 * seconds.
 */
const wanted = (
  { report, dataSource, group, table, policy, previous }: Parts,
  defaults: CollectorDefaults,
  nowSeconds: number,
): WantedReport | undefined => {
  if (report !== undefined && report.state !== 'active') return undefined;
  if (report !== undefined && isSystemReport(report)) return undefined;
  if (dataSource === undefined || group === undefined || table === undefined) return undefined;
  const isEnabled = dataSource.is_enable && group.is_enable && table.is_enable;
  if (!isEnabled || group.is_delete || table.is_deleted) return undefined;
  return {
    customReportId: report?.custom_report_id ?? null,
    name: group.time_series_group_name,
    values: collectorValues(dataSource, group, policy, defaults),
    previous: previous !== undefined && previous.expires_at > nowSeconds ? previous : undefined,
  };
};

const byId = <T>(set: ReadSet<T>): ReadonlyMap<number, T> =>
  new Map(set.list().map(({ id, value }) => [id, value]));

/** Every report that has a subscription, from this process's copy of the records. */
export const wantedReports = (
  records: RefreshRecords,
  defaults: CollectorDefaults,
  nowSeconds: number,
): WantedReport[] => {
  const reports = new Map(records.reports.list().map(({ value }) => [value.mon_data_id, value]));
  const dataSources = byId(records.dataSources);
  const tables = byId(records.tables);
  const policies = byId(records.sourcePolicies);
  const previous = byId(records.previousTokens);
  return records.groups.list().flatMap(({ id, value: group }) => {
    const parts = { report: reports.get(id), dataSource: dataSources.get(id), group, table: tables.get(id) };
    const more = { policy: policies.get(id), previous: previous.get(id) };
    return wanted({ ...parts, ...more }, defaults, nowSeconds) ?? [];
  });
};

const keysOfDataId = [
  recordKeys.dataSource,
  recordKeys.group,
  recordKeys.table,
  recordKeys.sourcePolicy,
  recordKeys.previousToken,
];

/**
 * Internal Fault `record_invalid` where a record of the data id cannot be read: a process that has what was there before
 * would deliver that, another one the defaults, and each would replace the other's.
 */
export const requireReadable = (
  { unreadable }: Pick<RefreshRecords, 'unreadable'>,
  customReportId: number | null,
  dataId: number,
): void => {
  const key =
    unreadableOf(unreadable, dataId, keysOfDataId) ??
    (customReportId === null ? undefined : unreadableOf(unreadable, customReportId, [recordKeys.report]));
  if (key === undefined) return;
  throw new Fault(
    'internal',
    'record_invalid',
    `the record ${key} cannot be read, so the subscription of data id ${dataId} stays as it is: repair it`,
  );
};

/** The report record of a data id: by its own id where that is known. */
const readReport = async (
  { reports }: RefreshRecords,
  customReportId: number | null,
  dataId: number,
): Promise<CustomReport | undefined> =>
  customReportId === null
    ? reports.list().find(({ value }) => value.mon_data_id === dataId)?.value
    : (await reports.get(customReportId))?.value;

/** Records are written one after another and stay: one that is missing beside others is still to come, as in an import. */
const requireComplete = ({ report, dataSource, group, table }: Parts, dataId: number): void => {
  const present = [report, dataSource, group, table].filter((record) => record !== undefined);
  if (present.length === 0) return;
  const missing = Object.entries({
    'data source': dataSource,
    'time series group': group,
    'result table': table,
  }).flatMap(([kind, record]) => (record === undefined ? [kind] : []));
  if (missing.length === 0) return;
  throw new Fault(
    'transient',
    'records_incomplete',
    `data id ${dataId} has no ${missing.join(' and no ')} yet, so its subscription stays as it is; if an import was interrupted, repeat it`,
  );
};

/**
 * The same for one report, from KV: a copy may be behind. Transient Fault `records_incomplete` while some of its records are
 * there and others are not.
 */
export const readWantedReport = async (
  records: RefreshRecords,
  customReportId: number | null,
  dataId: number,
  defaults: CollectorDefaults,
  nowSeconds: number,
): Promise<WantedReport | undefined> => {
  const [report, dataSource, group, table, policy, previous] = await Promise.all([
    readReport(records, customReportId, dataId),
    records.dataSources.get(dataId),
    records.groups.get(dataId),
    records.tables.get(dataId),
    records.sourcePolicies.get(dataId),
    records.previousTokens.get(dataId),
  ]);
  const parts: Parts = {
    report,
    dataSource: dataSource?.value,
    group: group?.value,
    table: table?.value,
    policy: policy?.value,
    previous: previous?.value,
  };
  requireComplete(parts, dataId);
  return wanted(parts, defaults, nowSeconds);
};

/** The facts of a data id of which collectors are to take nothing any more; undefined without its records. */
export const readRefusingValues = async (
  { dataSources, groups, sourcePolicies }: RefreshRecords,
  dataId: number,
  defaults: CollectorDefaults,
): Promise<CollectorValues | undefined> => {
  const [dataSource, group, policy] = await Promise.all([
    dataSources.get(dataId),
    groups.get(dataId),
    sourcePolicies.get(dataId),
  ]);
  if (dataSource === undefined || group === undefined) return undefined;
  return { ...collectorValues(dataSource.value, group.value, policy?.value, defaults), qps: -1 };
};
