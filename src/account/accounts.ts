import { isOfApplications } from '../model/signals.ts';
import { daySeconds } from '../model/time.ts';
import {
  type AccountOf,
  emptyBalance,
  inOrder,
  type Place,
  placeText,
  readAccounts,
} from '../outcomes/accounts.ts';
import type { BalanceFilter } from '../outcomes/balance.ts';
import { type Bucket, bucketSeconds, startOfBucket } from '../outcomes/buckets.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import {
  type FoundDifference,
  isOfStore,
  isOpen,
  isUnsure,
  isWrong,
  type Owner,
  streamNotRead,
} from './difference.ts';
import { readDifferences } from './difference-table.ts';
import { isOfLetters } from './lost-letters.ts';
import { type Received, readReceived } from './received.ts';

/** Differences of one kind, stream and owner, over all their minutes. */
export type DifferenceSum = Owner & {
  readonly kind: FoundDifference['kind'];
  readonly stream: string;
  readonly items: number;
  readonly messages: number;
  /** Unix seconds: the first minute, and the end of the last one. */
  readonly from: number;
  readonly until: number;
  /** False: an operator has closed all of it. */
  readonly isOpen: boolean;
  /** Why it was closed; empty where it was not. */
  readonly reason: string;
};

/**
 * The account of one owner from both books: received = stored + dropped + dead-lettered + repeated + lost + stuck + unrecorded
 * + in flight. `received` comes
 * from the publishers' book, the outcomes from the settlers' book.
 */
export type Account = AccountOf & {
  /** Items of messages whose key was settled again under another serial: the last one's outcome counts. */
  readonly repeated: number;
  /** Items that differences name as lost, as stuck, or without a record of their outcome. */
  readonly lost: number;
  readonly stuck: number;
  readonly unrecorded: number;
  readonly inFlight: number;
  /** False while a loss, an excess or a stuck difference is open; else null while it, or rows of its store, is not known. */
  readonly addsUp: boolean | null;
  readonly differences: readonly DifferenceSum[];
};

const hourSeconds = 3_600;
const minuteSeconds = 60;

const minutesOf = (difference: FoundDifference): { readonly from: number; readonly until: number } => {
  const from = startOfBucket(difference.minute, 'minute');
  return { from, until: from + (isOfStore(difference) ? daySeconds : minuteSeconds) };
};

const sumKey = (difference: FoundDifference): string => {
  const { kind, stream, dataId, appId } = difference;
  return `${kind} ${stream} ${dataId} ${appId} ${isOpen(difference)} ${isOfStore(difference)}`;
};

const newestFirst = (sums: Iterable<DifferenceSum>): DifferenceSum[] =>
  [...sums].toSorted((left, right) => right.until - left.until);

/** Sums differences by kind, stream, owner and whether they are open; the newest first. */
export const sumDifferences = (found: readonly FoundDifference[]): DifferenceSum[] => {
  const sums = new Map<string, DifferenceSum>();
  for (const each of found) {
    const { kind, stream, pipeline, dataId, appId, items, messages, reason } = each;
    const key = sumKey(each);
    const known = sums.get(key);
    const { from, until } = minutesOf(each);
    sums.set(key, {
      kind,
      stream,
      pipeline,
      dataId,
      appId,
      items: items + (known?.items ?? 0),
      messages: messages + (known?.messages ?? 0),
      from: Math.min(from, known?.from ?? from),
      until: Math.max(until, known?.until ?? until),
      isOpen: isOpen(each),
      reason: known?.reason || reason,
    });
  }
  return newestFirst(sums.values());
};

const runsOf = (found: readonly FoundDifference[]): FoundDifference[][] => {
  const runs: FoundDifference[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const each of found.toSorted((left, right) => left.minute - right.minute)) {
    const { from, until } = minutesOf(each);
    const run = from - end > hourSeconds ? undefined : runs.at(-1);
    if (run === undefined) runs.push([each]);
    else run.push(each);
    end = until;
  }
  return runs;
};

