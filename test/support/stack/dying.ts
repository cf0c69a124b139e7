import type { Bus } from '../../../src/bus/connection.ts';
import type { RecordSet, Records } from '../../../src/metadata/records/store.ts';
import type { CreationDeps } from '../../../src/metadata/reports/creation.ts';
import type { QuestdbTables } from '../../../src/stores/questdb/tables.ts';

/** Thrown instead of, or after, the step at which a process is to die. */
export class Died extends Error {}

/**
 * The same dependencies for a process that dies at its `step`-th write (from 1): right before it, or right after the
 * write was done and before its caller got the answer.
 */
export const dyingAt = (deps: CreationDeps, step: number, when: 'before' | 'after'): CreationDeps => {
  let steps = 0;
  const dying =
    <Arguments extends unknown[], Result>(write: (...given: Arguments) => Promise<Result>) =>
    async (...given: Arguments): Promise<Result> => {
      const mine = ++steps === step;
      if (mine && when === 'before') throw new Died();
      const result = await write(...given);
      if (mine) throw new Died();
      return result;
    };
  const dyingSet = <T>(set: RecordSet<T>): RecordSet<T> => ({
    ...set,
    create: dying(set.create),
    update: dying(set.update),
    change: dying(set.change),
  });
  const { records, tables } = deps;
  const dyingRecords: Records = {
    ...records,
    reports: dyingSet(records.reports),
    dataSources: dyingSet(records.dataSources),
    groups: dyingSet(records.groups),
    tables: dyingSet(records.tables),
    placements: dyingSet(records.placements),
    applications: dyingSet(records.applications),
    nextId: dying(records.nextId),
    reserve: dying(records.reserve),
    point: dying(records.point),
  };
  return { ...deps, records: dyingRecords, tables: { ...tables, createTable: dying(tables.createTable) } };
};

/** Calls `then` with the key in KV after each write of this bus, before its caller has the answer. */
export const afterEachWrite = (bus: Bus, then: (key: string) => Promise<void>): void => {
  const publish = bus.js.publish.bind(bus.js);
  bus.js.publish = async (subject, ...given) => {
    const ack = await publish(subject, ...given);
    await then(subject.split('.').slice(2).join('.'));
    return ack;
  };
};

/** Right before a write, or right after it was confirmed and before its caller got the answer. Steps count from 1. */
export type Gap = { readonly step: number; readonly side: 'before' | 'after' };

/**
 * Counts every write of this process, to JetStream over this bus and to QuestDB through the returned tables, and kills
 * the process with SIGKILL in the given gap.
 */
export const killedIn = (
  gap: Gap | undefined,
  bus: Bus,
  tables: QuestdbTables,
): { readonly tables: QuestdbTables; writes(): number } => {
  let steps = 0;
  const deadly =
    <Arguments extends unknown[], Result>(write: (...given: Arguments) => Promise<Result>) =>
    async (...given: Arguments): Promise<Result> => {
      const side = ++steps === gap?.step ? gap.side : undefined;
      if (side === 'before') process.kill(process.pid, 'SIGKILL');
      const result = await write(...given);
      if (side === 'after') process.kill(process.pid, 'SIGKILL');
      return result;
    };
  bus.js.publish = deadly(bus.js.publish.bind(bus.js));
  return {
    tables: {
      ...tables,
      createTable: deadly(tables.createTable),
      createMetricView: deadly(tables.createMetricView),
      setTtl: deadly(tables.setTtl),
      drop: deadly(tables.drop),
    },
    writes: () => steps,
  };
};
