import fc from 'fast-check';
import { expect } from 'vitest';
import { z } from 'zod';
import { backupSchema } from '../../../src/metadata/backup/document.ts';
import { operations } from './admin-api.ts';
import {
  act,
  type Command,
  change,
  expectReport,
  expectStatus,
  isTaken,
  type ModelApplication,
  pathsOf,
  pick,
  type World,
  who,
} from './model.ts';
import type { Call } from './pair.ts';
import { creationOf, enter } from './report-acts.ts';

const names = fc.constantFrom('one', 'two', 'three', 'four');
const withId = z.object({ mon_data_id: z.int() });
const withTable = z.object({ table_id: z.string() });

const createSource = act({
  name: 'CreateDataID',
  args: fc.record({ ...who, name: names }),
  run: async (model, world, { process, actor, name }) => {
    const isRefused = isTaken(model, name);
    const data_name = `${model.bizId}_custom_time_series_${name}`;
    const call = { method: 'POST', path: operations.dataSource, body: { data_name } } as const;
    const reply = await world.pair.call(process, actor, call);
    if (isRefused) return expectStatus(reply, 409, 'name_taken');
    expectStatus(reply, 200);
    const dataId = withId.parse(reply.fields).mon_data_id;
    expect([...model.reports, ...model.sources].map((each) => each.dataId)).not.toContain(dataId);
    model.sources.push({ dataId, name, hasGroup: false, tableId: undefined, isPurged: false });
  },
});

/** The next step of a source that was made alone, or one too many. */
const extendSource = act({
  name: 'CreateTimeSeriesGroup or create_result_table',
  args: fc.record({ ...who, isTable: fc.boolean() }),
  check: (model) => model.sources.length > 0,
  run: async (model, world, { process, actor, isTable, pick: index }) => {
    const source = pick(model.sources, index);
    const { dataId: mon_data_id, name } = source;
    const body = isTable
      ? { mon_data_id }
      : { mon_data_id, mon_biz_id: model.bizId, time_series_group_name: name };
    const path = isTable ? operations.resultTable : operations.group;
    const reply = await world.pair.call(process, actor, { method: 'POST', path, body });
    if (source.isPurged) return expectStatus(reply, 409, 'data_id_purged');
    if (isTable && !source.hasGroup) return expectStatus(reply, 409, 'group_missing');
    if (isTable && source.tableId !== undefined) return expectStatus(reply, 409, 'table_exists');
    if (!isTable && source.hasGroup) return expectStatus(reply, 409, 'group_exists');
    expectStatus(reply, 200);
    const tableId = withTable.parse(reply.fields).table_id;
    expect(tableId).toBe(`${model.bizId}_mon_time_series_${mon_data_id}.__default__`);
    if (isTable) source.tableId = tableId;
    else source.hasGroup = true;
  },
});

const purgeSource = act({
  name: 'purge a data source',
  args: fc.record(who),
  check: (model) => model.sources.length > 0,
  run: async (model, world, { process, actor, pick: index }) => {
    const source = pick(model.sources, index);
    const path = `/api/v1/data-sources/${source.dataId}/purge`;
    const body = { table_id: source.tableId ?? 'none' };
    const reply = await world.pair.call(process, actor, { method: 'POST', path, body });
    if (source.tableId === undefined) return expectStatus(reply, 409, 'table_missing');
    expectStatus(reply, 200);
    expect(reply.fields).toMatchObject({ is_enable: false });
    source.isPurged = true;
  },
});

const policy = act({
  name: 'set a policy',
  args: fc.record({
    ...who,
    etag: fc.constantFrom('none', 'right', 'stale'),
    body: fc.record(
      { retention_days: fc.constantFrom(7, 30, 'off', null), points_max: fc.constantFrom(10, 20, null) },
      { requiredKeys: [] },
    ),
  }),
  check: (model) => model.reports.length > 0,
  run: async (model, world, { process, actor, etag, body, pick: index }) => {
    const path = `${pathsOf(pick(model.reports, index)).source}/policy`;
    const before = await world.pair.call(process, actor, { method: 'GET', path });
    const ifMatch = etag === 'none' ? undefined : etag === 'right' ? (before.etag ?? '') : '"1"';
    const reply = await world.pair.call(process, actor, { method: 'PATCH', path, body, ifMatch });
    const after = await world.pair.call(process + 1, actor, { method: 'GET', path });
    if (etag === 'stale') {
      expectStatus(reply, 412, 'precondition_failed');
      return expect(after).toEqual(before);
    }
    expectStatus(reply, 200);
    expect({ ...after, operator: undefined }).toEqual({ ...reply, operator: undefined });
    // The ETag moves exactly when the policy has changed.
    expect(JSON.stringify(after.fields) === JSON.stringify(before.fields)).toBe(after.etag === before.etag);
    for (const [field, value] of Object.entries(body)) {
      if (value !== null) expect(after.fields).toMatchObject({ policy: { [field]: value } });
    }
  },
});