/**
 * The same sums, of each run of minutes apart: more than an hour without a difference ends a run. The newest run of each comes before all
 * earlier ones, so that the runs of one owner keep no other one out of the first.
 */
export const sumRuns = (found: readonly FoundDifference[]): DifferenceSum[] => {
  const ranks: DifferenceSum[][] = [];
  for (const same of Map.groupBy(found, sumKey).values())
    for (const [rank, run] of runsOf(same).toReversed().entries()) {
      ranks[rank] ??= [];
      ranks[rank].push(...sumDifferences(run));
    }
  return ranks.flatMap(newestFirst);
};

const itemsOf = (differences: readonly FoundDifference[], ...kinds: readonly string[]): number =>
  differences.reduce((sum, { kind, items }) => sum + (kinds.includes(kind) ? items : 0), 0);

/** Whether an account adds up: what was found wrong stays so while the books cannot be compared. */
export const verdictOf = (isFoundWrong: boolean, isKnown: boolean): boolean | null => {
  if (isFoundWrong) return false;
  return isKnown ? true : null;
};

/** The account of one owner; `received`: of each of its streams. `isKnown` false: the looks are behind. */
export const accountOf = (
  balance: AccountOf,
  received: readonly Pick<Received, 'published' | 'counted' | 'uncounted'>[],
  differences: readonly FoundDifference[],
  isKnown: boolean,
  isInWindow: (difference: FoundDifference) => boolean = () => true,
): Account => {
  let published = 0;
  let counted = 0;
  let uncounted = 0;
  for (const each of received) {
    published += each.published;
    counted += each.counted;
    uncounted += each.uncounted;
  }
  const { recorded } = balance;
  // Of some records the place is gone: they are settled all the same, and no difference counts them a second time.
  const withoutPlace = Math.max(0, recorded - counted - uncounted);
  const settled = counted + withoutPlace;
  const settledAgain = settled + uncounted - recorded;
  // Items of another time than the sums above are no part of the equation.
  const ofWindow = differences.filter(isInWindow);
  const ofStore = ofWindow.filter(isOfStore);
  const ofBooks = ofWindow.filter((each) => !isOfStore(each));
  const lost = itemsOf(ofWindow, 'lost_in_the_stream', 'lost_by_the_engine');
  const stuck = itemsOf(ofWindow, 'stuck');
  // A message whose record is gone has its place in the settlers' book, as a repeated one has; differences distinguish them.
  const placed = ofBooks.reduce((sum, { placedItems = 0 }) => sum + placedItems, 0);
  const withoutRecord = Math.min(settledAgain, itemsOf(ofStore, 'unrecorded') + placed);
  const withoutBoth = Math.max(0, itemsOf(ofBooks, 'unrecorded') - placed - withoutPlace);
  // The records still have these as dead-lettered.
  const ofLetters = Math.min(
    balance.deadLettered,
    itemsOf(ofWindow.filter(isOfLetters), 'lost_in_the_stream'),
  );
  const unsettled = lost - ofLetters + stuck + withoutBoth;
  return {
    ...balance,
    // Records of earlier programs have no place in the books: they count as received by themselves. Stuck items are received too, where
    // no publisher has counted them.
    received: balance.received - recorded + Math.max(published, settled + unsettled) + uncounted,
    deadLettered: balance.deadLettered - ofLetters,
    repeated: settledAgain - withoutRecord,
    lost,
    stuck,
    unrecorded: withoutBoth + withoutRecord,
    inFlight: Math.max(0, published - settled - unsettled),
    addsUp: verdictOf(differences.some(isWrong), isKnown && !differences.some(isUnsure)),
    differences: sumDifferences(differences),
  };
};

/** The stream of a data id that the looks cannot read, and since when, Unix seconds. */
export type UnreadStream = { readonly stream: string; readonly since: number };

/** What a stream that cannot be read leaves open of a data id; 0: of all that it carries. `until` in Unix seconds. */
export const unreadDifference = (
  dataId: number,
  { stream, since: from }: UnreadStream,
  until: number,
): DifferenceSum => ({
  ...({ kind: 'not_known', pipeline: 'metrics', dataId, appId: 0, stream, items: 0, messages: 0 } as const),
  ...{ from, until: Math.max(from, until), isOpen: true, reason: streamNotRead },
});

