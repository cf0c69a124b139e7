import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordKeys } from '../../src/directory/keys.ts';
import type { Application, CustomReport } from '../../src/directory/records.ts';
import { spawnChild } from '../../src/embedded/child.ts';
import { type Backup, backupSchema } from '../../src/metadata/backup/document.ts';
import { exportRecords } from '../../src/metadata/backup/export.ts';
import { reservedNames } from '../../src/metadata/records/store.ts';
import { newToken } from '../../src/metadata/records/values.ts';
import type { CreationDeps, ReportRecords } from '../../src/metadata/reports/creation.ts';
import { isGone } from '../../src/metadata/reports/deletion.ts';
import { startKeeper } from '../../src/metadata/reports/keeper.ts';
import { readReport } from '../../src/metadata/reports/life-cycle.ts';
import { nowSeconds } from '../../src/model/time.ts';
import type { QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { type MetadataCall, metadataCalls } from '../support/metadata/calls.ts';
import type { Task } from '../support/metadata/dying-metadata.ts';
import { type OpenMetadata, startOpenMetadata } from '../support/metadata/open-metadata.ts';
import { brokenInvariants } from '../support/metadata/record-invariants.ts';
import type { Gap } from '../support/stack/dying.ts';
import type { TestEngines } from '../support/stack/engines.ts';
import { until } from '../support/until.ts';

let metadata: OpenMetadata;
let engines: TestEngines;
let sql: QuestdbSql;
let deps: CreationDeps;

beforeAll(async () => {
  metadata = await startOpenMetadata();
  ({ engines, sql, deps } = metadata);
});
afterAll(() => metadata?.stop());

const entry = new URL('../support/metadata/dying-metadata.ts', import.meta.url).pathname;

/** How the process ended: `killed`, or the number of its writes. */
const runChild = async (call: MetadataCall, input: unknown, gap?: Gap): Promise<'killed' | number> => {
  const task: Task = { nats: engines.nats.url, questdb: engines.questdb.url, call, input, gap };
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: `${engines.folder}/compile-cache`,
  };
  const command = { command: process.execPath, args: [entry, JSON.stringify(task)], env };
  const child = spawnChild('dying', command, () => undefined);
  const { code, signal } = await child.ended;
  if (signal === 'SIGKILL') return 'killed';
  const [line = ''] = child.lastLines().slice(-1);
  if (code !== 0) throw new Error(`${call} ${JSON.stringify(gap)}: ${child.lastLines().join('\n')}`);
  return Number(line);
};

let names = 0;
const freshName = (): string => `gap ${++names}`;

const createReport = async (more: object = {}): Promise<ReportRecords> =>
  metadataCalls.createReport(deps, { mon_biz_id: 2, name: freshName(), ...more });

type Scenario<I> = {
  readonly call: MetadataCall;
  /** The least number of writes that it is known to need. */
  readonly writesLeast: number;
  /** Makes what the call works on. */
  readonly prepare: () => Promise<I>;
  /** After the kill: finishes the call in some way, and returns the expected state. */
  readonly finish: (input: I, gap: Gap) => Promise<void>;
  /** The number of writes does not distinguish calls that meet in a counter. */
  readonly atOnce?: 1;
};

/** Kills one process after another in each gap of the call there is, two at a time, and finishes what each has left. */
const everyGap = async <I>({ call, writesLeast, prepare, finish, atOnce }: Scenario<I>): Promise<void> => {
  const writes = await runChild(call, await prepare());
  expect(writes).toBeGreaterThanOrEqual(writesLeast);
  // After one write is before the next: nothing that others can see happens in between.
  const gaps: Gap[] = [
    { step: 1, side: 'before' },
    ...Array.from({ length: Number(writes) }, (_, index): Gap => ({ step: index + 1, side: 'after' })),
  ];
  let tested = 0;
  const work = async (): Promise<void> => {
    for (let gap = gaps.shift(); gap !== undefined; gap = gaps.shift()) {
      const input = await prepare();
      expect(await runChild(call, input, gap), JSON.stringify({ call, gap })).toBe('killed');
      await finish(input, gap).catch((error: unknown) => {
        throw new Error(`${call} killed ${gap.side} write ${gap.step}`, { cause: error });
      });
      tested += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce ?? 2 }, work));
  // A write that is added to the call is tested because it is counted.
  expect(tested).toBe(Number(writes) + 1);
  await expectInvariants();
};

