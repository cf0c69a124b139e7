import type { CreationDeps } from '../../src/metadata/creation.ts';
import type { RecordSet, Records } from '../../src/metadata/record-store.ts';

/** Thrown instead of, or after, the step at which a process is to die. */
export class Died extends Error {}

/**
 * The same dependencies for a process that dies at its `step`-th write (from 1): right before it, or right after the
 * write was done and before its caller heard of it.
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
    applications: dyingSet(records.applications),
    nextId: dying(records.nextId),
    reserve: dying(records.reserve),
    point: dying(records.point),
  };
  return { ...deps, records: dyingRecords, tables: { ...tables, createTable: dying(tables.createTable) } };
};
