/** The results of recent writes, by table. */
export type RecentWrites<Kind> = {
  note(table: string, kind: Kind): void;
  /** Whether at least three tables were written in the last minute, and more than half of them had this result. */
  isOfMost(kind: Kind): boolean;
};

const recentMs = 60_000;
const tablesMin = 3;

export const createRecentWrites = <Kind>(now: () => number): RecentWrites<Kind> => {
  // The oldest is the first entry.
  const writes = new Map<string, { readonly at: number; readonly kind: Kind }>();
  const counts = new Map<Kind, number>();

  const drop = (table: string): void => {
    const write = writes.get(table);
    if (write === undefined) return;
    writes.delete(table);
    counts.set(write.kind, (counts.get(write.kind) ?? 0) - 1);
  };

  const dropOld = (): void => {
    for (const [table, { at }] of writes) {
      if (now() - at <= recentMs) return;
      drop(table);
    }
  };

  return {
    note: (table, kind) => {
      dropOld();
      drop(table);
      writes.set(table, { at: now(), kind });
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    },
    isOfMost: (kind) => {
      dropOld();
      return writes.size >= tablesMin && (counts.get(kind) ?? 0) * 2 > writes.size;
    },
  };
};