const expectInvariants = async (): Promise<void> => {
  let broken: string[] = [];
  await until('all invariants hold', async () => {
    broken = await brokenInvariants(deps.records, sql);
    return broken.length === 0;
  }).catch((error: unknown) => {
    throw new Error(broken.join('\n'), { cause: error });
  });
};

/** A round of the keeper of a process that has been up for longer than any purge waits. */
const keeperRound = async (): Promise<void> => {
  const keeper = startKeeper({
    records: deps.records,
    tables: deps.tables,
    repair: { round: async () => {} },
    isAway: () => false,
    purgeWaitMs: 0,
    now: Date.now,
    log: createLog('test', 'silent'),
  });
  await keeper.round();
  await keeper.stop();
};

/** The report that has this name now, from KV: our copy may be behind the process that was killed. */
const holderOf = async (name: string): Promise<CustomReport | undefined> => {
  const id = await deps.records.holderOf(reservedNames.report(2, name));
  return id === undefined ? undefined : (await deps.records.reports.get(id))?.value;
};

const idsOf = ({ custom_report_id, mon_data_id, time_series_group_id, table_id }: CustomReport) => ({
  custom_report_id,
  mon_data_id,
  time_series_group_id,
  table_id,
});

const expectWhole = async (report: CustomReport): Promise<void> => {
  const { value } = await readReport(deps.records, report.custom_report_id);
  const { mon_data_id, time_series_group_id, table_id } = report;
  expect(value).toMatchObject({
    custom_report: { state: 'active', mon_data_id, time_series_group_id, table_id },
    data_source: { mon_data_id, is_enable: true, token: expect.stringMatching(/^[0-9a-f]{32}$/) },
    time_series_group: { mon_data_id, time_series_group_id, table_id, is_enable: true, is_delete: false },
    result_table: { table_id, is_enable: true, is_deleted: false },
  });
  expect(table_id).toBe(`2_mon_time_series_${mon_data_id}.__default__`);
  expect(await deps.tables.names()).toContain(table_id);
};

const expectDeleted = async (id: number): Promise<void> => {
  const { value } = await readReport(deps.records, id);
  expect(isGone(value.custom_report)).toBe(true);
  const { data_source, time_series_group, result_table } = value;
  if (data_source) expect(data_source.is_enable).toBe(false);
  if (time_series_group) expect(time_series_group).toMatchObject({ is_enable: false, is_delete: true });
  if (result_table) expect(result_table).toMatchObject({ is_enable: false, is_deleted: true });
};

describe('CreateCustomTimeSeries', () => {
  it('is finished by the same call, with the same ids', async () => {
    await everyGap({
      call: 'createReport',
      writesLeast: 13,
      prepare: async () => ({ mon_biz_id: 2, name: freshName() }),
      finish: async (request) => {
        const left = await holderOf(request.name);
        if (left?.state === 'active') {
          await expect(metadataCalls.createReport(deps, request)).rejects.toThrow(
            expect.objectContaining({ code: 'name_taken' }),
          );
          return expectWhole(left);
        }
        const created = await metadataCalls.createReport(deps, request);
        if (left !== undefined) expect(idsOf(created.custom_report)).toEqual(idsOf(left));
        await expectWhole(created.custom_report);
      },
    });
  });

  // A caller who gives up must get the name back, or the name is lost to everyone.
  it('without a repeat leaves a report that can be deleted, and its name is free', async () => {
    await everyGap({
      call: 'createReport',
      writesLeast: 13,
      prepare: async () => ({ mon_biz_id: 2, name: freshName() }),
      finish: async (request) => {
        const left = await holderOf(request.name);
        if (left !== undefined) {
          await metadataCalls.deleteReport(deps, { id: left.custom_report_id });
          await expectDeleted(left.custom_report_id);
        }
        const { custom_report } = await metadataCalls.createReport(deps, {
          ...request,
          is_split_measurement: true,
        });
        if (left !== undefined) expect(custom_report.mon_data_id).not.toBe(left.mon_data_id);
        await expectWhole(custom_report);
      },
    });
  });
});

