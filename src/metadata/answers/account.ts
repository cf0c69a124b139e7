import { z } from 'zod';
import { differenceKinds, streamNotRead } from '../../account/difference.ts';
import { pipelines } from '../../model/signals.ts';
import { count } from './parts.ts';

export { streamNotRead } from '../../account/difference.ts';

/** A difference in the answers of the admin API. */
export const differenceSchema = z
  .strictObject({
    kind: z.enum(differenceKinds),
    items: count,
    messages: count,
    stream: z.string().meta({
      description:
        'Of `not_known`: empty while the books cannot be compared, LEDGER while their lines wait there, else the stream of the owner',
    }),
    owners: z
      .array(count)
      .meta({ description: 'Data ids or applications; none where the owner is not known' }),
    from: count.meta({ description: 'Unix seconds: the first minute of the arrival' }),
    until: count.meta({ description: 'Unix seconds: the end of the last one' }),
    is_open: z.boolean().meta({ description: 'False: an operator has closed it' }),
    reason: z.string().meta({
      description: `Why it was closed; empty where it was not. Of \`not_known\`: \`${streamNotRead}\` where the stream itself is not`,
    }),
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
        'False while a loss, an excess or a stuck difference is open; null while the books cannot be compared, lines of them wait in LEDGER, or rows in its store cannot be read',
    }),
    differences: z.array(differenceSchema),
    refusals: refusalsSchema,
  })
  .meta({ id: 'Balance' });

/** What the store of an owner and its records differ in, in the answers of the admin API. */
export const storeItem = z
  .strictObject({
    pipeline: z.enum(pipelines),
    data_id: count.meta({ description: '0 for an application' }),
    app_id: count.meta({ description: '0 for points' }),
    adds_up: z.boolean().nullable().meta({
      description: 'Whether the store holds exactly the recorded rows; null where that is not known',
    }),
    why: z.string().meta({ description: 'Why it is not known; else empty' }),
    differences: z.array(differenceSchema),
  })
  .meta({ id: 'StoreAccount' });

/** The answer of GET /api/v1/account/stores. */
export const comparedStores = z.strictObject({
  compared: z.strictObject({
    days: count.meta({ description: 'Owners and event days that were compared' }),
    rows: count.meta({ description: 'Their recorded rows' }),
  }),
  items: z.array(storeItem),
});
