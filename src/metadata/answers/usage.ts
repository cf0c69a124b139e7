import { z } from 'zod';
import { pipelines } from '../../model/signals.ts';
import { count, period } from './parts.ts';

const noticed = z.number().nullable();

const pipelineShown = z
  .enum(pipelines)
  .nullable()
  .meta({
    description:
      'null for an application by owner, for a business and for a day; by signal, for requests that an earlier version counted ' +
      'without it',
  });

export const usageRow = z
  .strictObject({
    mon_biz_id: count.nullable().meta({ description: 'null for a day, and for owners without a record' }),
    pipeline: pipelineShown,
    data_id: count.meta({ description: '0 for an application, a business or a day' }),
    app_id: count.meta({ description: '0 for a data id, a business or a day' }),
    day: z
      .string()
      .nullable()
      .meta({ description: 'A day of UTC; null for an owner or a business', examples: ['2026-11-20'] }),
    requests: count.meta({
      description: 'Answered with success, with something to store; repeats do not count',
    }),
    items: count.meta({
      description: 'Points, spans, log records and data points that the account calls received',
    }),
    wire_bytes: count.meta({ description: 'Of the bodies as sent' }),
    inflated_bytes: count.meta({ description: 'Of the bodies after decompression' }),
    requests_per_second_max: count.meta({
      description:
        'Of one owner, all its signals together, in its busiest second at one receiver; also in the row of one signal',
    }),
    refused_requests: count.meta({ description: 'Answered with an error; not part of `requests`' }),
    repeated_requests: count.meta({ description: 'Repeats of stored requests; not part of `requests`' }),
    last_seen: noticed.meta({
      description: 'Arrival of the last request that counts in `requests`, Unix seconds to the millisecond',
    }),
    last_sender: z.string().meta({ description: 'Address of its sender' }),
    last_sdk: z.string().meta({ description: 'SDK of its sender, as it names itself' }),
    last_sent: noticed.meta({
      description:
        'When anything was last sent, be it refused, repeated or rejected, Unix seconds: `last_seen`, or the minute of what came in a ' +
        'later one',
    }),
  })
  .meta({ id: 'Usage' });

export const silentOwner = z
  .strictObject({
    mon_biz_id: count.nullable(),
    data_id: count,
    app_id: count,
    last_seen: z.number().meta({
      description: 'Arrival of the last request that counts in `requests` of the usage, Unix seconds',
    }),
    last_sender: z.string(),
    last_sdk: z.string(),
  })
  .meta({ id: 'SilentOwner' });

export const failingSender = z
  .strictObject({
    pipeline: z.enum(pipelines),
    sender: z.string(),
    sdk: z.string(),
    reason: z.string(),
    data_id: count.meta({
      description: 'The data id that it names, whether it exists or not; 0 without one',
    }),
    app_id: count,
    hours: count.meta({ description: 'Different hours with a failure' }),
    samples: count.meta({ description: 'Samples that are kept: it failed at least this often' }),
    first_seen: z.number(),
    last_seen: z.number(),
  })
  .meta({ id: 'FailingSender' });

export const usageAnswer = z.strictObject({ ...period, items: z.array(usageRow) });
export const silentAnswer = z.strictObject({ items: z.array(silentOwner) });
export const failingAnswer = z.strictObject({ ...period, items: z.array(failingSender) });