const applicationPath = ({ id }: ModelApplication): string => `/api/v1/applications/${id}`;
const withApplication = z.object({ application: z.object({ app_id: z.int(), token: z.string() }) });

const createApplication = act({
  name: 'create applications at once',
  args: fc.record({ ...who, name: names, isSame: fc.boolean() }),
  run: async (model, world, { process, actor, name, isSame }) => {
    const isRefused = model.applications.some((each) => each.name === name && !each.isDeleted);
    const replies = await Promise.all(
      [true, isSame].map((deduplicate, side) =>
        world.pair.call(process + side, actor + side, {
          method: 'POST',
          path: '/api/v1/applications',
          body: { mon_biz_id: model.bizId, app_name: name, deduplicate },
        }),
      ),
    );
    const winners = replies.filter(({ status }) => status === 200);
    expect(winners.length, JSON.stringify(replies)).toBe(isRefused ? 0 : 1);
    for (const reply of replies) if (reply.status !== 200) expectStatus(reply, 409);
    for (const winner of winners) {
      const { app_id: id, token } = withApplication.parse(winner.fields).application;
      expect(model.applications.map((each) => each.id)).not.toContain(id);
      expect(model.applications.map((each) => each.token)).not.toContain(token);
      model.applications.push({ id, name, token, isDeleted: false, isEnabled: true });
      const path = `/api/v1/applications/${id}/policy`;
      const { fields } = await world.pair.call(process, actor, { method: 'GET', path });
      expect(fields).toMatchObject({ policy: { deduplicate: replies.indexOf(winner) === 0 || isSame } });
    }
  },
});

const changeApplication = act({
  name: 'change an application',
  args: fc.record({ ...who, what: fc.constantFrom('enable', 'disable', 'delete', 'rotate', 'patch') }),
  check: (model) => model.applications.length > 0,
  run: async (model, world, { process, actor, what, pick: index }) => {
    const application = pick(model.applications, index);
    const path = applicationPath(application);
    const calls: Record<string, Call> = {
      enable: { method: 'POST', path: `${path}/enable` },
      disable: { method: 'POST', path: `${path}/disable` },
      delete: { method: 'DELETE', path },
      rotate: { method: 'POST', path: `${path}/rotate-token` },
    };
    const call = calls[what] ?? { method: 'PATCH', path, body: { max_rate: world.pair.written.length } };
    const reply = await change(world, { process, actor, call, moves: [path], paths: [path] });
    const isRefused = application.isDeleted && what !== 'delete' && what !== 'patch';
    if (isRefused) return expectStatus(reply, 409, 'application_deleted');
    expectStatus(reply, 200);
    if (what === 'enable' || what === 'disable') application.isEnabled = what === 'enable';
    if (what === 'delete') Object.assign(application, { isDeleted: true, isEnabled: false });
    if (what === 'rotate') application.token = z.string().parse(reply.fields['token']);
    const now = await world.pair.call(process + 1, actor, { method: 'GET', path });
    expect(now.fields).toMatchObject({
      is_enable: application.isEnabled,
      is_delete: application.isDeleted,
      token: `${application.token.slice(0, 4)}${'*'.repeat(28)}`,
    });
  },
});

const exportAll = act({
  name: 'export',
  args: fc.record(who),
  run: async (model, world, { process, actor }) => {
    const reply = await world.pair.call(process, actor, { method: 'GET', path: '/api/v1/export' });
    const backup = backupSchema.parse(reply.fields);
    for (const { id, dataId, token } of model.reports) {
      expect(backup.custom_reports[String(id)]).toMatchObject({ mon_data_id: dataId });
      expect(backup.data_sources[String(dataId)]).toMatchObject({ token });
    }
    for (const { id, token } of model.applications) {
      expect(backup.applications[String(id)]).toMatchObject({ token });
    }
  },
});