const minuteBy = (minute: number | undefined, by: Bucket | undefined): number | undefined =>
  by === undefined || minute === undefined ? undefined : startOfBucket(minute, by);

const grouped = <T extends Place>(rows: readonly T[], by: Bucket | undefined): Map<string, T[]> =>
  Map.groupBy(rows, (row) => placeText({ ...row, minute: minuteBy(row.minute, by) }));

/** `isUntilNow`: `untilMs` is now, and no time that somebody chose. */
export type AccountFilter = BalanceFilter & { readonly isUntilNow?: boolean };

/**
 * The accounts of all owners with items, refusals or differences, points first; `by`: of each minute, hour or day, the newest first. An owner
 * with a difference has an account although nothing of it was settled. A difference that was found within the time is shown although its
 * items arrived at another one, by the clock of their receiver; an open one that makes the account false, however old it is. With
 * `isUntilNow` an account of all of the period has no end: a receiver whose clock is ahead books what it takes now under later minutes.
 * `isKnown` false: the looks are behind, and nothing is known to add up; nor is that of a data id whose stream the looks
 * cannot read, as `unreadStreamOf` says. Throws the Faults of the ClickHouse client.
 */
export const readOwnerAccounts = async (
  clickhouse: Clickhouse,
  { isUntilNow = false, ...asked }: AccountFilter,
  by: Bucket | undefined,
  isKnown: boolean,
  unreadStreamOf: (dataId: number) => UnreadStream | undefined = () => undefined,
): Promise<Account[]> => {
  const isEndless = isUntilNow && by === undefined;
  const { untilMs: _, ...endless } = asked;
  const filter: BalanceFilter = isEndless ? endless : asked;
  const { dataId, appId, sinceMs, untilMs } = filter;
  const until = Math.floor((asked.untilMs ?? 0) / 1000);
  // Places before records: lines that are written in between would be places without a record, which count as repeats.
  const received = await readReceived(clickhouse, filter, by);
  const [balances, differences] = await Promise.all([
    readAccounts(clickhouse, filter, by),
    readDifferences(clickhouse, {
      dataId,
      appId,
      since: sinceMs === undefined ? undefined : Math.floor(sinceMs / 1000),
      until: untilMs === undefined ? undefined : Math.floor(untilMs / 1000),
      // A row for each minute, hour or day is of that time alone.
      withOpen: by === undefined ? (isEndless ? 'all' : 'earlier') : undefined,
    }),
  ]);
  const ofPipeline = differences.filter(({ pipeline }) =>
    isOfApplications(pipeline) ? dataId === undefined : appId === undefined,
  );
  const isInWindow = (each: FoundDifference): boolean =>
    isOfStore(each) ||
    (each.minute * 1000 >= (sinceMs ?? 0) && each.minute * 1000 < (untilMs ?? Number.POSITIVE_INFINITY));
  const books = grouped(received, by);
  const found = grouped(ofPipeline, by);
  const places = new Map<string, AccountOf>(balances.map((balance) => [placeText(balance), balance]));
  for (const [key, [first]] of [...books, ...found])
    if (!places.has(key) && first !== undefined)
      places.set(key, { ...emptyBalance({ ...first, minute: minuteBy(first.minute, by) }), refusals: [] });
  return [...places]
    .map(([key, balance]) => {
      const unread = unreadStreamOf(balance.dataId);
      const isSure = isKnown && unread === undefined;
      const account = accountOf(balance, books.get(key) ?? [], found.get(key) ?? [], isSure, isInWindow);
      if (unread === undefined) return account;
      // The stream is named from then on. Of before nothing adds up either: no look has compared all of it.
      if (by !== undefined && (balance.minute ?? 0) + bucketSeconds[by] <= unread.since) return account;
      return {
        ...account,
        differences: [unreadDifference(balance.dataId, unread, until), ...account.differences],
      };
    })
    .toSorted(inOrder);
};
