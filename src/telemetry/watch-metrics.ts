import { Gauge, type Registry } from 'prom-client';

/** Figures of the bus and of ClickHouse, read by metadata: they exist while every transfer process is away. */
export const createWatchMetrics = (registry: Registry) => {
  const registers = [registry];
  const ofStream = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['stream'], registers });
  return {
    missing: ofStream('tidemark_stream_missing', '1 = the stream or its consumer is missing'),
    messages: ofStream('tidemark_stream_messages', 'Messages in a stream'),
    bytes: ofStream('tidemark_stream_bytes', 'Bytes in a stream'),
    bytesMax: ofStream(
      'tidemark_stream_bytes_max',
      'Byte budget of a stream; a full stream refuses messages',
    ),
    bytesLeft: ofStream('tidemark_stream_bytes_left', 'Bytes until a stream is full'),
    oldestAge: ofStream(
      'tidemark_stream_oldest_age_seconds',
      'Age of the oldest message of a stream; 0 = the stream is empty',
    ),
    pending: ofStream('tidemark_consumer_pending', 'Messages that were not delivered to a worker yet'),
    ackPending: ofStream(
      'tidemark_consumer_ack_pending',
      'Messages that workers hold and have not settled yet',
    ),
    redelivered: ofStream('tidemark_consumer_redelivered', 'Redelivered messages that are not settled yet'),
    waitingPulls: ofStream('tidemark_consumer_waiting_pulls', 'Pulls of workers that wait for messages'),
    copiesBehind: ofStream(
      'tidemark_stream_copies_behind',
      'Copies of a stream on other servers of NATS that are offline or behind',
    ),
    parts: new Gauge({
      name: 'tidemark_clickhouse_parts_max',
      help: 'Active parts of a table in its fullest partition',
      labelNames: ['table'],
      registers,
    }),
    partsDelay: new Gauge({
      name: 'tidemark_clickhouse_parts_delay',
      help: 'Parts in one partition from which ClickHouse slows inserts (parts_to_delay_insert)',
      registers,
    }),
    outcomeItems: new Gauge({
      name: 'tidemark_outcome_items',
      help: 'Items that arrived in the hour before the last five minutes, by outcome; received is their sum once all are settled',
      labelNames: ['pipeline', 'outcome'],
      registers,
    }),
    silentOwners: new Gauge({
      name: 'tidemark_usage_silent_owners',
      help: 'Enabled data ids and applications that were seen on seven days in a row and then not for a day to a week',
      registers,
    }),
    failingSenders: new Gauge({
      name: 'tidemark_usage_failing_senders',
      help: 'Senders that failed authorisation in six or more hours of the last week, the last time within 25 hours',
      registers,
    }),
    lastSuccess: new Gauge({
      name: 'tidemark_watch_last_success_timestamp_seconds',
      help: 'Time of the last successful read of streams, ClickHouse, parts, outcomes, usage by metadata; Unix seconds, 0 = never in this process',
      labelNames: ['what'],
      registers,
    }),
  };
};

export type WatchMetrics = ReturnType<typeof createWatchMetrics>;
