import type { Registry } from 'prom-client';
import { type Meters, type MetricRemedy, metersIn } from './meters.ts';

/** Figures of each stream and its consumer. */
const streamMetrics = ({ gauge }: Meters) => {
  const ofStream = (metric: { name: string; help: string } & MetricRemedy) =>
    gauge({ ...metric, labelNames: ['stream'] });
  return {
    missing: ofStream({
      name: 'tidemark_stream_missing',
      help: '1 = the stream or its consumer is missing',
      remedy:
        '1 for longer than ten seconds: metadata cannot create it again, its `/readyz` and log say why; docs/runbook.md#tidemarkstreammissing',
    }),
    messages: ofStream({
      name: 'tidemark_stream_messages',
      help: 'Messages in a stream',
      remedy: 'grows: add transfer replicas, unless a store is slow',
    }),
    bytes: ofStream({
      name: 'tidemark_stream_bytes',
      help: 'Bytes in a stream',
      remedy: 'grows: add transfer replicas, unless a store is slow',
      collector: 'otelcol_exporter_queue_size',
    }),
    bytesMax: ofStream({
      name: 'tidemark_stream_bytes_max',
      help: 'Byte budget of a stream; a full stream refuses messages',
      remedy: 'raise `bytes_max` in pipelines/streams.yaml for longer outages',
      collector: 'otelcol_exporter_queue_capacity',
    }),
    bytesLeft: ofStream({
      name: 'tidemark_stream_bytes_left',
      help: 'Bytes until a stream is full',
      remedy: 'divided by the rate of growth it is the time until receivers answer 503',
    }),
    oldestAge: ofStream({
      name: 'tidemark_stream_oldest_age_seconds',
      help: 'Age of the oldest message of a stream; 0 = the stream is empty',
      remedy: 'the lag. Grows: add transfer replicas, unless a store is slow',
    }),
    pending: ofStream({
      name: 'tidemark_consumer_pending',
      help: 'Messages that were not delivered to a worker yet',
      remedy: 'grows while ack_pending is low: there are no workers',
    }),
    ackPending: ofStream({
      name: 'tidemark_consumer_ack_pending',
      help: 'Messages that workers hold and have not settled yet',
      remedy: 'at `ack_pending_max` of pipelines/streams.yaml: workers hold messages and cannot write them',
    }),
    redelivered: ofStream({
      name: 'tidemark_consumer_redelivered',
      help: 'Redelivered messages that are not settled yet',
      remedy: 'workers were killed or returned messages; it falls as the messages are stored',
    }),
    waitingPulls: ofStream({
      name: 'tidemark_consumer_waiting_pulls',
      help: 'Pulls of workers that wait for messages',
      remedy: '0 while messages wait: no transfer process pulls',
    }),
    copiesBehind: ofStream({
      name: 'tidemark_stream_copies_behind',
      help: 'Copies of a stream on other servers of NATS that are offline or behind',
      remedy: 'above 0 for minutes: a server of NATS is away or slow; one more failure may stop the stream',
    }),
  };
};

/** Figures of the bus and of ClickHouse, read by metadata: they exist while every transfer process is away. */
export const createWatchMetrics = (registry: Registry) => {
  const meters = metersIn(registry);
  const { gauge } = meters;
  return {
    ...streamMetrics(meters),
    parts: gauge({
      name: 'tidemark_clickhouse_parts_max',
      help: 'Active parts of a table in its fullest partition',
      labelNames: ['table'],
      remedy:
        'near `tidemark_clickhouse_parts_delay`: merges are behind; larger and fewer inserts, or a faster disk',
    }),
    partsDelay: gauge({
      name: 'tidemark_clickhouse_parts_delay',
      help: 'Parts in one partition from which ClickHouse slows inserts (parts_to_delay_insert)',
      remedy: 'nothing: the limit of the server',
    }),
    outcomeItems: gauge({
      name: 'tidemark_outcome_items',
      help: 'Items that arrived in the hour before the last five minutes, by outcome; received is their sum once all are settled',
      labelNames: ['pipeline', 'outcome'],
      remedy: '`tidemark ledger --since 1h` shows the owners',
    }),
    silentOwners: gauge({
      name: 'tidemark_usage_silent_owners',
      help: 'Enabled data ids and applications that were seen on seven days in a row and then not for a day to a week',
      remedy: '`tidemark usage --silent` names them: ask their operators, or disable what is no longer used',
    }),
    silentOwner: gauge({
      name: 'tidemark_usage_silent_owner_last_request_timestamp_seconds',
      help: 'Last request of each silent data id or application, Unix seconds; the fifty that were silent last',
      labelNames: ['owner'],
      remedy:
        '`tidemark usage --silent` has its last sender: ask its operators; docs/runbook.md#tidemarkproducersilent',
    }),
    failingSenders: gauge({
      name: 'tidemark_usage_failing_senders',
      help: 'Senders that failed authorisation in six or more hours of the last week, the last time within 25 hours',
      remedy: '`tidemark usage --failing` names them: give them a valid token, or turn them off',
    }),
    failingSender: gauge({
      name: 'tidemark_usage_failing_sender_hours',
      help: 'Hours of the last week in which a sender failed authorisation, by the owner that it names, without one (0) by its address; the fifty that began last',
      labelNames: ['owner', 'address'],
      remedy: '`tidemark usage --failing` has the reason; docs/runbook.md#tidemarksenderunauthorized',
    }),
    lastSuccess: gauge({
      name: 'tidemark_watch_last_success_timestamp_seconds',
      help: 'Time of the last successful read of streams, ClickHouse, parts, outcomes, usage by metadata; Unix seconds, 0 = never in this process',
      labelNames: ['what'],
      remedy: 'old: metadata cannot read NATS or ClickHouse, and the metrics above are old, too',
    }),
  };
};

export type WatchMetrics = ReturnType<typeof createWatchMetrics>;
