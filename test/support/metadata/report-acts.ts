import fc from 'fast-check';
import { expect } from 'vitest';
import { z } from 'zod';
import { operations } from './admin-api.ts';
import {
  act,
  type Command,
  change,
  expectReport,
  expectStatus,
  isTaken,
  type Model,
  type ModelReport,
  pathsOf,
  pick,
  type World,
  who,
} from './model.ts';
import type { Reply } from './pair.ts';

const names = fc.constantFrom('one', 'two', 'three', 'four');
const hasReports = (model: Model): boolean => model.reports.length > 0;

const created = z.object({
  custom_report: z.object({ custom_report_id: z.int(), is_split_measurement: z.boolean() }),
  data_source: z.object({ mon_data_id: z.int(), token: z.string() }),
  time_series_group: z.object({ time_series_group_id: z.int() }),
  result_table: z.object({ table_id: z.string() }),
});

/** Enters a report that was created, and fails when it has an id that was there before. */
export const enter = (model: Model, name: string, reply: Reply): ModelReport => {
  const { custom_report, data_source, time_series_group, result_table } = created.parse(reply.fields);
  const report: ModelReport = {
    id: custom_report.custom_report_id,
    dataId: data_source.mon_data_id,
    groupId: time_series_group.time_series_group_id,
    tableId: result_table.table_id,
    name,
    isSplit: custom_report.is_split_measurement,
    token: data_source.token,
    isDeleted: false,
    isPurged: false,
    flags: { source: true, group: true, table: true },
    description: '',
    scenario: 'others',
    maxRate: -1,
  };
  for (const other of model.reports) {
    expect([other.id, other.dataId, other.groupId]).not.toEqual([report.id, report.dataId, report.groupId]);
    expect(other.dataId).not.toBe(report.dataId);
    expect(other.groupId).not.toBe(report.groupId);
    expect(other.token).not.toBe(report.token);
  }
  expect(model.sources.map(({ dataId }) => dataId)).not.toContain(report.dataId);
  model.reports.push(report);
  return report;
};

export const creationOf = (model: Model, name: string, isSplit: boolean) =>
  ({
    method: 'POST',
    path: operations.report,
    body: { mon_biz_id: model.bizId, name, is_split_measurement: isSplit },
  }) as const;

const create = act({
  name: 'create',
  args: fc.record({ ...who, name: names, isSplit: fc.boolean() }),
  run: async (model, world, { process, actor, name, isSplit }) => {
    const isRefused = isTaken(model, name);
    const reply = await world.pair.call(process, actor, creationOf(model, name, isSplit));
    if (isRefused) return expectStatus(reply, 409, 'name_taken');
    expectStatus(reply, 200);
    await expectReport(world, process + 1, enter(model, name, reply));
  },
});

const createAtOnce = act({
  name: 'create at once',
  args: fc.record({ ...who, name: names, isSplit: fc.boolean() }),
  run: async (model, world, { process, actor, name, isSplit }) => {
    const isRefused = isTaken(model, name);
    const call = creationOf(model, name, isSplit);
    const replies = await Promise.all([
      world.pair.call(process, actor, call),
      world.pair.call(process + 1, actor + 1, call),
    ]);
    const winners = replies.filter(({ status }) => status === 200);
    expect(winners.length, JSON.stringify(replies)).toBe(isRefused ? 0 : 1);
    for (const reply of replies) if (reply.status !== 200) expectStatus(reply, 409);
    for (const winner of winners) await expectReport(world, process, enter(model, name, winner));
  },
});

const switchReport = act({
  name: 'switch a report',
  args: fc.record({ ...who, isEnabled: fc.boolean() }),
  check: hasReports,
  run: async (model, world, { process, actor, isEnabled, pick: index }) => {
    const report = pick(model.reports, index);
    const paths = Object.values(pathsOf(report));
    const path = `${pathsOf(report).report}/${isEnabled ? 'enable' : 'disable'}`;
    const isSet = Object.values(report.flags).every((flag) => flag === isEnabled);
    const moves = isSet ? [] : paths;
    const reply = await change(world, { process, actor, call: { method: 'POST', path }, moves, paths });
    if (report.isDeleted) return expectStatus(reply, 409, 'report_not_active');
    expectStatus(reply, 200);
    report.flags = { source: isEnabled, group: isEnabled, table: isEnabled };
    await expectReport(world, process, report);
  },
});

