import { z } from 'zod';
import { pipelines } from '../../model/signals.ts';
import { accountSchema, differenceSchema, refusalsSchema } from './account.ts';
import { count } from './parts.ts';

/** Outcomes of one step of time, of all owners of a query together. */
export const outcomeBucket = z
  .strictObject({
    at: count.meta({ description: 'Unix seconds: start of the minute, hour or day (UTC)' }),
    pipeline: z.enum(pipelines),
    received: count.meta({ description: 'Settled items = stored + dead_lettered + all dropped' }),
    stored: count,
    dead_lettered: count,
    dropped: z.record(z.string(), count).meta({ description: 'By reason' }),
    refusals: refusalsSchema,
  })
  .meta({ id: 'OutcomeBucket' });

const stream = z
  .strictObject({
    stream: z.string(),
    messages: count,
    bytes: count,
    bytes_max: count,
    ack_pending: count.meta({ description: 'Messages that workers hold, a part of `messages`' }),
  })
  .meta({ id: 'StreamInFlight' });

/** What is gone of the rows that were stored of an owner. */
export const removedRows = z
  .strictObject({
    pipeline: z.enum(pipelines),
    data_id: count,
    app_id: count,
    purged: z.boolean().meta({ description: 'A purge has removed its rows, or is removing them' }),
    expired_before: z
      .string()
      .nullable()
      .meta({
        description:
          'Rows of event days (UTC) before this one may have been removed by the retention; null where the period has no such day',
        examples: ['2026-11-20'],
      }),
  })
  .meta({ id: 'RemovedRows' });

/** For more than these, query ClickHouse directly. */
export const accountsMax = 10_000;

export const balancesAnswer = z.strictObject({
  since: count,
  until: count,
  not_known_since: count.nullable().meta({
    description:
      'Unix seconds: since when the books cannot be compared, or lines of them wait in LEDGER, so that newer items are in no term; else null',
  }),
  not_known: z.array(differenceSchema).meta({
    description:
      'Why, as the differences that each account has then; also the streams that cannot be read, of a data id its own one; else none',
  }),
  items: z.array(accountSchema),
  truncated: z.boolean().meta({
    description: `There are more than ${accountsMax} items: these are the first, and those with an open difference`,
  }),
  removed: z.array(removedRows).meta({
    description: '`stored` counts what was stored: the owners of `items` whose rows have been removed since',
  }),
  buckets: z.array(outcomeBucket).meta({ description: 'By time, those with items or refusals' }),
  in_flight: z.array(stream).meta({ description: 'Sum over all data ids and applications' }),
});

export const drop = z
  .strictObject({
    at: z.number().meta({ description: 'Unix seconds to the millisecond' }),
    pipeline: z.enum(pipelines),
    data_id: count.meta({ description: '0 for an application, and for requests without a valid token' }),
    app_id: count.meta({ description: '0 for points, and for requests without a valid token' }),
    stage: z.string(),
    reason: z.string(),
    ordinal: count.meta({ description: 'Index in the request; -1 for the whole request' }),
    field: z.string(),
    value: z.string(),
    detail: z.string(),
    payload: z.string().meta({ description: 'The item as received, redacted, at most 1 KiB' }),
    request: z.string().meta({ description: 'X-Request-Id of the answer; empty for samples of transfer' }),
    sender: z.string(),
    sdk: z.string(),
  })
  .meta({ id: 'Drop' });
