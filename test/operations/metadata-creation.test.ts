import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { buckets, dataIdRange, recordKeys, systemKeys } from '../../src/directory/keys.ts';
import type { CustomReport } from '../../src/directory/records.ts';
import { giveIdentityKey } from '../../src/metadata/records/identity-key.ts';
import {
  applicationRequestSchema,
  dataSourceRequestSchema,
  type ReportRequest,
  reportRequestSchema,
} from '../../src/metadata/records/requests.ts';
import { openRecords } from '../../src/metadata/records/store.ts';
import { type CreationDeps, createCustomTimeSeries } from '../../src/metadata/reports/creation.ts';
import { createApplication, createDataSource } from '../../src/metadata/reports/operations.ts';
import { createTableRepair } from '../../src/metadata/tables/repair.ts';
import { defaultInstance } from '../../src/model/instances.ts';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { createQuestdbTables } from '../../src/stores/questdb/tables.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { authored } from '../support/authored.ts';
import { metadataCalls, onlyInstance } from '../support/metadata/calls.ts';
import { Died, dyingAt } from '../support/stack/dying.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

let engines: TestEngines;
let bus: Bus;
let sql: QuestdbSql;

/** What one metadata process works on; several of them share the engines. */
const openDeps = async (): Promise<CreationDeps> => {
  const records = await openRecords(
    bus,
    async () => dataIdRange.first,
    (fault) => {
      throw fault;
    },
  );
  await records.ready;
  const tables = createQuestdbTables(sql, new URL('../../schemas', import.meta.url).pathname);
  return { records, tables, placing: onlyInstance, tablePrefix: 'mon' };
};

let deps: CreationDeps;

beforeAll(async () => {
  engines = await startEngines({ nats: true, questdb: true });
  bus = await connectBus(engines.nats.url, 'test');
  sql = createQuestdbSql({ url: engines.questdb.url });
  deps = await openDeps();
});
afterAll(async () => {
  deps?.records.stop();
  await bus?.close();
  await sql?.close();
  await engines?.stop();
});

// An installation that began without a key must never get one: a repeat of a request of before would be another request.
describe('the key of the digests of large bodies', () => {
  it('is given to an installation without owners, and is one for all processes that start at once', async () => {
    const others = await Promise.all([openDeps(), openDeps()]);
    await Promise.all([deps, ...others].map(({ records }) => giveIdentityKey(records)));
    const given = await deps.records.bucket.get(recordKeys.identityKey);
    expect(given?.value).toEqual({ algorithm: 'aes-256-gcm', key: expect.stringMatching(/^[0-9a-f]{64}$/) });
    await giveIdentityKey(deps.records);
    expect(await deps.records.bucket.get(recordKeys.identityKey)).toEqual(given);
    for (const { records } of others) records.stop();
  });

  it('is not given to one that has an owner', async () => {
    await deps.records.bucket.delete(recordKeys.identityKey);
    await createDataSource(
      deps,
      authored(dataSourceRequestSchema, { mon_biz_id: 2, data_name: '2_custom_time_series_an_owner' }),
    );
    await until('the owner is known', () => deps.records.dataSources.list().length > 0);
    await giveIdentityKey(deps.records);
    expect(await deps.records.bucket.get(recordKeys.identityKey)).toBeUndefined();
  });
});

const request = (name: string, more: object = {}): ReportRequest =>
  authored(reportRequestSchema, { mon_biz_id: 2, name, ...more });

const reportsNamed = (name: string): CustomReport[] =>
  deps.records.reports
    .list()
    .map(({ value }) => value)
    .filter((report) => report.name === name);

const expectWhole = async (name: string): Promise<CustomReport> => {
  const [report, ...others] = reportsNamed(name);
  expect(others).toEqual([]);
  if (report === undefined) throw new Error(`no report ${name}`);
  const dataId = report.mon_data_id;
  expect(report.state).toBe('active');
  const source = (await deps.records.dataSources.get(dataId))?.value;
  const group = (await deps.records.groups.get(dataId))?.value;
  const table = (await deps.records.tables.get(dataId))?.value;
  // Specification 2.4.
  expect(source?.mon_data_id).toBe(dataId);
  expect(group?.mon_data_id).toBe(dataId);
  expect(group?.time_series_group_id).toBe(report.time_series_group_id);
  expect([group?.table_id, table?.table_id]).toEqual([report.table_id, report.table_id]);
  expect(report.table_id).toBe(`2_mon_time_series_${dataId}.__default__`);
  expect(await deps.tables.names()).toContain(report.table_id);
  return report;
};

