import type { Bus } from '../../bus/connection.ts';
import { listen } from '../../bus/listen.ts';
import { type Drop, type DropFilter, dropsIn, isOfFilter } from '../../outcomes/drops.ts';
import { ledgerSubjects } from '../../outcomes/rows.ts';

/** Drops that are shown of a second. */
const dropsMax = 200;

/** The drops of this second under one filter. */
export type Gathered = { readonly filter: DropFilter; items: Drop[]; skipped: number };

/** Tells filters by owner apart. */
export const filterText = ({ dataId, appId }: DropFilter): string => `${dataId ?? ''} ${appId ?? ''}`;

/** Samples as they are published, gathered second by second; it listens while there is a filter. */
export const createDropGathering = (bus: Bus) => {
  let groups = new Map<string, Gathered>();
  let listening: Promise<() => void> | undefined;
  const gather = (payload: Uint8Array): void => {
    for (const drop of dropsIn(payload, {}))
      for (const group of groups.values()) {
        if (!isOfFilter(drop, group.filter)) continue;
        if (group.items.length < dropsMax) group.items.push(drop);
        else group.skipped++;
      }
  };
  const end = (): void => {
    void listening?.then((unsubscribe) => unsubscribe()).catch(() => undefined);
    listening = undefined;
  };
  return {
    /** Gathers for these filters from now on. Transient Fault when NATS does not answer. */
    follow: async (filters: readonly DropFilter[]): Promise<void> => {
      groups = new Map(
        filters.map((filter) => {
          const key = filterText(filter);
          return [key, groups.get(key) ?? { filter, items: [], skipped: 0 }];
        }),
      );
      if (groups.size === 0) return end();
      listening ??= listen(bus, ledgerSubjects.samples, gather);
      try {
        await listening;
      } catch (error) {
        listening = undefined;
        throw error;
      }
    },
    /** What was gathered since the call before, by filter. */
    take: (): ReadonlyMap<string, Gathered> => {
      const taken = groups;
      groups = new Map([...taken].map(([key, { filter }]) => [key, { filter, items: [], skipped: 0 }]));
      return taken;
    },
    end,
  };
};
