import type { Clickhouse } from '../stores/clickhouse/client.ts';
import { type Difference, differenceKey } from './difference.ts';
import { type DifferenceFilter, readDifferences, writeDifferences } from './difference-table.ts';

/** The differences that the looks of any process have found and stored, as this process knows them. */
export type FoundDifferences = {
  readonly all: Iterable<Difference>;
  readonly isEmpty: boolean;
  /** How many of them have come, changed or gone so far. */
  readonly changes: number;
  /** Of those in the scope, exactly these are there now. Throws the Faults of ClickHouse; nothing has changed then. */
  replace(isInScope: (difference: Difference) => boolean, now: readonly Difference[]): Promise<void>;
  /**
   * Takes over what other processes have left, where that was long ago. Returns the differences that they have added, changed or
   * withdrawn. Throws the Faults of ClickHouse.
   */
  takeOver(): Promise<readonly Difference[]>;
  /** Those of the filter and scope as other processes have left them. Throws the Faults of ClickHouse. */
  readAgain(filter: DifferenceFilter, isInScope: (difference: Difference) => boolean): Promise<Difference[]>;
};

/**
 * A difference of a process that has ended is withdrawn by another one, and one that it withdrew is stored again by another one that finds
 * it: a loss shows within two minutes.
 */
const takeOverMs = 60_000;

const isSame = (known: Difference | undefined, each: Difference): boolean =>
  known?.items === each.items &&
  known.messages === each.messages &&
  (known.placedItems ?? 0) === (each.placedItems ?? 0);

/** Reads what is stored. `elapsed`: ms of a clock that is never set. Throws the Faults of ClickHouse. */
export const openFoundDifferences = async (
  clickhouse: Clickhouse,
  elapsed: () => number,
): Promise<FoundDifferences> => {
  const stored = new Map<string, Difference>();
  let readAt = 0;
  const readAll = async (): Promise<Difference[]> => {
    const now = await readDifferences(clickhouse, {});
    const changed: Difference[] = now.filter((each) => !isSame(stored.get(differenceKey(each)), each));
    for (const each of now) stored.delete(differenceKey(each));
    changed.push(...stored.values());
    stored.clear();
    for (const each of now) stored.set(differenceKey(each), each);
    readAt = elapsed();
    return changed;
  };
  await readAll();

  let changes = 0;
  return {
    get all() {
      return stored.values();
    },
    get isEmpty() {
      return stored.size === 0;
    },
    get changes() {
      return changes;
    },
    takeOver: async () => (elapsed() - readAt >= takeOverMs ? await readAll() : []),
    readAgain: async (filter, isInScope) => {
      const now = (await readDifferences(clickhouse, filter)).filter(isInScope);
      for (const [key, each] of stored) if (isInScope(each)) stored.delete(key);
      for (const each of now) stored.set(differenceKey(each), each);
      return now;
    },
    replace: async (isInScope, now) => {
      const keys = new Set(now.map(differenceKey));
      const changed = now.filter((each) => !isSame(stored.get(differenceKey(each)), each));
      const gone = [...stored]
        .filter(([key, each]) => isInScope(each) && !keys.has(key))
        .map(([, each]) => each);
      await writeDifferences(clickhouse, changed, gone);
      changes += changed.length + gone.length;
      for (const each of gone) stored.delete(differenceKey(each));
      for (const each of changed) stored.set(differenceKey(each), each);
    },
  };
};
