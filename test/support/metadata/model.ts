import fc from 'fast-check';
import { expect } from 'vitest';
import type { Call, MetadataPair, Reply } from './pair.ts';
import type { RecordWitness } from './record-witness.ts';

/** What is_enable of a report's or a source's three records must be. */
export type Flags = { source: boolean; group: boolean; table: boolean };

export type ModelReport = {
  readonly id: number;
  readonly dataId: number;
  readonly groupId: number;
  readonly tableId: string;
  readonly name: string;
  readonly isSplit: boolean;
  token: string;
  isDeleted: boolean;
  isPurged: boolean;
  flags: Flags;
  description: string;
  scenario: string;
  maxRate: number;
};

/** A data id that was made by its own operations. */
export type ModelSource = {
  readonly dataId: number;
  readonly name: string;
  hasGroup: boolean;
  tableId: string | undefined;
  isPurged: boolean;
};

export type ModelApplication = {
  readonly id: number;
  readonly name: string;
  token: string;
  isDeleted: boolean;
  isEnabled: boolean;
};

/** What there must be. */
export type Model = {
  readonly bizId: number;
  readonly reports: ModelReport[];
  readonly sources: ModelSource[];
  readonly applications: ModelApplication[];
};

/** What there is. */
export type World = {
  readonly pair: MetadataPair;
  readonly witness: RecordWitness;
  /** Registers a metric as a receiver does. */
  readonly registerMetric: (dataId: number, tableId: string, metric: string) => Promise<void>;
  readonly expectInvariants: () => Promise<void>;
  /** How often each command ran, and how often it was refused as it must. */
  readonly counts: Map<string, number>;
};

export type Command = fc.AsyncCommand<Model, World>;

type Act<T> = {
  readonly name: string;
  readonly args: fc.Arbitrary<T>;
  readonly check?: (model: Model) => boolean;
  readonly run: (model: Model, world: World, args: T) => Promise<void>;
};

/** A command whose arguments choose among what the model has. */
export const act = <T>({ name, args, check, run }: Act<T>): fc.Arbitrary<Command> =>
  args.map((chosen) => ({
    check: (model) => check?.(model) ?? true,
    run: async (model, world) => {
      world.counts.set(name, (world.counts.get(name) ?? 0) + 1);
      await run(model, world, chosen);
      expect(world.witness.broken).toEqual([]);
    },
    toString: () => `${name}(${fc.stringify(chosen)})`,
  }));

/** The called process, the caller, and the thing that the call names. */
export const who = { process: fc.nat(1), actor: fc.nat(1), pick: fc.nat(40) };

export const pick = <T>(things: readonly T[], index: number): T => {
  // Mostly the newest: the oldest ones are soon all deleted.
  const thing = things[things.length - 1 - (index % Math.min(things.length, 6))];
  if (thing === undefined) throw new Error('the model has none');
  return thing;
};

export const isTaken = (model: Model, name: string): boolean =>
  model.reports.some((report) => report.name === name && !report.isDeleted) ||
  model.sources.some((source) => source.name === name && !source.isPurged);

export const expectStatus = (reply: Reply, status: number, code?: string): void => {
  expect(reply, JSON.stringify(reply)).toMatchObject(
    code === undefined ? { status } : { status, fields: { code } },
  );
};

/** The paths of the four records of a report. */
export const pathsOf = (report: ModelReport) => ({
  report: `/api/v1/custom-reports/${report.id}`,
  source: `/api/v1/data-sources/${report.dataId}`,
  group: `/api/v1/time-series-groups/${report.groupId}`,
  table: `/api/v1/result-tables/${report.tableId}`,
});

type Seen = Map<string, Reply>;

const see = async ({ pair }: World, process: number, paths: readonly string[]): Promise<Seen> => {
  const seen: Seen = new Map();
  for (const path of paths) {
    const reply = await pair.call(process, 0, { method: 'GET', path });
    expectStatus(reply, 200);
    seen.set(path, reply);
  }
  return seen;
};

type Change = {
  readonly process: number;
  readonly actor: number;
  readonly call: Call;
  /** The records that may change; all others of `paths` must not. */
  readonly moves: readonly string[];
  readonly paths: readonly string[];
};

/**
 * Makes a call and compares the records before and after, asking the other process: an ETag moves exactly when its record has
 * changed, and what has changed was last modified by who called.
 */
export const change = async (
  world: World,
  { process, actor, call, moves, paths }: Change,
): Promise<Awaited<ReturnType<MetadataPair['call']>>> => {
  const before = await see(world, process, paths);
  const reply = await world.pair.call(process, actor, call);
  const after = await see(world, process + 1, paths);
  const token = world.pair.actors[actor % 2]?.name;
  const by = reply.operator === undefined ? token : `${reply.operator} via ${token}`;
  for (const path of paths) {
    const [old, now] = [before.get(path), after.get(path)];
    // The keeper may finish the purge at any moment.
    if (old?.fields['state'] === 'purging') continue;
    const hasMoved = old?.etag !== now?.etag;
    const what = `${call.method} ${call.path} answered ${reply.status}: ${path}`;
    if (!moves.includes(path) || reply.status !== 200) expect(now, what).toEqual(old);
    else if (!hasMoved) expect(now?.fields, what).toEqual(old?.fields);
    else {
      expect(now?.fields, what).not.toEqual(old?.fields);
      expect(now?.fields, what).toMatchObject({ last_modify_user: by, creator: old?.fields['creator'] });
    }
  }
  return reply;
};

/** The records of a report match the model. */
export const expectReport = async (world: World, process: number, report: ModelReport): Promise<void> => {
  const reply = await world.pair.call(process, 0, {
    method: 'GET',
    path: `/api/v1/custom-reports/${report.id}/records`,
  });
  const { dataId: mon_data_id, tableId: table_id, flags, isDeleted, scenario } = report;
  expectStatus(reply, 200);
  const state = String(Object(reply.fields['custom_report']).state);
  expect(report.isPurged ? ['purging', 'purged'] : [isDeleted ? 'deleted' : 'active']).toContain(state);
  expect(reply.fields).toMatchObject({
    custom_report: { mon_data_id, table_id, description: report.description, scenario },
    data_source: {
      mon_data_id,
      is_enable: flags.source,
      token: `${report.token.slice(0, 4)}${'*'.repeat(28)}`,
    },
    time_series_group: {
      mon_data_id,
      table_id,
      is_enable: flags.group,
      is_delete: isDeleted,
      label: scenario,
      max_rate: report.maxRate,
    },
    result_table: { table_id, is_enable: flags.table, is_deleted: isDeleted, label: scenario },
  });
};
