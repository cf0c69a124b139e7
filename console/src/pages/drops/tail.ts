import { hasLists } from '../../api/event.ts';
import type { components } from '../../api/schema.d.ts';

type Drop = components['schemas']['Drop'];

/** What the stream says: the samples of a second under one topic; when polled, a page of the history. */
export type DropsEvent = {
  readonly data_id?: number;
  readonly app_id?: number;
  readonly items: readonly Drop[];
  readonly skipped?: number;
};

export const isDropsEvent = (data: unknown): data is DropsEvent => hasLists(data, 'items');

/** What a live tail keeps: the newest samples, how many came, and how many it was too slow for. */
export type Tail = { readonly drops: readonly Drop[]; readonly count: number; readonly skipped: number };

export const emptyTail: Tail = { drops: [], count: 0, skipped: 0 };
export const keptMax = 1_000;

/** The same sample has the same key, whether it came live or from the history. */
export const keyOf = ({
  at,
  pipeline,
  ordinal,
  reason,
  field,
  value,
  data_id: dataId,
  app_id: appId,
}: Drop): string => JSON.stringify([at, pipeline, dataId, appId, ordinal, reason, field, value]);

/** Adds samples, the oldest first as they come; the newest 1,000 stay, the newest first. One that is there already is left out. */
export const addTo = (tail: Tail, came: readonly Drop[], skipped: number): Tail => {
  const known = new Set(tail.drops.map(keyOf));
  const fresh = came.filter((drop) => !known.has(keyOf(drop)));
  return {
    drops: [...fresh.toReversed(), ...tail.drops]
      .toSorted((left, right) => right.at - left.at)
      .slice(0, keptMax),
    count: tail.count + fresh.length,
    skipped: tail.skipped + skipped,
  };
};
