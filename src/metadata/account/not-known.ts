import { differenceKey, type FoundDifference, isUnsure } from '../../account/difference.ts';

/** How long the account is not known, in the metric. */
export type NotKnownMetric = {
  /** Takes over what the looks found. Returns how many differences leave open whether the account is true. */
  take(found: readonly FoundDifference[]): number;
  /** `notKnownSince`: since when the books cannot be compared, ms since the epoch. */
  show(notKnownSince: number | undefined): void;
};

export type NotKnownSources = {
  readonly set: (seconds: number) => void;
  /** Since when each stream cannot be read that the records name, ms since the epoch. */
  readonly streams: () => readonly { readonly since: number }[];
  readonly now: () => number;
};

export const createNotKnownMetric = ({ set, streams, now }: NotKnownSources): NotKnownMetric => {
  /** Since when rows of a store are found unreadable, ms since the epoch, by difference. */
  let rows: ReadonlyMap<string, number> = new Map();
  return {
    take: (found) => {
      // A clock of ClickHouse that was ahead stores a time that has not come: the first sight of a difference is remembered instead.
      rows = new Map(
        found.filter(isUnsure).map((each) => {
          const key = differenceKey(each);
          return [key, Math.min((each.foundAt ?? 0) * 1_000, rows.get(key) ?? now())];
        }),
      );
      return rows.size;
    },
    show: (notKnownSince = Number.POSITIVE_INFINITY) => {
      const since = Math.min(notKnownSince, ...rows.values(), ...streams().map((each) => each.since));
      set(since === Number.POSITIVE_INFINITY ? 0 : Math.max(0, (now() - since) / 1_000));
    },
  };
};
