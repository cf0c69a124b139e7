import { z } from 'zod';
import type { Account, DifferenceSum } from '../../account/accounts.ts';
import { differenceKinds } from '../../account/difference.ts';
import { pipelines } from '../../model/signals.ts';

const count = z.int();

/** A difference in the answers of the admin API. */
export const differenceSchema = z
  .strictObject({
    kind: z.enum(differenceKinds),
    items: count,
    messages: count,
    stream: z.string(),
    owners: z
      .array(count)
      .meta({ description: 'Data ids or applications; none where the owner is not known' }),
    from: count.meta({ description: 'Unix seconds: the first minute of the arrival' }),
    until: count.meta({ description: 'Unix seconds: the end of the last one' }),
    is_open: z.boolean().meta({ description: 'False: an operator has closed it' }),
    reason: z.string().meta({ description: 'Why it was closed; empty where it was not' }),
  })
  .meta({ id: 'Difference' });

/** Refusals in the answers of the admin API. */
export const refusalsSchema = z
  .array(
    z.strictObject({
      kind: z.enum(['refused', 'duplicate', 'value_lost']),
      reason: z.string(),
      requests: count,
      items: count,
    }),
  )
  .meta({ description: 'Outside the balance, best effort: refused requests, duplicates and dropped values' });

/** The account of an owner in the answers of the admin API. */
export const accountSchema = z
  .strictObject({
    pipeline: z.enum(pipelines),
    data_id: count.meta({ description: '0 for an application' }),
    app_id: count.meta({ description: '0 for points' }),
    minute: count.nullable().meta({
      description: 'Unix seconds: start of the minute, hour or day; null for the sum over the whole time',
    }),
    received: count.meta({
      description:
        'Items that the streams confirmed to receivers = stored + dead_lettered + all dropped + repeated + lost + stuck + unrecorded + in_flight',
    }),
    stored: count,
    dead_lettered: count,
    dropped: z.record(z.string(), count).meta({ description: 'By reason' }),
    repeated: count.meta({ description: 'Items of messages that were settled again under the same key' }),
    lost: count,
    stuck: count,
    unrecorded: count,
    in_flight: count.meta({ description: 'Received and not settled yet' }),
    adds_up: z.boolean().nullable().meta({
      description:
        'False while a loss, an excess or a stuck difference is open; null while the books cannot be compared, or rows in its store cannot be read',
    }),
    differences: z.array(differenceSchema),
    refusals: refusalsSchema,
  })
  .meta({ id: 'Balance' });

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
