import type { z } from 'zod';
import { type CsvCell, csvText } from '../../model/csv.ts';
import type { AccountOf } from '../../outcomes/accounts.ts';
import type { accountSchema } from '../answers/account.ts';
import type { outcomeBucket } from '../answers/outcomes.ts';

type OutcomeBucket = z.output<typeof outcomeBucket>;

/** As the API shows them, the oldest first. */
export const shownBuckets = (sums: readonly AccountOf[]): OutcomeBucket[] =>
  sums
    .map(({ minute, pipeline, received, stored, deadLettered, dropped, refusals }) => ({
      at: minute ?? 0,
      pipeline,
      received,
      stored,
      dead_lettered: deadLettered,
      dropped: { ...dropped },
      refusals: [...refusals],
    }))
    .toSorted((left, right) => left.at - right.at || left.pipeline.localeCompare(right.pipeline));

type Kept = {
  readonly addsUp: boolean | null;
  readonly differences: readonly { readonly isOpen: boolean }[];
};

/**
 * At most `max` accounts, in their order. Where there are more, those that are false go before those with another open difference, and
 * these before the others.
 */
export const keptAccounts = <T extends Kept>(accounts: readonly T[], max: number): T[] => {
  if (accounts.length <= max) return [...accounts];
  const rankOf = ({ addsUp, differences }: T): number => {
    if (addsUp === false) return 0;
    return differences.some(({ isOpen }) => isOpen) ? 1 : 2;
  };
  const ranked = accounts.toSorted((left, right) => rankOf(left) - rankOf(right));
  const kept = new Set(ranked.slice(0, max));
  return accounts.filter((account) => kept.has(account));
};

const columns = ['time', 'pipeline', 'data_id', 'app_id', 'kind', 'reason', 'requests', 'items'] as const;

const otherKinds = ['repeated', 'lost', 'stuck', 'unrecorded', 'in_flight'] as const;

type Counts = Pick<OutcomeBucket, 'stored' | 'dead_lettered' | 'dropped' | 'refusals'>;

/** One row per outcome and refusal. */
const rowsOf = (head: readonly CsvCell[], counts: Counts): CsvCell[][] => [
  [...head, 'stored', '', null, counts.stored],
  [...head, 'dead_lettered', '', null, counts.dead_lettered],
  ...Object.entries(counts.dropped).map(([reason, items]) => [...head, 'dropped', reason, null, items]),
  ...counts.refusals.map(({ kind, reason, requests, items }) => [...head, kind, reason, requests, items]),
];

/** The accounts or the buckets of an answer as CSV: one row per time, owner, kind and reason. */
export const outcomesCsv = (
  accounts: readonly z.output<typeof accountSchema>[],
  buckets: readonly OutcomeBucket[],
): string =>
  csvText(columns, [
    ...accounts.flatMap((account) => {
      const head = [account.minute, account.pipeline, account.data_id, account.app_id];
      const others = otherKinds.flatMap((kind) =>
        account[kind] === 0 ? [] : [[...head, kind, '', null, account[kind]]],
      );
      return [...rowsOf(head, account), ...others];
    }),
    ...buckets.flatMap((bucket) => rowsOf([bucket.at, bucket.pipeline, null, null], bucket)),
  ]);