describe('the other operations', () => {
  const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => undefined,
      (error: unknown) => Object(error).code,
    );

  it('CreateDataIDResource, CreateTimeSeriesGroupResource and create_result_table are finished by the same call', async () => {
    const source = async (name: string): Promise<number> => {
      const request = { data_name: `2_custom_time_series_${name}` };
      return (await metadataCalls.createDataSource(deps, request)).mon_data_id;
    };
    await everyGap({
      call: 'createDataSource',
      writesLeast: 3,
      prepare: async () => ({ data_name: `2_custom_time_series_${freshName()}` }),
      finish: async (request) => {
        const code = await refusalOf(metadataCalls.createDataSource(deps, request));
        expect([undefined, 'name_taken']).toContain(code);
        const made = deps.records.dataSources
          .list()
          .filter(({ value }) => value.data_name === request.data_name);
        expect(made).toHaveLength(1);
      },
    });
    await everyGap({
      call: 'createGroup',
      writesLeast: 4,
      prepare: async () => {
        const name = freshName();
        return { mon_data_id: await source(name), mon_biz_id: 2, time_series_group_name: name };
      },
      finish: async (request) => {
        const code = await refusalOf(metadataCalls.createGroup(deps, request));
        expect([undefined, 'group_exists']).toContain(code);
        expect((await deps.records.groups.get(request.mon_data_id))?.value).toMatchObject(request);
      },
    });
    await everyGap({
      call: 'createResultTable',
      writesLeast: 2,
      prepare: async () => {
        const name = freshName();
        const mon_data_id = await source(name);
        const group = { mon_data_id, mon_biz_id: 2, time_series_group_name: name };
        await metadataCalls.createGroup(deps, group);
        return { mon_data_id };
      },
      finish: async (request) => {
        const code = await refusalOf(metadataCalls.createResultTable(deps, request));
        expect([undefined, 'table_exists']).toContain(code);
        expect(await deps.records.tables.get(request.mon_data_id)).toBeDefined();
      },
    });
  });

  it('the creation of an application is finished by the same call, with one token', async () => {
    await everyGap({
      call: 'createApplication',
      writesLeast: 5,
      atOnce: 1,
      prepare: async () => ({ mon_biz_id: 2, app_name: freshName(), deduplicate: false }),
      finish: async (request) => {
        const code = await refusalOf(metadataCalls.createApplication(deps, request));
        expect([undefined, 'name_taken']).toContain(code);
        const id = await deps.records.holderOf(reservedNames.application(2, request.app_name));
        const application = id === undefined ? undefined : (await deps.records.applications.get(id))?.value;
        expect(application).toMatchObject({ app_name: request.app_name, is_enable: true, is_delete: false });
        expect((await deps.records.applicationPolicies.get(id ?? 0))?.value).toEqual({ deduplicate: false });
        expect(await deps.records.lookUp(recordKeys.applicationToken(application?.token ?? ''))).toBe(id);
      },
    });
  });
});

describe('disabling and enabling', () => {
  it.each([false, true])('a report (is_enable %s) is finished by the same call', async (is_enable) => {
    await everyGap({
      call: 'setReportEnabled',
      writesLeast: 4,
      prepare: async () => {
        const id = (await createReport()).custom_report.custom_report_id;
        if (is_enable) await metadataCalls.setReportEnabled(deps, { id, is_enable: false });
        return { id, is_enable };
      },
      finish: async (input) => {
        await metadataCalls.setReportEnabled(deps, input);
        const { value } = await readReport(deps.records, input.id);
        const { data_source, time_series_group, result_table } = value;
        for (const each of [data_source, time_series_group, result_table])
          expect(each).toMatchObject({ is_enable });
      },
    });
  });
});

describe('a deletion', () => {
  const prepare = async () => {
    const { custom_report } = await createReport();
    return { id: custom_report.custom_report_id, name: custom_report.name };
  };

  it('is finished by the same call', async () => {
    await everyGap({
      call: 'deleteReport',
      writesLeast: 4,
      prepare,
      finish: async ({ id }) => {
        await metadataCalls.deleteReport(deps, { id });
        await expectDeleted(id);
      },
    });
  });

  it('without a repeat is finished by the keeper once its state is written, and frees the name at once', async () => {
    await everyGap({
      call: 'deleteReport',
      writesLeast: 4,
      prepare,
      finish: async ({ id, name }, { step, side }) => {
        const isBegun = step > 1 || side === 'after';
        const report = (await readReport(deps.records, id)).value.custom_report;
        expect(report.state).toBe(isBegun ? 'deleted' : 'active');
        if (!isBegun) return;
        // Half of the gaps by the keeper, the others by the creation that takes the name.
        if (side === 'before') {
          const created = await metadataCalls.createReport(deps, { mon_biz_id: 2, name });
          expect(created.custom_report.mon_data_id).not.toBe(report.mon_data_id);
          await expectWhole(created.custom_report);
          return expectDeleted(id);
        }
        await until('the keeper has finished it', async () => {
          await keeperRound();
          await expectDeleted(id);
          return true;
        });
      },
    });
  });
});