const switchRecord = act({
  name: 'switch a record',
  args: fc.record({
    ...who,
    isEnabled: fc.boolean(),
    kind: fc.constantFrom('source' as const, 'group' as const, 'table' as const),
  }),
  check: hasReports,
  run: async (model, world, { process, actor, isEnabled, kind, pick: index }) => {
    const report = pick(model.reports, index);
    const own = pathsOf(report);
    const path = `${own[kind]}/${isEnabled ? 'enable' : 'disable'}`;
    const moves = report.flags[kind] === isEnabled ? [] : [own[kind]];
    const paths = Object.values(own);
    const reply = await change(world, { process, actor, call: { method: 'POST', path }, moves, paths });
    if (report.isDeleted && isEnabled) return expectStatus(reply, 409, 'record_deleted');
    expectStatus(reply, 200);
    report.flags[kind] = isEnabled;
    await expectReport(world, process, report);
  },
});

const setDeleted = (report: ModelReport): void => {
  report.isDeleted = true;
  report.flags = { source: false, group: false, table: false };
};

const remove = act({
  name: 'delete',
  args: fc.record(who),
  check: hasReports,
  run: async (model, world, { process, actor, pick: index }) => {
    const report = pick(model.reports, index);
    const paths = Object.values(pathsOf(report));
    const call = { method: 'DELETE', path: pathsOf(report).report } as const;
    const moves = report.isDeleted ? [] : paths;
    expectStatus(await change(world, { process, actor, call, moves, paths }), 200);
    setDeleted(report);
    await expectReport(world, process, report);
  },
});

const purge = act({
  name: 'purge',
  args: fc.record({ ...who, isConfirmed: fc.boolean() }),
  check: hasReports,
  run: async (model, world, { process, actor, isConfirmed, pick: index }) => {
    const report = pick(model.reports, index);
    const path = `${pathsOf(report).report}/purge`;
    const body = { table_id: isConfirmed ? report.tableId : `${report.tableId}x` };
    const reply = await world.pair.call(process, actor, { method: 'POST', path, body });
    if (!isConfirmed) expectStatus(reply, 409, 'purge_not_confirmed');
    else {
      expectStatus(reply, 200);
      setDeleted(report);
      report.isPurged = true;
    }
    await expectReport(world, process + 1, report);
  },
});

const rotated = z.object({ token: z.string().regex(/^[0-9a-f]{32}$/) });

const rotate = act({
  name: 'rotate',
  args: fc.record({ ...who, overlap_seconds: fc.constantFrom(0, 60) }),
  check: hasReports,
  run: async (model, world, { process, actor, overlap_seconds, pick: index }) => {
    const report = pick(model.reports, index);
    const own = pathsOf(report);
    const known = new Set(world.pair.tokens);
    const call = { method: 'POST', path: `${own.source}/rotate-token`, body: { overlap_seconds } } as const;
    const reply = await change(world, {
      process,
      actor,
      call,
      moves: [own.source],
      paths: Object.values(own),
    });
    if (report.isDeleted) return expectStatus(reply, 409, 'report_not_active');
    expectStatus(reply, 200);
    const before = report.token;
    report.token = rotated.parse(reply.fields).token;
    expect(known.has(report.token)).toBe(false);
    const revealed = await world.pair.call(process + 1, actor, {
      method: 'POST',
      path: `${own.report}/reveal-token`,
    });
    expect(revealed.fields).toMatchObject({
      token: report.token,
      previous: overlap_seconds === 0 ? null : { token: before },
    });
  },
});

const patch = act({
  name: 'patch',
  args: fc.record({
    ...who,
    etag: fc.constantFrom('none', 'right', 'stale'),
    description: fc.constantFrom('a', 'b', 'c'),
    scenario: fc.constantFrom('os', 'others'),
    max_rate: fc.constantFrom(-1, 5, 7),
  }),
  check: hasReports,
  run: async (model, world, { process, actor, etag, pick: index, ...body }) => {
    const report = pick(model.reports, index);
    const own = pathsOf(report);
    const now = (await world.pair.call(process, actor, { method: 'GET', path: own.report })).etag ?? '';
    const ifMatch = etag === 'none' ? undefined : etag === 'right' ? now : '"1"';
    const call = { method: 'PATCH', path: own.report, body, ifMatch } as const;
    const moves = [own.report, own.group, own.table];
    const reply = await change(world, { process, actor, call, moves, paths: Object.values(own) });
    if (etag === 'stale') return expectStatus(reply, 412, 'precondition_failed');
    if (report.isDeleted) return expectStatus(reply, 409, 'report_not_active');
    expectStatus(reply, 200);
    Object.assign(report, { description: body.description, scenario: body.scenario, maxRate: body.max_rate });
    await expectReport(world, process, report);
  },
});

