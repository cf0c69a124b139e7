import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportRecords } from '../../src/metadata/backup/export.ts';
import { reservedNames } from '../../src/metadata/records/store.ts';
import type { CreationDeps } from '../../src/metadata/reports/creation.ts';
import { startKeeper } from '../../src/metadata/reports/keeper.ts';
import { rotateDataSourceToken } from '../../src/metadata/reports/rotation.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { metadataCalls } from '../support/metadata/calls.ts';
import { type OpenMetadata, startOpenMetadata } from '../support/metadata/open-metadata.ts';
import { until } from '../support/until.ts';

let metadata: OpenMetadata;
let deps: CreationDeps;

beforeAll(async () => {
  metadata = await startOpenMetadata();
  ({ deps } = metadata);
});
afterAll(() => metadata?.stop());

const createReport = (name: string) => metadataCalls.createReport(deps, { mon_biz_id: 2, name });

// After the rotation of a leaked token without overlap, the token must be invalid.
it('a rotation that is refused does not prolong a token that another has replaced meanwhile', async () => {
  const { mon_data_id: id, token } = (await createReport('rotated')).data_source;
  await rotateDataSourceToken(deps.records, id, 60, { operator: 'first', revision: undefined });
  const stored = await deps.records.dataSources.get(id);
  const by = { operator: 'second', revision: stored?.revision };
  const late = { operator: 'late', revision: stored?.revision };
  // The late call writes the previous token first, and then another one is done with the rotation before it.
  const { dataSources } = deps.records;
  const slow = {
    ...deps.records,
    dataSources: {
      ...dataSources,
      update: async (...given: Parameters<typeof dataSources.update>) => {
        await dataSources.update(id, { ...given[1], token: 'ab'.repeat(16) }, given[2]);
        return dataSources.update(...given);
      },
    },
  };
  const before = (await deps.records.previousTokens.get(id))?.value;
  expect(before?.token).toBe(token);
  await expect(rotateDataSourceToken(slow, id, 3_000, late)).rejects.toThrow(
    expect.objectContaining({ code: 'precondition_failed' }),
  );
  expect((await deps.records.previousTokens.get(id))?.value).toEqual(before);
  await expect(rotateDataSourceToken(deps.records, id, 0, by)).rejects.toThrow(
    expect.objectContaining({ code: 'precondition_failed' }),
  );
});

it('a purged table that a stalled process creates again is dropped again', async () => {
  const { custom_report } = await createReport('returns');
  const { custom_report_id: id, mon_data_id, table_id } = custom_report;
  await metadataCalls.purgeReport(deps, { id, table_id });
  const round = async (): Promise<void> => {
    const log = createLog('test', 'silent');
    const keeper = startKeeper({
      ...deps,
      repair: { round: async () => {} },
      isAway: () => false,
      purgeWaitMs: 0,
      now: Date.now,
      log,
    });
    await keeper.round();
    await keeper.stop();
  };
  await until('it is purged', async () => {
    await round();
    return (await deps.records.purges.get(mon_data_id))?.value.state === 'purged';
  });
  await deps.tables.createTable('wide', table_id);
  await round();
  expect(await deps.tables.names()).not.toContain(table_id);
});

it('of two applications of one name that want other policies, one is made, with its own', async () => {
  const request = { mon_biz_id: 2, app_name: 'policies' };
  const { applicationPolicies } = deps.records;
  // The loser is about to write its policy when the winner is done.
  const late = {
    ...deps,
    records: {
      ...deps.records,
      applicationPolicies: {
        ...applicationPolicies,
        create: async (...given: Parameters<typeof applicationPolicies.create>) => {
          await metadataCalls.createApplication(deps, { ...request, deduplicate: false });
          return applicationPolicies.create(...given);
        },
      },
    },
  };
  await expect(metadataCalls.createApplication(late, { ...request, deduplicate: true })).rejects.toThrow(
    expect.objectContaining({ code: 'creation_differs' }),
  );
  const id = (await deps.records.holderOf(reservedNames.application(2, 'policies'))) ?? 0;
  expect((await applicationPolicies.get(id))?.value).toEqual({ deduplicate: false });
});

it('an import raises the counters above half created reports and above the tables there are', async () => {
  const now = await exportRecords(deps.records);
  const [dataId, groupId] = [now.counters.data_id + 10, now.counters.time_series_group_id + 10];
  const [report] = Object.values(now.custom_reports);
  if (report === undefined) throw new Error('no report was exported');
  const half = {
    ...report,
    custom_report_id: now.counters.custom_report_id + 10,
    name: 'half',
    state: 'creating' as const,
    mon_data_id: dataId,
    time_series_group_id: groupId,
    table_id: `2_mon_time_series_${dataId}.__default__`,
  };
  const document = { ...now, custom_reports: { ...now.custom_reports, [half.custom_report_id]: half } };
  await metadataCalls.importRecords(deps, document);
  const { custom_report } = await createReport('after the import');
  expect(custom_report.mon_data_id).toBe(dataId + 1);
  expect(custom_report.time_series_group_id).toBeGreaterThan(groupId);
  await deps.tables.createTable('wide', `2_mon_time_series_${dataId + 5}.__default__`);
  await metadataCalls.importRecords(deps, document);
  expect((await createReport('after another')).custom_report.mon_data_id).toBe(dataId + 6);
});

it('an import is refused as a whole when another record has one of its names', async () => {
  const now = await exportRecords(deps.records);
  const [report] = Object.values(now.custom_reports).filter(({ state }) => state === 'active');
  if (report === undefined) throw new Error('no active report was exported');
  const id = now.counters.custom_report_id + 10;
  const free = { ...report, custom_report_id: id, state: 'creating' as const, name: 'free' };
  const taken = { ...free, custom_report_id: id + 1, name: report.name };
  await expect(
    metadataCalls.importRecords(deps, { ...now, custom_reports: { [id]: free, [id + 1]: taken } }),
  ).rejects.toThrow(expect.objectContaining({ code: 'import_conflict' }));
  expect(await deps.records.holderOf(reservedNames.report(2, 'free'))).toBeUndefined();
  expect((await exportRecords(deps.records)).counters).toEqual(now.counters);
});
