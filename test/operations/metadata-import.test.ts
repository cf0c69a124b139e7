import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { columnsKey, recordKeys, systemKeys } from '../../src/directory/keys.ts';
import type { Backup } from '../../src/metadata/backup/document.ts';
import { exportRecords } from '../../src/metadata/backup/export.ts';
import { applicationRequestSchema } from '../../src/metadata/records/requests.ts';
import { reservedNames } from '../../src/metadata/records/store.ts';
import type { RefreshRun } from '../../src/metadata/refresh/runs.ts';
import { createApplication } from '../../src/metadata/reports/operations.ts';
import { keepMetricViews } from '../../src/metadata/tables/views.ts';
import type { ColumnRegistry, RegisteredName } from '../../src/model/records.ts';
import { nowSeconds } from '../../src/model/time.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { authored } from '../support/authored.ts';
import { metadataCalls, openMetadata } from '../support/metadata/calls.ts';
import { type OpenMetadata, startOpenMetadata } from '../support/metadata/open-metadata.ts';
import { openRefresh, putReport } from '../support/metadata/refresh-fleet.ts';
import { openTestRefresh } from '../support/metadata/refresh-test.ts';
import { afterEachWrite } from '../support/stack/dying.ts';
import { emptyBuckets } from '../support/stack/empty-buckets.ts';
import { until } from '../support/until.ts';

let metadata: OpenMetadata;

beforeAll(async () => {
  metadata = await startOpenMetadata();
});
afterAll(() => metadata?.stop());

/** Every test has a deployment of its own. */
beforeEach(() => emptyBuckets(metadata.engines.nats.url));

/** Of its subscriptions in the document: before any test. */
const created = 1_700_000_000;

/**
 * The document of a deployment with the report `index` and one that was made step by step, the next. Nodes have the files of
 * both. The records are removed.
 */
const exported = async (index: number): Promise<Backup> => {
  const { url } = metadata.engines.nats;
  const { bus, records, refresh } = await openRefresh(url);
  const bare = index + 1;
  await putReport(records, index);
  await putReport(records, bare);
  await records.bucket.delete(recordKeys.report(bare));
  await until('the copy has both', () => records.groups.list().length === 2 && !records.reports.known(bare));
  expect(await refresh.runNow()).toMatchObject({ created: 2, failed: [] });
  const backup = await exportRecords(records);
  await refresh.stop();
  records.stop();
  await bus.close();
  await emptyBuckets(url);
  const subscriptions = Object.entries(backup.subscriptions).map(([id, held]) => [id, { ...held, created }]);
  return { ...backup, subscriptions: Object.fromEntries(subscriptions) };
};

/** A metadata process that imports, and what is done after each of its writes to KV. */
const openImporter = async (then: (key: string) => Promise<void>) => {
  const bus = await connectBus(metadata.engines.nats.url, 'importer');
  const deps = await openMetadata(bus, metadata.sql);
  onTestFinished(async () => {
    deps.records.stop();
    await bus.close();
  });
  afterEachWrite(bus, then);
  return (backup: Backup) => metadataCalls.importRecords(deps, backup);
};

it('a run of the refresh job between any two writes of an import leaves the subscriptions as they were exported', async () => {
  const backup = await exported(1);
  const ids = Object.keys(backup.subscriptions);
  expect(ids).toHaveLength(2);
  const opened = await openTestRefresh(metadata.engines.nats.url);
  const { refresh } = opened;
  const runs: RefreshRun[] = [];
  const importBackup = await openImporter(async (key) => {
    const held = ids.filter((id) => key === recordKeys.subscription(Number(id)));
    const isKnown = (id: string): boolean =>
      refresh.subscriptions.list().some(({ mon_data_id }) => `${mon_data_id}` === id);
    await until('the job knows the subscription', () => held.every(isKnown));
    runs.push(await refresh.runNow());
  });
  await importBackup(backup);
  expect(runs.filter((run) => run.deleted + run.created + run.updated > 0)).toEqual([]);
  const failed = new Set(runs.flatMap((run) => run.failed.map(({ error }) => error.split(':')[0])));
  expect([...failed]).toEqual(['records_incomplete']);
  await until('the job knows the records', () => opened.records.dataSources.list().length === 2);
  expect(await refresh.runNow()).toMatchObject({ unchanged: 2, failed: [] });
  expect(await exportRecords(opened.records)).toMatchObject({ subscriptions: backup.subscriptions });
});

