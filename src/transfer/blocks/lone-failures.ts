import { setNewest } from '../../model/bounded-map.ts';

/** Rows that succeed or fail together: `key` names them within their table. */
export type LonePlace = { readonly table: string; readonly key: string };

/**
 * Counts how often a message failed alone while its table accepted others: a message that makes the store fail each time must not
 * be retried for ever. A table that accepts nothing at all proves nothing against a message.
 */
export type LoneFailures = {
  /** Reports that this table accepted rows of a message. */
  stored(table: string): void;
  /**
   * Reports that the rows of a message for this place failed by themselves. True once that has happened `attemptsMax` times with others
   * of the same table stored in between. Each place of a message counts by itself: one try of a message fails in several.
   */
  failed(place: LonePlace, streamSequence: number): boolean;
};

/** Above this number the oldest are forgotten: their count restarts. */
const messagesMax = 10_000;

export const createLoneFailures = (attemptsMax: number): LoneFailures => {
  const storedCounts = new Map<string, number>();
  const known = new Map<string, { attempts: number; storedCount: number }>();
  return {
    stored: (table) => {
      storedCounts.set(table, (storedCounts.get(table) ?? 0) + 1);
    },
    failed: ({ table, key: place }, sequence) => {
      const key = `${place} ${sequence}`;
      const storedCount = storedCounts.get(table) ?? 0;
      const before = known.get(key);
      const proves = before === undefined || storedCount > before.storedCount;
      const attempts = (before?.attempts ?? 0) + (proves ? 1 : 0);
      setNewest(known, key, { attempts, storedCount }, messagesMax);
      return attempts >= attemptsMax;
    },
  };
};