describe('a purge', () => {
  const prepare = async () => {
    const { custom_report } = await createReport({ is_split_measurement: true });
    const { custom_report_id: id, table_id, name } = custom_report;
    await deps.tables.createMetricView(table_id, 'cpu', 'cpu');
    return { id, table_id, name };
  };

  const expectPurged = async (id: number, tableId: string): Promise<void> => {
    await until('the keeper has dropped it', async () => {
      await keeperRound();
      const { custom_report } = (await readReport(deps.records, id)).value;
      return custom_report.state === 'purged';
    });
    await expectDeleted(id);
    expect(await deps.tables.names()).not.toContain(tableId);
  };

  it('of a report is finished by the same call', async () => {
    await everyGap({
      call: 'purgeReport',
      writesLeast: 6,
      prepare,
      finish: async ({ id, table_id }) => {
        await metadataCalls.purgeReport(deps, { id, table_id });
        await expectPurged(id, table_id);
      },
    });
  });

  it('without a repeat is finished by the keeper once it is stored, and else is a deletion', async () => {
    await everyGap({
      call: 'purgeReport',
      writesLeast: 6,
      prepare,
      finish: async ({ id, table_id, name }) => {
        const report = (await readReport(deps.records, id)).value.custom_report;
        if ((await deps.records.purges.get(report.mon_data_id)) !== undefined) {
          await expectPurged(id, table_id);
        } else if (report.state === 'deleted') {
          await until('the keeper has finished the deletion', async () => {
            await keeperRound();
            await expectDeleted(id);
            return true;
          });
          expect(await deps.tables.names()).toContain(table_id);
        } else {
          return expectWhole(report);
        }
        const created = await metadataCalls.createReport(deps, { mon_biz_id: 2, name });
        expect(created.custom_report.mon_data_id).not.toBe(report.mon_data_id);
      },
    });
  });

  it('of a data source that no report has is finished by the same call', async () => {
    await everyGap({
      call: 'purgeDataSource',
      writesLeast: 4,
      prepare: async () => {
        const name = freshName();
        const data_name = `2_custom_time_series_${name}`;
        const { mon_data_id } = await metadataCalls.createDataSource(deps, { data_name });
        const group = { mon_data_id, mon_biz_id: 2, time_series_group_name: name };
        await metadataCalls.createGroup(deps, group);
        const { table_id } = await metadataCalls.createResultTable(deps, { mon_data_id });
        return { id: mon_data_id, table_id, data_name };
      },
      finish: async ({ id, table_id, data_name }) => {
        await metadataCalls.purgeDataSource(deps, { id, table_id });
        await until('the keeper has dropped it', async () => {
          await keeperRound();
          return (await deps.records.purges.get(id))?.value.state === 'purged';
        });
        expect(await deps.tables.names()).not.toContain(table_id);
        // The name is free again.
        expect((await metadataCalls.createDataSource(deps, { data_name })).mon_data_id).not.toBe(id);
      },
    });
  });
});

describe('a rotation', () => {
  // After an interruption the old token must still be valid: no sender has the new one.
  it('of a data source that is interrupted leaves the old token valid, and the same call gives a new one', async () => {
    await everyGap({
      call: 'rotateDataSourceToken',
      writesLeast: 2,
      prepare: async () => {
        const { mon_data_id, token } = (await createReport()).data_source;
        return { id: mon_data_id, token };
      },
      finish: async ({ id, token }) => {
        const now = (await deps.records.dataSources.get(id))?.value.token;
        const previous = (await deps.records.previousTokens.get(id))?.value;
        expect([now, previous?.token]).toContain(token);
        const rotated = await metadataCalls.rotateDataSourceToken(deps, { id });
        expect([token, now]).not.toContain(rotated.value.token);
        expect((await deps.records.previousTokens.get(id))?.value).toEqual({
          token: now,
          expires_at: rotated.previousExpiresAt,
        });
      },
    });
  });

  it('of an application likewise, and its tokens are found', async () => {
    await everyGap({
      call: 'rotateApplicationToken',
      writesLeast: 3,
      prepare: async () => {
        const request = { mon_biz_id: 2, app_name: freshName() };
        const { app_id, token } = await metadataCalls.createApplication(deps, request);
        return { id: app_id, token };
      },
      finish: async ({ id, token }) => {
        const now = (await deps.records.applications.get(id))?.value.token;
        const previous = (await deps.records.previousApplicationTokens.get(id))?.value;
        expect([now, previous?.token]).toContain(token);
        const rotated = await metadataCalls.rotateApplicationToken(deps, { id });
        expect([token, now]).not.toContain(rotated.value.token);
        for (const each of [now ?? '', rotated.value.token]) {
          expect(await deps.records.lookUp(recordKeys.applicationToken(each))).toBe(id);
        }
      },
    });
  });
});

