import { z } from 'zod';
import { byPipeline } from '../../model/signals.ts';
import { differenceSchema } from './account.ts';

const count = z.int().min(0);
const rate = z.number().min(0);
const text = z.string();

const checkShape = z.strictObject({ check: text, why: text });

const pipelineShape = z.strictObject({
  pipeline: text.meta({ examples: ['metrics'] }),
  items_per_second: rate.meta({ description: 'Items whose rows were stored' }),
  rows_per_second: rate,
  dropped_per_second: rate,
  dead_lettered_per_second: rate,
  bytes_per_second: rate.meta({ description: 'Of acknowledged messages' }),
  acks_per_second: rate,
  retries_per_second: rate,
  write_p99_ms: rate.nullable().meta({ description: 'Of the last second; null without a write' }),
  held_bytes: rate,
  tables_set_aside: count,
  messages_waiting: count.meta({ description: 'Messages that wait because a table accepts no rows' }),
  breaker_open: z.boolean(),
  held_by_dead_letters: z
    .boolean()
    .meta({ description: 'The consumer waits: dead letters cannot be stored' }),
});

/** A process, as it says itself. */
export const processShape = z
  .strictObject({
    id: text.meta({ description: 'Of this life of the process', examples: ['0123456789abcdef'] }),
    role: z.enum(['ingress', 'transfer', 'metadata']),
    host: text,
    pid: count,
    version: text,
    started_at: count.meta({ description: 'Unix seconds' }),
    state: z.enum(['ready', 'not_ready', 'gone']).meta({ description: 'gone: silent for five seconds' }),
    silent_seconds: count,
    failing: z.array(checkShape).meta({ description: 'What keeps it from its work, as /readyz names it' }),
    degraded: z.array(checkShape).meta({
      description: 'Shared dependencies that are away, as /readyz names them; the process continues',
    }),
    items_per_second: rate.meta({
      description: 'ingress: acknowledged items; transfer: stored items; metadata: requests',
    }),
    bytes_per_second: rate.meta({ description: 'ingress: request bodies; transfer: acknowledged messages' }),
    dropped_per_second: rate,
    refused_per_second: rate.meta({ description: 'Refused requests' }),
    dead_lettered_per_second: rate,
    dropped: z
      .array(z.strictObject({ reason: text, per_second: rate }))
      .meta({ description: 'The five reasons of most drops' }),
    bytes_in_flight: rate.nullable().meta({ description: 'Of ingress; else null' }),
    connections: count.nullable().meta({ description: 'Of ingress; else null' }),
    cpu: rate.meta({ description: 'Share of one core' }),
    event_loop_p99_ms: rate,
    rss_bytes: count,
    pipelines: z.array(pipelineShape).meta({ description: 'Of transfer' }),
  })
  .meta({ id: 'Process' });

const points = z.array(z.number().nullable());

/** A process with two minutes of its main rates. */
export const processWithSeries = processShape
  .extend({
    series: z
      .strictObject({
        items_per_second: points,
        bytes_per_second: points,
        dropped_per_second: points,
        refused_per_second: points,
        dead_lettered_per_second: points,
        cpu: points,
        event_loop_p99_ms: points,
      })
      .meta({
        description: 'A value per second of the last 120, the newest last; null: no pulse',
      }),
  })
  .meta({ id: 'ProcessWithSeries' });

const troubleShape = z
  .strictObject({
    code: text.meta({ examples: ['breaker_open'] }),
    severity: z.enum(['page', 'ticket']),
    text,
    remedy: text,
    runbook: text.meta({ examples: ['docs/runbook.md#tidemarkbreakeropen'] }),
  })
  .meta({ id: 'Trouble' });

const nodeKinds = ['producers', 'receiver', 'stream', 'transfer', 'store', 'dead_letters'] as const;

const streamShape = z
  .strictObject({
    stream: text,
    consumer: text.nullable(),
    state: z.enum(['read', 'missing', 'unread']),
    messages: count,
    bytes: count,
    bytes_max: count,
    fill: rate.meta({ description: 'bytes / bytes_max' }),
    oldest_age_seconds: rate,
    pending: count.meta({ description: 'Messages that no worker has been given yet' }),
    ack_pending: count.meta({ description: 'Messages that workers hold' }),
    redelivered: count,
    waiting_pulls: count.meta({ description: 'Pulls of workers that wait for messages' }),
    messages_in_per_second: rate.nullable().meta({ description: 'Over the last minute' }),
    growth_bytes_per_second: z.number().nullable().meta({ description: 'Over the last minute' }),
    seconds_to_full: count.nullable().meta({ description: 'At this growth; null where it does not grow' }),
    read_seconds_ago: count,
  })
  .meta({ id: 'StreamOnTheLine' });

export const terms = z.strictObject({
  received: count,
  stored: count,
  dropped: count,
  dead_lettered: count,
  repeated: count,
  lost: count,
  stuck: count,
  unrecorded: count,
  in_flight: count,
});

export const hourAccountShape = z
  .strictObject({
    since: count,
    until: count,
    ...byPipeline(() => terms),
    adds_up: z.boolean().nullable().meta({
      description:
        'null while the books, or rows in a store, cannot be read, or their lines wait in LEDGER for 30 s',
    }),
    wrong_owners: count,
    differences: z.array(differenceSchema).meta({ description: 'Open ones, at most 20' }),
  })
  .meta({ id: 'HourAccount' });

export const processesAnswer = z.strictObject({ items: z.array(processWithSeries) });

export const lineShape = z
  .strictObject({
    at: z.number().meta({ description: 'Unix seconds to the millisecond' }),
    nats_connected: z.boolean(),
    troubles: z.array(troubleShape).meta({ description: 'The most urgent first, at most 50' }),
    totals: z.strictObject({
      accepted_items_per_second: rate,
      accepted_bytes_per_second: rate,
      refused_requests_per_second: rate,
      stored_items_per_second: rate,
      dropped_items_per_second: rate.meta({ description: 'At the receivers and in transfer' }),
      dead_lettered_items_per_second: rate,
    }),
    nodes: z.array(z.strictObject({ id: text, kind: z.enum(nodeKinds), name: text })),
    edges: z.array(
      z.strictObject({
        from: text,
        to: text,
        items_per_second: rate.nullable().meta({ description: 'null where nobody counts them' }),
        bytes_per_second: rate.nullable(),
      }),
    ),
    streams: z.array(streamShape),
    stores: z.array(
      z.strictObject({
        store: z.enum(['questdb', 'clickhouse']),
        instance: text,
        ready: z.boolean().nullable().meta({ description: 'null: not known yet' }),
        why: text.nullable(),
      }),
    ),
    processes: z.array(processShape),
    account: hourAccountShape.nullable().meta({
      description:
        'The last hour, from both books: received = the sum of all other terms. null before its first reading',
    }),
    account_why: text
      .nullable()
      .meta({ description: 'Why the latest reading failed; `account` is the previous one' }),
  })
  .meta({ id: 'Line' });

export type Line = z.output<typeof lineShape>;
/** Items of the terms: received = the sum of all others. */
export type Terms = z.output<typeof terms>;
export type Trouble = z.output<typeof troubleShape>;
export type LineStream = z.output<typeof streamShape>;
export type LineStore = Line['stores'][number];
export type LineProcess = z.output<typeof processShape>;
export type ProcessWithSeries = z.output<typeof processWithSeries>;
