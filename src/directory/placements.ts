import type { KvBucket } from '../bus/kv.ts';
import { defaultInstance } from '../model/instances.ts';
import { placementSchema } from './records.ts';

/** A name that no instance can have: rows whose record cannot be read wait, and do not go to the first instance. */
const unreadable = '-';

/**
 * The facts of a placement that receivers and consumers need. Both read every placement, so that neither places a table
 * on the first instance by mistake.
 */
export const readPlacementSchema = placementSchema.pick({ questdb: true }).catch({ questdb: unreadable });

/** The QuestDB instance of each data id's table, kept current by a watch on the placements alone. */
export type Placements = {
  /** Resolves when all records were read for the first time. */
  readonly whenReady: Promise<void>;
  /** The first instance where no record names another. */
  instanceOf(dataId: number): string;
  /** Instances that records name and that are not among these, each with how many data ids that are not purged. */
  unknown(names: readonly string[], isPurged?: (dataId: number) => boolean): ReadonlyMap<string, number>;
  stop(): void;
};

const keyPattern = /^placement\.(\d{1,15})$/;

const dataIdOf = (key: string): number => Number(keyPattern.exec(key)?.[1] ?? Number.NaN);

/** Starts the watch on the records bucket. */
export const startPlacements = (records: Pick<KvBucket, 'watch'>): Placements => {
  /** The tables that are not on the first instance: none in most deployments. */
  const elsewhere = new Map<number, string>();
  const { promise: whenReady, resolve } = Promise.withResolvers<void>();
  const watch = records.watch(
    ({ key, value }) => {
      const name = value === undefined ? defaultInstance : readPlacementSchema.parse(value).questdb;
      if (name === defaultInstance) elsewhere.delete(dataIdOf(key));
      else elsewhere.set(dataIdOf(key), name);
    },
    (seen) => {
      const present = new Set([...seen].map(dataIdOf));
      for (const dataId of elsewhere.keys()) if (!present.has(dataId)) elsewhere.delete(dataId);
      resolve();
    },
    'placement.*',
  );
  return {
    whenReady,
    instanceOf: (dataId) => elsewhere.get(dataId) ?? defaultInstance,
    unknown: (names, isPurged = () => false) => {
      const counts = new Map<string, number>();
      for (const [dataId, name] of elsewhere)
        if (!names.includes(name) && !isPurged(dataId)) counts.set(name, (counts.get(name) ?? 0) + 1);
      return counts;
    },
    stop: () => watch.stop(),
  };
};
