import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { recordKeys } from '../../../src/directory/keys.ts';
import type { CustomReport, DataSource, TimeSeriesGroup } from '../../../src/directory/records.ts';
import { reportRequestSchema } from '../../../src/metadata/records/requests.ts';
import { openRecords, type Records } from '../../../src/metadata/records/store.ts';
import { newDataSource, newGroup, newReport, newResultTable } from '../../../src/metadata/records/values.ts';
import { createRefresh, type Refresh, type RefreshDeps } from '../../../src/metadata/refresh/refresh.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetadataMetrics } from '../../../src/telemetry/metadata-metrics.ts';
import { authored } from '../authored.ts';

/** Short enough for a test's patience, long enough for a loaded machine. */
export const testLeaseTimes = { ttlMs: 3_000, renewMs: 500 };

/** Opens records and the refresh job over a NATS server, as the metadata role does. */
export const openRefresh = async (
  natsUrl: string,
  env: NodeJS.ProcessEnv = {},
  more: Partial<RefreshDeps> = {},
): Promise<{ bus: Bus; records: Records; refresh: Refresh; registryText: () => Promise<string> }> => {
  const bus = await connectBus(natsUrl, 'refresh-test');
  const records = await openRecords(
    bus,
    async () => 1_500_001,
    (fault) => {
      throw fault;
    },
  );
  await records.ready;
  const { registry } = createMetadataMetrics();
  const refresh = createRefresh({
    records,
    bucket: records.bucket,
    system: records.system,
    settings: loadSettings(env),
    defaults: { maxRate: 1000, aheadSecondsMax: 3600 },
    authorizeNode: (token) => nodeTokens.get(token),
    registry,
    log: createLog('refresh-test', 'silent'),
    leaseTimes: testLeaseTimes,
    backOffMs: 5,
    ...more,
  });
  return { bus, records, refresh, registryText: () => registry.metrics() };
};

/** The node tokens of the tests. */
export const nodeTokens = new Map([
  ['node-of-2', { bizId: 2 }],
  ['node-of-3', { bizId: 3 }],
  ['node-of-all', { bizId: null }],
]);

/** A report with its records, as the creation writes them. */
export type MadeReport = {
  readonly report: CustomReport;
  readonly dataSource: DataSource;
  readonly group: TimeSeriesGroup;
};

/** Puts the records of an active report into KV, without table and API. The report's id is `index`. */
export const putReport = async (records: Records, index: number, bizId = 2): Promise<MadeReport> => {
  const dataId = 1_500_000 + index;
  const request = authored(reportRequestSchema, {
    mon_biz_id: bizId,
    name: `report ${index}`,
    is_platform: bizId === 0,
    operator: 'test',
  });
  const ids = { custom_report_id: index, mon_data_id: dataId, time_series_group_id: index };
  const made = newReport(request, ids, 'mon');
  const report: CustomReport = { ...made, state: 'active' };
  const dataSource = newDataSource({
    mon_data_id: dataId,
    data_name: `${bizId}_custom_time_series_report_${index}`,
    data_description: '',
    etl_config: 'mon_standard_v2_time_series',
    is_custom_source: true,
    custom_label: null,
    source_system: 'tidemark',
    mon_biz_id: bizId,
    space_uid: '',
    operator: 'test',
  });
  const group = newGroup({
    time_series_group_id: index,
    time_series_group_name: `report ${index}`,
    mon_data_id: dataId,
    mon_biz_id: bizId,
    table_id: report.table_id,
    max_rate: -1,
    label: 'others',
    is_split_measurement: false,
    operator: 'test',
  });
  const table = newResultTable({
    table_id: report.table_id,
    table_name_zh: 'report',
    mon_biz_id: bizId,
    label: 'others',
    data_label: '',
    operator: 'test',
  });
  await Promise.all([
    records.bucket.put(recordKeys.dataSource(dataId), dataSource),
    records.bucket.put(recordKeys.group(dataId), group),
    records.bucket.put(recordKeys.table(dataId), table),
  ]);
  await records.bucket.put(recordKeys.report(index), report);
  return { report, dataSource, group };
};