const nameOf = (name: string): RegisteredName => ({
  name,
  column: name,
  first_seen: created,
  last_seen: created,
});

/** The document with its report split by metrics, of which the registry has one. */
const split = (backup: Backup, dataId: number): Backup => {
  const { [dataId]: group } = backup.time_series_groups;
  if (group === undefined) throw new Error(`no group ${dataId}`);
  const groups = { ...backup.time_series_groups, [dataId]: { ...group, is_split_measurement: true } };
  const registry = { mon_data_id: dataId, metrics: [nameOf('cpu')], dimensions: [] };
  return { ...backup, time_series_groups: groups, columns: { [dataId]: registry } };
};

it('a split report has its views after an import, however early its registry is handled', async () => {
  const dataId = 1_500_003;
  const backup = split(await exported(3), dataId);
  const { records, tables } = await openMetadata(metadata.bus, metadata.sql);
  onTestFinished(() => records.stop());
  let looks = 0;
  const keeper = keepMetricViews({
    columns: records.columns,
    records: {
      groups: {
        ...records.groups,
        get: (id) =>
          records.groups.get(id).finally(() => {
            looks++;
          }),
      },
      placements: records.placements,
    },
    tables,
    isAway: () => false,
    log: createLog('test', 'silent'),
  });
  onTestFinished(() => keeper.stop());
  const importBackup = await openImporter(async (key) => {
    if (key === columnsKey(dataId)) await until('the keeper has looked for the group', () => looks > 0);
  });
  await importBackup(backup);
  const views = async () =>
    (await metadata.sql.exec(`SELECT view_name FROM views() WHERE view_name LIKE '%${dataId}%'`)).dataset;
  await until('the view', async () => (await views()).length > 0, 20_000);
  expect(await views()).toEqual([[`2_mon_time_series_${dataId}.cpu`]]);
  expect(looks).toBe(1);
});

/** A document with a registry, and an import of it that ended when the first of two data sources was there. */
const interrupted = async (index: number) => {
  const dataId = 1_500_000 + index;
  const registry: ColumnRegistry = {
    mon_data_id: dataId,
    metrics: [nameOf('cpu')],
    dimensions: [nameOf('host'), nameOf('zone')],
  };
  const backup = { ...(await exported(index)), columns: { [dataId]: registry } };
  const dying = await openImporter(async (key) => {
    if (key === recordKeys.dataSource(dataId)) throw new Error('the process ended');
  });
  await expect(dying(backup)).rejects.toThrow('the process ended');
  const opened = await openTestRefresh(metadata.engines.nats.url, {}, { defaults: otherDefaults });
  const { records } = opened;
  expect((await records.dataSources.get(dataId))?.value).toEqual(backup.data_sources[dataId]);
  expect(await records.dataSources.get(dataId + 1)).toBeUndefined();
  return { ...opened, dataId, registry, backup, finish: await openImporter(async () => {}) };
};

/** Those of the deployment that imports: its job writes other documents. */
const otherDefaults = { maxRate: 2000, aheadSecondsMax: 60 };

it('an interrupted import is finished by the same call after receivers and the refresh job have worked with its records', async () => {
  const { records, refresh, dataId, registry, backup, finish } = await interrupted(5);
  const used = nowSeconds();
  const [host, zone] = registry.dimensions.map((entry) => ({ ...entry, last_seen: used }));
  const lived = {
    ...registry,
    metrics: [...registry.metrics.map((entry) => ({ ...entry, last_seen: used })), nameOf('mem')],
    dimensions: [{ ...host, full_since: used }, zone, nameOf('rack')],
  };
  await records.columns.put(columnsKey(dataId), lived);
  await until('the job knows the report', () => records.dataSources.known(dataId) !== undefined);
  expect(await refresh.runNow()).toMatchObject({ updated: 1, deleted: 0, failed_count: 1 });
  const renewed = await records.bucket.get(recordKeys.subscription(dataId));
  expect(await finish(backup)).toMatchObject({ created: 1 });
  expect((await records.dataSources.get(dataId + 1))?.value).toEqual(backup.data_sources[dataId + 1]);
  expect((await records.columns.get(columnsKey(dataId)))?.value).toEqual(lived);
  expect(await records.bucket.get(recordKeys.subscription(dataId))).toEqual(renewed);
});