describe('an import', () => {
  type Templates = { report: ReportRecords; application: Application };

  const templates = async (): Promise<Templates> => ({
    report: await createReport(),
    application: await metadataCalls.createApplication(deps, { mon_biz_id: 2, app_name: freshName() }),
  });

  /** A document of a report with all that may be its own, and of an application, none of them here. */
  const document = async ({ report: template, application }: Templates): Promise<Backup> => {
    const { records } = deps;
    const name = freshName();
    const dataId = await records.nextId('data_id');
    const reportId = await records.nextId('custom_report_id');
    const groupId = await records.nextId('time_series_group_id');
    const appId = await records.nextId('app_id');
    const ids = { mon_data_id: dataId, mon_biz_id: 2, table_id: `2_mon_time_series_${dataId}.__default__` };
    const { custom_report, data_source, time_series_group, result_table } = template;
    const previous = () => ({ token: newToken(), expires_at: nowSeconds() + 60 });
    const { mon_data_id: _, ...tableIds } = ids;
    const byDataId = <T>(value: T): Record<string, T> => ({ [dataId]: value });
    return {
      ...(await exportRecords(records)),
      custom_reports: {
        [reportId]: {
          ...custom_report,
          ...ids,
          name,
          custom_report_id: reportId,
          time_series_group_id: groupId,
        },
      },
      data_sources: byDataId({
        ...data_source,
        mon_data_id: dataId,
        token: newToken(),
        data_name: `2_custom_time_series_${name}`,
      }),
      time_series_groups: byDataId({
        ...time_series_group,
        ...ids,
        time_series_group_name: name,
        time_series_group_id: groupId,
      }),
      result_tables: byDataId({ ...result_table, ...tableIds }),
      source_policies: byDataId({ retention_days: 30 }),
      previous_tokens: byDataId(previous()),
      purges: {},
      applications: {
        [appId]: { ...application, app_id: appId, app_name: name, token: newToken() },
      },
      application_policies: { [appId]: { deduplicate: false } },
      previous_application_tokens: { [appId]: previous() },
      columns: byDataId({ mon_data_id: dataId, metrics: [], dimensions: [] }),
    };
  };

  it('is finished by the same call, and brings in the document as it is', async () => {
    const made = await templates();
    await everyGap({
      call: 'importRecords',
      writesLeast: 15,
      prepare: () => document(made),
      finish: async (backup) => {
        await metadataCalls.importRecords(deps, backup);
        const { exported_at: _, counters: __, ...kinds } = backup;
        const now = await exportRecords(deps.records);
        for (const [kind, values] of Object.entries(kinds)) {
          if (typeof values === 'object') expect(Reflect.get(now, kind), kind).toMatchObject(values);
        }
      },
    });
  });

  it('raises counters that are behind, and the same call raises the rest', async () => {
    const withoutRecords = async (): Promise<Backup> => {
      const now = await exportRecords(deps.records);
      const counters = Object.entries(now.counters).map(([name, last]) => [name, last + 1]);
      return backupSchema.parse({
        ...Object.fromEntries(
          Object.entries(now).map(([kind, value]) => [kind, typeof value === 'object' ? {} : value]),
        ),
        counters: Object.fromEntries(counters),
      });
    };
    await everyGap({
      call: 'importRecords',
      writesLeast: 4,
      atOnce: 1,
      prepare: withoutRecords,
      finish: async (backup) => {
        await metadataCalls.importRecords(deps, backup);
        expect((await exportRecords(deps.records)).counters).toEqual(backup.counters);
      },
    });
  });
});