describe('a creation that dies', () => {
  // The operator's script runs again after a crash: it must get one report, not a second one or a permanent refusal.
  it.each(['before', 'after'] as const)(
    '%s any of its writes is finished by the same call, with the same ids',
    async (when) => {
      for (let step = 1; ; step++) {
        const name = `dies ${when} ${step}`;
        const creation = createCustomTimeSeries(dyingAt(deps, step, when), request(name));
        const outcome = await creation.then(
          () => 'finished',
          (error: unknown) => (error instanceof Died ? 'died' : error),
        );
        if (outcome === 'finished') {
          expect(step).toBeGreaterThan(10);
          return;
        }
        expect(outcome).toBe('died');
        const [left] = reportsNamed(name);
        if (left?.state === 'active') continue;
        const created = await createCustomTimeSeries(deps, request(name));
        const report = await expectWhole(name);
        expect(created.custom_report).toEqual(report);
        if (left !== undefined) {
          const ids = ({ custom_report_id, mon_data_id, time_series_group_id, table_id }: CustomReport) => [
            custom_report_id,
            mon_data_id,
            time_series_group_id,
            table_id,
          ];
          expect(ids(report)).toEqual(ids(left));
        }
      }
    },
  );

  it('is not finished by a call with other values, and the refusal names the field', async () => {
    await expect(createCustomTimeSeries(dyingAt(deps, 5, 'after'), request('differs'))).rejects.toThrow(Died);
    await expect(
      createCustomTimeSeries(deps, request('differs', { is_split_measurement: true })),
    ).rejects.toThrow(
      expect.objectContaining({
        code: 'creation_differs',
        message: expect.stringContaining('is_split_measurement false'),
      }),
    );
    await createCustomTimeSeries(deps, request('differs'));
    await expectWhole('differs');
  });

  it('keeps the token it has written', async () => {
    await expect(createCustomTimeSeries(dyingAt(deps, 9, 'after'), request('token'))).rejects.toThrow(Died);
    const [left] = reportsNamed('token');
    const before = left && (await deps.records.dataSources.get(left.mon_data_id))?.value.token;
    expect(before).toMatch(/^[0-9a-f]{32}$/);
    expect((await createCustomTimeSeries(deps, request('token'))).data_source.token).toBe(before);
  });
});

describe('creations at the same time', () => {
  const settle = async (calls: Promise<unknown>[]): Promise<{ won: number; codes: unknown[] }> => {
    const results = await Promise.allSettled(calls);
    const codes = results.flatMap((result) =>
      result.status === 'rejected' ? [Object(result.reason).code] : [],
    );
    return { won: results.length - codes.length, codes };
  };

  it('of one name make one report: one call wins, the others get the conflict', async () => {
    const other = await openDeps();
    for (let round = 0; round < 5; round++) {
      const name = `race ${round}`;
      const calls = [deps, other, deps, other].map((one) => createCustomTimeSeries(one, request(name)));
      const { won, codes } = await settle(calls);
      expect(won).toBe(1);
      for (const code of codes) expect(['name_taken', 'creation_in_progress']).toContain(code);
      await until('this copy knows of it', () => reportsNamed(name)[0]?.state === 'active');
      await expectWhole(name);
    }
    other.records.stop();
  });

  it('of many names get different ids', async () => {
    const other = await openDeps();
    const created = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        createCustomTimeSeries(index % 2 === 0 ? deps : other, request(`many ${index}`)),
      ),
    );
    for (const field of ['custom_report_id', 'mon_data_id', 'time_series_group_id', 'table_id'] as const) {
      expect(new Set(created.map(({ custom_report }) => custom_report[field])).size).toBe(12);
    }
    other.records.stop();
  });

  it('of one application give it one token', async () => {
    const application = authored(applicationRequestSchema, { mon_biz_id: 2, app_name: 'race' });
    const { won, codes } = await settle(
      Array.from({ length: 4 }, () => createApplication(deps, application)),
    );
    expect(won).toBe(1);
    for (const code of codes) expect(['name_taken', 'creation_in_progress']).toContain(code);
  });
});