it('an import refuses a registry that gives one of its names another column, or none', async () => {
  const { records, dataId, registry, backup, finish } = await interrupted(7);
  const others: ColumnRegistry[] = [
    { ...registry, metrics: [{ ...nameOf('cpu'), column: 'cpu__2' }] },
    { ...registry, dimensions: [nameOf('host')] },
  ];
  for (const other of others) {
    await records.columns.put(columnsKey(dataId), other);
    await expect(finish(backup)).rejects.toMatchObject({
      code: 'import_conflict',
      message: `other records exist already: ${columnsKey(dataId)}`,
    });
  }
});

/** The export of a deployment with one application and one report, which are still there, and an import into it. */
const existing = async () => {
  const { records } = await openTestRefresh(metadata.engines.nats.url);
  const deps = { ...metadata.deps, records };
  const input = { app_name: 'checkout', mon_biz_id: 2, operator: 'tests' };
  await createApplication(deps, authored(applicationRequestSchema, input));
  await putReport(records, 11);
  await until(
    'the copy has both',
    () => records.applications.list().length + records.groups.list().length === 2,
  );
  const backup = await exportRecords(records);
  const [application] = Object.values(backup.applications);
  const [group] = Object.values(backup.time_series_groups);
  if (application === undefined || group === undefined) throw new Error('no application or no group');
  // As the creation of a report does it.
  await records.point(recordKeys.groupId(group.time_series_group_id), group.mon_data_id);
  const bare: Backup = {
    ...backup,
    ...{ custom_reports: {}, data_sources: {}, time_series_groups: {}, result_tables: {}, placements: {} },
    ...{ source_policies: {}, previous_tokens: {}, source_identities: {}, subscriptions: {}, columns: {} },
    ...{ applications: {}, application_policies: {}, application_identities: {} },
  };
  return { records, application, group, bare, importBackup: await openImporter(async () => {}) };
};

const rejected = (code: string, ...texts: string[]) => ({
  code,
  message: expect.stringMatching(texts.map((text) => `(?=.*${text})`).join('')),
});

// Its spans would go to the other application from then on.
it('an import refuses a token and a group id of other records, and leaves them theirs', async () => {
  const { records, application, group, bare, importBackup } = await existing();
  const { app_id: id, token } = application;
  const other = { ...application, app_id: 77, app_name: 'other' };
  await expect(importBackup({ ...bare, applications: { 77: other } })).rejects.toMatchObject(
    rejected('import_conflict', `application.${id}, whose token 77 has`),
  );
  const previous = { 77: { token, expires_at: created } };
  const applications = { 77: { ...other, token: 'a'.repeat(32) } };
  await expect(
    importBackup({ ...bare, applications, previous_application_tokens: previous }),
  ).rejects.toMatchObject(rejected('import_conflict', `application.${id}, whose previous token 77 has`));
  expect(await records.lookUp(recordKeys.applicationToken(token))).toBe(id);
  const groups = { 1500099: { ...group, mon_data_id: 1_500_099, time_series_group_name: 'other' } };
  await expect(importBackup({ ...bare, time_series_groups: groups })).rejects.toMatchObject(
    rejected('import_conflict', `time_series_group.${group.mon_data_id}, whose time_series_group_id`),
  );
  expect(await records.lookUp(recordKeys.groupId(group.time_series_group_id))).toBe(group.mon_data_id);
});

it('an import refuses a document in which two records have one name or one token, and writes nothing', async () => {
  const { records, application, bare, importBackup } = await existing();
  const one = { ...application, app_id: 78, app_name: 'one', token: 'a'.repeat(32) };
  const sameName = { ...one, app_id: 79, token: 'b'.repeat(32) };
  const sameToken = { ...one, app_id: 79, app_name: 'two' };
  const counter = async () => (await records.system.get(systemKeys.counter('app_id')))?.value;
  const before = await counter();
  await expect(importBackup({ ...bare, applications: { 78: one, 79: sameName } })).rejects.toMatchObject(
    rejected('invalid_value', 'application "one" of business 2', '78', '79'),
  );
  const error = importBackup({ ...bare, applications: { 78: one, 79: sameToken } });
  await expect(error).rejects.toMatchObject(rejected('invalid_value', 'token of application.79', '78'));
  await expect(error).rejects.not.toThrow(one.token);
  expect(await counter()).toBe(before);
  expect(await records.holderOf(reservedNames.application(2, 'one'))).toBeUndefined();
});
