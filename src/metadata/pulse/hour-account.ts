import {
  type DifferenceSum,
  type Account as OwnerAccount,
  readOwnerAccounts,
  type UnreadStream,
  unreadDifference,
  verdictOf,
} from '../../account/accounts.ts';
import { rankOf } from '../../account/difference.ts';
import { isSystemOwner, type SystemOwners } from '../../directory/system-owners.ts';
import { byPipeline, type Pipeline } from '../../model/signals.ts';
import { sumOf } from '../../model/sums.ts';
import type { Clickhouse } from '../../stores/clickhouse/client.ts';
import { readErrorText } from '../../stores/clickhouse/faults.ts';
import type { AccountState } from '../account/account-watch.ts';
import type { UnreadStreams } from '../account/unread-streams.ts';
import type { Terms } from '../answers/line.ts';

/**
 * The last hour's account from both books, over all owners; the terms without those that Tidemark made for itself, as every sum of all
 * owners. Times are Unix seconds.
 */
export type HourAccount = {
  readonly since: number;
  readonly until: number;
  readonly terms: Readonly<Record<Pipeline, Terms>>;
  /** Null while the books cannot be compared, or rows of an owner, or its stream, cannot be read. */
  readonly addsUp: boolean | null;
  /** Owners whose account is wrong. */
  readonly wrongOwners: number;
  /** Owners of whom the store refuses to read rows, or whose stream cannot be read. */
  readonly unreadOwners: number;
  /** Streams that cannot be read, also where none of their owners has items in this hour. */
  readonly unreadStreams: readonly string[];
  readonly differences: readonly DifferenceSum[];
};

export type HourAccountReader = {
  /**
   * The last reading, and why the last attempt failed. Begins another one where that is due, once between two of these also where the
   * books can be compared that could not be for the last one. Awaits it for at most 1.5 s, once, where it was due for 2 s already:
   * nobody has asked for a while.
   */
  read(): Promise<{ readonly account: HourAccount | undefined; readonly why: string | undefined }>;
  /** Awaits the reading that is under way, for at most 10 s. False where none is. */
  ended(): Promise<boolean>;
};

export type HourAccountOptions = {
  readonly clickhouse: Clickhouse;
  /** The state of the looks at the account. */
  readonly state: () => AccountState;
  /** Whether lines of both books wait in LEDGER for longer than its writes rest. */
  readonly isLedgerBehind: () => boolean;
  readonly unreadStreams?: UnreadStreams;
  readonly systemOwners: () => SystemOwners;
  readonly now: () => number;
  readonly elapsed: () => number;
};

/** As often as the books are compared. */
const everyMs = 15_000;
/** A reading takes at most this share of the time, however many ask. */
const shareMax = 0.05;
const oldMs = 60_000;
/** Those who read each second find a reading due sooner, and wait for none. */
const overdueMs = 2_000;
const awaitedMsMax = 1_500;
const endedMsMax = 10_000;
const hourSeconds = 3_600;
const differencesMax = 20;

const nothing: Terms = {
  received: 0,
  stored: 0,
  dropped: 0,
  dead_lettered: 0,
  repeated: 0,
  lost: 0,
  stuck: 0,
  unrecorded: 0,
  in_flight: 0,
};

/** The terms of several accounts together. */
export const termsOf = (accounts: readonly OwnerAccount[]): Terms =>
  accounts.reduce(
    (sum, { dropped, deadLettered, inFlight, ...account }) => ({
      received: sum.received + account.received,
      stored: sum.stored + account.stored,
      dropped: sum.dropped + sumOf(Object.values(dropped)),
      dead_lettered: sum.dead_lettered + deadLettered,
      repeated: sum.repeated + account.repeated,
      lost: sum.lost + account.lost,
      stuck: sum.stuck + account.stuck,
      unrecorded: sum.unrecorded + account.unrecorded,
      in_flight: sum.in_flight + inFlight,
    }),
    nothing,
  );