describe('a name', () => {
  const setState = async (name: string, state: CustomReport['state']): Promise<void> => {
    const [report] = reportsNamed(name);
    if (report === undefined) throw new Error(`no report ${name}`);
    await deps.records.reports.change(report.custom_report_id, (current) => ({ ...current, state }));
    await deps.records.groups.change(report.mon_data_id, (group) => ({ ...group, is_delete: true }));
  };

  it('is free again once its report is deleted, and the new report has a new data id', async () => {
    const first = await createCustomTimeSeries(deps, request('again'));
    await expect(createCustomTimeSeries(deps, request('again'))).rejects.toThrow(
      expect.objectContaining({ code: 'name_taken' }),
    );
    await setState('again', 'deleted');
    const second = await createCustomTimeSeries(deps, request('again'));
    expect(second.custom_report.mon_data_id).not.toBe(first.custom_report.mon_data_id);
    expect(second.data_source.data_name).toBe(first.data_source.data_name);
    expect(second.data_source.token).not.toBe(first.data_source.token);
  });

  it('belongs to a business: another one may have it too', async () => {
    await createCustomTimeSeries(deps, request('shared'));
    await createCustomTimeSeries(deps, request('shared', { mon_biz_id: 3 }));
    expect(reportsNamed('shared').map((report) => report.mon_biz_id)).toEqual([2, 3]);
  });

  it('of a data source that was made alone is not taken by a report, which is refused before anything is written', async () => {
    const source = authored(dataSourceRequestSchema, { data_name: '2_custom_time_series_alone' });
    await createDataSource(deps, source);
    await expect(createCustomTimeSeries(deps, request('alone'))).rejects.toThrow(
      expect.objectContaining({ code: 'name_taken' }),
    );
    expect(reportsNamed('alone')).toEqual([]);
  });

  it('held by a call that died before its record is taken up by the same call', async () => {
    for (const step of [2, 3]) {
      const source = authored(dataSourceRequestSchema, { data_name: `2_custom_time_series_left ${step}` });
      await expect(createDataSource(dyingAt(deps, step, 'before'), source)).rejects.toThrow(Died);
      expect((await createDataSource(deps, source)).data_name).toBe(source.data_name);
      const application = authored(applicationRequestSchema, { mon_biz_id: 2, app_name: `left ${step}` });
      await expect(createApplication(dyingAt(deps, step, 'before'), application)).rejects.toThrow(Died);
      expect((await createApplication(deps, application)).app_name).toBe(application.app_name);
    }
  });
});

describe('the repair of tables', () => {
  const repairTwice = async (): Promise<void> => {
    const log = createLog('test', 'silent');
    const sqls = new Map([[defaultInstance, sql]]);
    const repair = createTableRepair({ ...deps, sqls, isAway: () => false, remakeViews: () => {}, log });
    // It mends what two rounds have missed.
    await repair.round();
    await repair.round();
  };

  it('creates no table that no call has asked for yet, and again one that was made and is lost', async () => {
    const { mon_data_id } = await metadataCalls.createDataSource(deps, {
      data_name: '2_custom_time_series_steps',
    });
    const names = { mon_biz_id: 2, time_series_group_name: 'steps' };
    const { table_id } = await metadataCalls.createGroup(deps, { mon_data_id, ...names });
    await repairTwice();
    expect(await deps.tables.names()).not.toContain(table_id);
    await metadataCalls.createResultTable(deps, { mon_data_id });
    await deps.tables.drop(table_id);
    await repairTwice();
    expect(await deps.tables.names()).toContain(table_id);
  });

  it('leaves a report whose creation ended before its table to the call that finishes it', async () => {
    const wanted = request('half made');
    const [before] = await tableless(wanted);
    await repairTwice();
    expect(await deps.tables.names()).not.toContain(before);
    const { result_table } = await createCustomTimeSeries(deps, wanted);
    expect(await deps.tables.names()).toContain(result_table.table_id);
    expect(result_table.table_id).toBe(before);
  });

  /** Ends a creation right before its table is made; the table's name. */
  const tableless = async (wanted: ReportRequest): Promise<string[]> => {
    const createTable = (): Promise<never> => Promise.reject(new Died());
    const dying = { ...deps, tables: { ...deps.tables, createTable } };
    await expect(createCustomTimeSeries(dying, wanted)).rejects.toThrow(Died);
    return reportsNamed(wanted.name).map((report) => report.table_id);
  };
});

describe('ids', () => {
  // A data id beyond the range would not fit where the original's users store it.
  it('end with a clear refusal when all data ids are given out', async () => {
    const system = await openKvBucket(bus, buckets.system);
    const key = systemKeys.counter('data_id');
    const before = (await system.get(key))?.value;
    await system.put(key, dataIdRange.last - 1);
    const last = await createCustomTimeSeries(deps, request('the last one'));
    expect(last.custom_report.mon_data_id).toBe(dataIdRange.last);
    await expect(createCustomTimeSeries(deps, request('one too many'))).rejects.toThrow(
      expect.objectContaining({ kind: 'permanent', code: 'data_ids_exhausted' }),
    );
    await system.put(key, before);
  });
});