/** Makes a call, kills its process when this many records have changed, and repeats the call at the other one. */
const killedIn = async (
  world: World,
  { process, actor, changes, call }: { process: number; actor: number; changes: number; call: Call },
) => {
  const { role } = world.pair.processes[process % 2 === 0 ? 0 : 1];
  const { operators } = world.pair;
  const first = operators();
  const reached = world.witness.more(changes);
  const attempt = world.pair.call(process, actor, call).catch(() => undefined);
  await Promise.race([reached, attempt]);
  await role.kill();
  const reply = await attempt;
  world.pair.cutOff.add(`operator ${first + 1}`);
  const [answer] = await Promise.all([
    reply?.status === 200 ? reply : world.pair.call(process + 1, actor, call),
    role.start(),
  ]);
  return answer;
};

const killCreation = act({
  name: 'kill in a creation',
  args: fc.record({ ...who, name: names, isSplit: fc.boolean(), changes: fc.nat(9) }),
  check: (model) => ['one', 'two', 'three', 'four'].some((name) => !isTaken(model, name)),
  run: async (model, world, { process, actor, isSplit, changes, name: wanted }) => {
    const free = ['one', 'two', 'three', 'four'].filter((each) => !isTaken(model, each));
    const name = free.includes(wanted) ? wanted : (free[0] ?? '');
    const call = creationOf(model, name, isSplit);
    const reply = await killedIn(world, { process, actor, changes, call });
    if (reply.status === 200) return expectReport(world, process, enter(model, name, reply));
    // It was finished before the kill, and only its answer was lost: the report is deleted, because no one has its
    // token.
    expectStatus(reply, 409, 'name_taken');
    const path = `/api/v1/custom-reports?mon_biz_id=${model.bizId}&name=${name}&state=active`;
    const { fields } = await world.pair.call(process + 1, actor, { method: 'GET', path });
    const [{ custom_report_id }] = z.tuple([z.object({ custom_report_id: z.int() })]).parse(fields['items']);
    const gone = { method: 'DELETE', path: `/api/v1/custom-reports/${custom_report_id}` } as const;
    expectStatus(await world.pair.call(process + 1, actor, gone), 200);
  },
});

const killChange = act({
  name: 'kill in a change',
  args: fc.record({
    ...who,
    what: fc.constantFrom('delete', 'purge', 'disable', 'rotate'),
    changes: fc.nat(4),
  }),
  check: (model) => model.reports.some(({ isDeleted }) => !isDeleted),
  run: async (model, world, { process, actor, what, changes, pick: index }) => {
    const report = pick(
      model.reports.filter(({ isDeleted }) => !isDeleted),
      index,
    );
    const own = pathsOf(report);
    const calls: Record<string, Call> = {
      delete: { method: 'DELETE', path: own.report },
      purge: { method: 'POST', path: `${own.report}/purge`, body: { table_id: report.tableId } },
      disable: { method: 'POST', path: `${own.report}/disable` },
    };
    const call = calls[what] ?? { method: 'POST', path: `${own.source}/rotate-token` };
    const reply = await killedIn(world, { process, actor, changes, call });
    expectStatus(reply, 200);
    if (what === 'rotate') report.token = z.string().parse(reply.fields['token']);
    else report.flags = { source: false, group: false, table: false };
    if (what === 'delete' || what === 'purge') report.isDeleted = true;
    if (what === 'purge') report.isPurged = true;
    await expectReport(world, process, report);
  },
});

const invariants = act({
  name: 'invariants',
  args: fc.constant({}),
  run: (_, world) => world.expectInvariants(),
});

/** What is done to all else, the kills, and the look at everything. */
export const otherActs: fc.Arbitrary<Command>[] = [
  createSource,
  createSource,
  extendSource,
  extendSource,
  extendSource,
  extendSource,
  purgeSource,
  policy,
  createApplication,
  changeApplication,
  changeApplication,
  exportAll,
  killCreation,
  killChange,
  invariants,
  invariants,
];