const active = (model: Model): ModelReport[] => model.reports.filter(({ isDeleted }) => !isDeleted);

const patchAtOnce = act({
  name: 'patch at once',
  args: fc.record(who),
  check: (model) => active(model).length > 0,
  run: async (model, world, { process, actor, pick: index }) => {
    const report = pick(active(model), index);
    const path = pathsOf(report).report;
    const ifMatch = (await world.pair.call(process, actor, { method: 'GET', path })).etag ?? '';
    const bodies = [
      { description: `first ${world.pair.written.length}`, scenario: 'host_device' },
      { description: `second ${world.pair.written.length}`, scenario: 'kubernetes' },
    ];
    const replies = await Promise.all(
      bodies.map((body, side) =>
        world.pair.call(process + side, actor + side, { method: 'PATCH', path, body, ifMatch }),
      ),
    );
    expect(replies.map(({ status }) => status).toSorted(), JSON.stringify(replies)).toEqual([200, 412]);
    Object.assign(report, bodies[replies.findIndex(({ status }) => status === 200)]);
    await expectReport(world, process, report);
  },
});

const patchFreely = act({
  name: 'patch at once without ETag',
  args: fc.record(who),
  check: (model) => active(model).length > 0,
  run: async (model, world, { process, actor, pick: index }) => {
    const report = pick(active(model), index);
    const path = pathsOf(report).report;
    const scenarios = ['host_process', 'apm'];
    const replies = await Promise.all(
      scenarios.map((scenario, side) =>
        world.pair.call(process + side, actor + side, { method: 'PATCH', path, body: { scenario } }),
      ),
    );
    for (const reply of replies) expectStatus(reply, 200);
    const now = await world.pair.call(process, actor, { method: 'GET', path });
    report.scenario = String(now.fields['scenario']);
    expect(scenarios).toContain(report.scenario);
    // The label of group and table is the scenario of the report, after calls in any order.
    await expectReport(world, process, report);
  },
});

const rotateAtOnce = act({
  name: 'rotate at once',
  args: fc.record(who),
  check: (model) => active(model).length > 0,
  run: async (model, world, { process, actor, pick: index }) => {
    const report = pick(active(model), index);
    const path = pathsOf(report).source;
    const ifMatch = (await world.pair.call(process, actor, { method: 'GET', path })).etag ?? '';
    const replies = await Promise.all(
      [30, 3_000].map((overlap_seconds, side) =>
        world.pair.call(process + side, actor + side, {
          method: 'POST',
          path: `${path}/rotate-token`,
          body: { overlap_seconds },
          ifMatch,
        }),
      ),
    );
    expect(replies.map(({ status }) => status).toSorted(), JSON.stringify(replies)).toEqual([200, 412]);
    const winner = replies.find(({ status }) => status === 200);
    const before = report.token;
    report.token = rotated.parse(winner?.fields).token;
    const revealed = await world.pair.call(process, actor, { method: 'POST', path: `${path}/reveal-token` });
    expect(revealed.fields).toEqual({
      token: report.token,
      previous: { token: before, expires_at: winner?.fields['previous_expires_at'] },
    });
  },
});

const registerMetric = act({
  name: 'register a metric',
  args: fc.record({ ...who, metric: fc.constantFrom('cpu', 'CPU', 'load') }),
  check: (model) => model.reports.some(({ isSplit }) => isSplit),
  run: async (model, world: World, { metric, pick: index }) => {
    const report = pick(
      model.reports.filter(({ isSplit }) => isSplit),
      index,
    );
    await world.registerMetric(report.dataId, report.tableId, metric);
  },
});

/** What is done to custom reports. */
export const reportActs: fc.Arbitrary<Command>[] = [
  create,
  create,
  createAtOnce,
  switchReport,
  switchRecord,
  remove,
  purge,
  rotate,
  patch,
  patchAtOnce,
  patchFreely,
  rotateAtOnce,
  registerMetric,
];
