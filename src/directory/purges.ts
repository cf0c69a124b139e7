import type { KvBucket } from '../bus/kv.ts';

/**
 * The data ids that are or were purged: transfer drops their items, without end. A watch on these keys alone keeps them
 * current.
 */
export type Purges = {
  /** False until the first whole state was read. */
  readonly isReady: boolean;
  /** Resolves when `isReady` turns true. */
  readonly whenReady: Promise<void>;
  has(dataId: number): boolean;
  stop(): void;
};

const keyPattern = /^purge\.(\d{1,15})$/;

const dataIdOf = (key: string): number => Number(keyPattern.exec(key)?.[1] ?? Number.NaN);

/** Starts the watch on the records bucket. Only the existence of the record counts, not its content. */
export const startPurges = (records: KvBucket): Purges => {
  let isReady = false;
  const purged = new Set<number>();
  const { promise: whenReady, resolve } = Promise.withResolvers<void>();
  const watch = records.watch(
    ({ key, value }) => {
      if (value === undefined) purged.delete(dataIdOf(key));
      else purged.add(dataIdOf(key));
    },
    (seen) => {
      const present = new Set([...seen].map(dataIdOf));
      for (const dataId of purged) if (!present.has(dataId)) purged.delete(dataId);
      isReady = true;
      resolve();
    },
    'purge.*',
  );
  return {
    get isReady() {
      return isReady;
    },
    whenReady,
    has: (dataId) => purged.has(dataId),
    stop: () => watch.stop(),
  };
};