const hasUnread = ({ differences }: OwnerAccount): boolean =>
  differences.some(({ kind, isOpen }) => kind === 'not_known' && isOpen);

/** The open differences, at most 20. What is not known may have as many as there are data ids: it hides no loss. */
const shownOf = (
  accounts: readonly OwnerAccount[],
  unread: readonly UnreadStream[],
  until: number,
): readonly DifferenceSum[] =>
  [...unread.map((each) => unreadDifference(0, each, until)), ...accounts.flatMap((each) => each.differences)]
    .filter(({ isOpen }) => isOpen)
    .toSorted((left, right) => rankOf(left) - rankOf(right))
    .slice(0, differencesMax);

const within = async (ms: number, work: Promise<void>): Promise<void> => {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  await Promise.race([work, late.promise]);
  clearTimeout(timer);
};

/** Reads the account of the last hour while somebody asks for it: nobody asking, ClickHouse is asked nothing. */
export const createHourAccount = ({
  clickhouse,
  state,
  isLedgerBehind,
  unreadStreams,
  systemOwners,
  now,
  elapsed,
}: HourAccountOptions): HourAccountReader => {
  let account: HourAccount | undefined;
  let why: string | undefined;
  let dueAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  let toAwait: Promise<void> | undefined;
  let wasRepeated = false;

  const isKnown = (): boolean => state().notKnownSince === undefined && !isLedgerBehind();

  const readOnce = async (): Promise<void> => {
    const startedAt = elapsed();
    wasRepeated = startedAt < dueAt;
    // Nobody has asked for a while: what was read before says nothing about now.
    if (startedAt - dueAt > oldMs) account = undefined;
    try {
      const until = Math.floor(now() / 1_000);
      const since = until - hourSeconds - (until % 60);
      const wasKnown = isKnown();
      const window = { sinceMs: since * 1_000, untilMs: (until + 1) * 1_000, isUntilNow: true };
      const accounts = await readOwnerAccounts(clickhouse, window, undefined, wasKnown, unreadStreams?.of);
      const streams = unreadStreams?.all() ?? [];
      const own = systemOwners();
      const counted = accounts.filter((each) => !isSystemOwner(own, each));
      const wrongOwners = accounts.filter(({ addsUp }) => addsUp === false).length;
      const unreadOwners = accounts.filter(hasUnread).length;
      account = {
        since,
        until,
        terms: byPipeline((name) => termsOf(counted.filter(({ pipeline }) => pipeline === name))),
        addsUp: verdictOf(
          wrongOwners > 0,
          wasKnown && isKnown() && streams.length === 0 && accounts.every(({ addsUp }) => addsUp !== null),
        ),
        ...{ wrongOwners, unreadOwners, unreadStreams: streams.map(({ stream }) => stream) },
        differences: shownOf(accounts, streams, until),
      };
      why = undefined;
    } catch (error) {
      why = readErrorText(error);
    }
    const endedAt = elapsed();
    dueAt = endedAt + Math.max(everyMs, (endedAt - startedAt) / shareMax);
    reading = undefined;
  };

  return {
    read: async () => {
      const hasUnreadNow = account !== undefined && account.unreadOwners + account.unreadStreams.length > 0;
      const isUnsure = account?.addsUp === null && !hasUnreadNow;
      const isTooEarly = why === undefined && isUnsure && !wasRepeated && isKnown();
      if (reading === undefined && (elapsed() >= dueAt || isTooEarly)) {
        const isOverdue = elapsed() - dueAt >= overdueMs;
        reading = readOnce();
        if (isOverdue) toAwait = reading;
      }
      if (reading !== undefined && reading === toAwait) {
        toAwait = undefined;
        await within(awaitedMsMax, reading);
      }
      return { account, why };
    },
    ended: async () => {
      if (reading === undefined) return false;
      await within(endedMsMax, reading);
      return true;
    },
  };
};
