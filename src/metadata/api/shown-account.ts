import type { z } from 'zod';
import type { Account, DifferenceSum } from '../../account/accounts.ts';
import type { accountSchema, differenceSchema } from '../answers/account.ts';

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

/** The difference that says that the looks fail; times in Unix seconds. */
export const notKnown = (
  from: number,
  until: number,
  owners: number[],
): z.output<typeof differenceSchema> => ({
  kind: 'not_known',
  items: 0,
  messages: 0,
  stream: '',
  owners,
  from,
  until: Math.max(from, until),
  is_open: true,
  reason: '',
});

/** An account as the API shows it. `notKnownSince` in ms since the epoch, `until` in Unix seconds. */
export const shownAccount = (
  account: Account,
  notKnownSince: number | undefined,
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
    differences: [
      ...differences.map(shownDifference),
      ...(notKnownSince === undefined ? [] : [notKnown(Math.floor(notKnownSince / 1000), until, owners)]),
    ],
    refusals: [...refusals],
  };
};
