import { z } from 'zod';
import { count } from './parts.ts';

const moment = z.number().meta({ description: 'Unix seconds to the millisecond' });

const refusal = z
  .strictObject({
    at: moment,
    reason: z.string(),
    stage: z.string(),
    ordinal: count.meta({ description: 'Index in the request; -1 for the whole request' }),
    field: z.string(),
    value: z.string(),
    detail: z.string(),
    sender: z.string(),
    sdk: z.string(),
    sampled: z.boolean().meta({ description: 'False: more of them came than samples are kept' }),
    meaning: z.string(),
    remedy: z.string(),
  })
  .meta({ id: 'Refusal' });

export const activity = z
  .strictObject({
    at: moment.meta({ description: 'Time of the answer: take it for `since`' }),
    state: z.enum(['disabled', 'receiving', 'refused', 'silent', 'never']).meta({
      description:
        'receiving: a request was accepted in the last five minutes; refused: only refusals came in them; never: no accepted request is known',
    }),
    last_request: z
      .strictObject({ at: moment, sender: z.string(), sdk: z.string() })
      .nullable()
      .meta({ description: 'The last accepted request of the last 90 days' }),
    waiting: z
      .strictObject({
        since: count,
        state: z.enum(['waiting', 'stored', 'refused']).meta({
          description: 'What came at or after `since`: nothing, an item that was stored, or refusals alone',
        }),
        stored_at: moment.nullable(),
      })
      .nullable()
      .meta({ description: 'Null without `since`' }),
    refusals: z.array(refusal).meta({
      description:
        'With `since`, the newest 20 at or after it; else the newest of each reason of the last day. The newest first. They are samples: GET /api/v1/outcomes has exact counts',
    }),
    minutes: z
      .array(
        z.strictObject({
          at: count,
          received: count,
          stored: count,
          dropped: count,
          dead_lettered: count,
          ...{ repeated: count, lost: count, stuck: count, unrecorded: count },
          refused_requests: count,
          repeated_requests: count.meta({
            description: 'Equal to an earlier request, and so not stored again',
          }),
          values_lost: count,
        }),
      )
      .meta({ description: 'Minutes of arrival, the oldest first; the last one has just begun' }),
    not_known_since: count.nullable().meta({
      description: 'As of GET /api/v1/outcomes: newer items are not counted yet. Null where all are',
    }),
    limits: z.array(
      z.strictObject({
        name: z.enum(['requests_per_second', 'metric_columns', 'dimension_columns']),
        limit: count.nullable().meta({ description: 'Null: no limit' }),
        used: count.nullable().meta({ description: 'Requests: in the busiest second of the last hour' }),
      }),
    ),
  })
  .meta({ id: 'Activity' });
