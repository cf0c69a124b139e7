import type { z } from 'zod';
import {
  type Account,
  type DifferenceSum,
  type UnreadStream,
  unreadDifference,
} from '../../account/accounts.ts';
import { streamNotRead } from '../../account/difference.ts';
import type { AccountState } from '../account/account-watch.ts';
import type { UnreadStreams } from '../account/unread-streams.ts';
import type { accountSchema, differenceSchema } from '../answers/account.ts';
import type { LedgerGap } from '../pulse/ledger-gap.ts';

/** A difference as the API shows it. */
export const shownDifference = ({
  kind,
  items,
  messages,
  stream,
  dataId,
  appId,
  from,
  until,
  isOpen,
  reason,
}: DifferenceSum): z.output<typeof differenceSchema> => ({
  kind,
  items,
  messages,
  stream,
  owners: [dataId || appId].filter((owner) => owner !== 0),
  from,
  until,
  is_open: isOpen,
  reason,
});

/** Why the account is not known; both undefined where it is. */
export type NotKnownSince = {
  /** Since when the books cannot be compared, ms since the epoch. */
  readonly looks: number | undefined;
  /** LEDGER does not bring the lines of both books: newer items are in no term. */
  readonly ledger: LedgerGap | undefined;
};

type NotKnownDeps = {
  readonly account: { readonly state: AccountState };
  readonly pulse: { ledgerGap(): LedgerGap | undefined };
};

export const notKnownSinceOf = ({ account, pulse }: NotKnownDeps): NotKnownSince => ({
  looks: account.state.notKnownSince,
  ledger: pulse.ledgerGap(),
});

/** The earlier one in Unix seconds; null where the account is known. */
export const shownSince = ({ looks, ledger }: NotKnownSince): number | null => {
  const since = Math.min(looks ?? Number.POSITIVE_INFINITY, ledger?.since ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(since) ? Math.floor(since / 1000) : null;
};

/** The differences that say that the account is not known, for as many reasons as there are; `until` in Unix seconds. */
export const notKnown = (
  { looks, ledger }: NotKnownSince,
  until: number,
  owners: number[],
): z.output<typeof differenceSchema>[] =>
  (
    [
      ['', looks, ''],
      ['LEDGER', ledger?.since, ledger?.isUnread === true ? streamNotRead : ''],
    ] as const
  ).flatMap(([stream, since, reason]) => {
    if (since === undefined) return [];
    const from = Math.floor(since / 1000);
    return {
      ...({ kind: 'not_known', items: 0, messages: 0, stream, owners, from } as const),
      ...{ until: Math.max(from, until), is_open: true, reason },
    };
  });

type AskedOwner = { readonly dataId?: number | undefined; readonly appId?: number | undefined };

/** The unread streams that concern an owner: its own one, all without an owner and of data id 0, none of an application. */
export const unreadOf = (unread: UnreadStreams, { dataId, appId }: AskedOwner): readonly UnreadStream[] => {
  if (appId !== undefined) return [];
  if (dataId === undefined || dataId === 0) return unread.all();
  const own = unread.of(dataId);
  return own === undefined ? [] : [own];
};

/** The same as differences; `until` in Unix seconds. */
export const notRead = (
  unread: UnreadStreams,
  owner: AskedOwner,
  until: number,
): z.output<typeof differenceSchema>[] =>
  unreadOf(unread, owner).map((each) => shownDifference(unreadDifference(owner.dataId ?? 0, each, until)));

/** An account as the API shows it. `until` in Unix seconds. */
export const shownAccount = (
  account: Account,
  notKnownSince: NotKnownSince,
  until: number,
): z.output<typeof accountSchema> => {
  const { pipeline, dataId, appId, minute, received, stored, deadLettered, dropped, refusals } = account;
  const { repeated, lost, stuck, unrecorded, inFlight, addsUp, differences } = account;
  const owners = [dataId || appId].filter((owner) => owner !== 0);
  return {
    pipeline,
    data_id: dataId,
    app_id: appId,
    minute: minute ?? null,
    received,
    stored,
    dead_lettered: deadLettered,
    dropped: { ...dropped },
    repeated,
    lost,
    stuck,
    unrecorded,
    in_flight: inFlight,
    adds_up: addsUp,
    differences: [...differences.map(shownDifference), ...notKnown(notKnownSince, until, owners)],
    refusals: [...refusals],
  };
};
