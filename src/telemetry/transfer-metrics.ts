import { type Meters, metersIn } from './meters.ts';
import { createRegistry, ledgerFeedMetrics, secondsBuckets } from './shared-metrics.ts';

/** Messages of transfer, their items, and the reasons why a consumer stops. */
const messageMetrics = ({ counter, gauge, histogram }: Meters) => ({
  messages: counter({
    name: 'tidemark_transfer_messages_total',
    help: 'Messages settled, by settlement (ack, retry, dead_letter)',
    labelNames: ['pipeline', 'settlement'],
    remedy:
      '`retry` grows: the store fails, or messages of many days wait (`many_days` in `/readyz`); read the log lines of transfer',
    collector: 'otelcol_exporter_send_failed_spans',
  }),
  messageBytes: counter({
    name: 'tidemark_transfer_message_bytes_total',
    help: 'Bytes of acknowledged messages',
    labelNames: ['pipeline'],
    remedy: 'for planning: bytes per second that leave each stream',
  }),
  redelivered: counter({
    name: 'tidemark_transfer_messages_redelivered_total',
    help: 'Messages that were redelivered, or read so late that they may have been; a second write changes nothing',
    labelNames: ['pipeline'],
    remedy:
      'a steady rate: workers are killed or paused, or writes outlast the ack wait; check the times of writes',
  }),
  heldBack: gauge({
    name: 'tidemark_transfer_newer_envelope_version',
    help: 'Version of the newest message held back because a newer program wrote it; 0 = none. Upgrade transfer',
    labelNames: ['pipeline'],
    remedy: 'upgrade transfer to the version of ingress',
  }),
  stored: counter({
    name: 'tidemark_transfer_items_stored_total',
    help: 'Items whose rows the database confirmed',
    labelNames: ['pipeline'],
    remedy: 'flat while messages wait: see failing writes',
    collector: 'otelcol_exporter_sent_spans',
  }),
  visibleSeconds: histogram({
    name: 'tidemark_transfer_visible_seconds',
    help: 'Time from the arrival of a request at its receiver until the database confirmed the rows, for each message',
    labelNames: ['pipeline'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
    remedy: 'p99 over a minute: the lag, or a store that is slow; docs/runbook.md#tidemarkvisiblelate',
  }),
  rows: counter({
    name: 'tidemark_transfer_rows_written_total',
    help: 'Rows the database confirmed',
    labelNames: ['pipeline'],
    remedy: 'for planning: rows per second',
  }),
  dropped: counter({
    name: 'tidemark_transfer_items_dropped_total',
    help: 'Items dropped in transfer, by reason',
    labelNames: ['pipeline', 'reason'],
    remedy: '`tidemark drops --since 1h` shows owners and reasons',
  }),
  deadLettered: counter({
    name: 'tidemark_transfer_dead_letters_total',
    help: 'Items and messages written to DEADLETTER, by reason',
    labelNames: ['pipeline', 'reason'],
    remedy: '`tidemark dlq list`, fix the cause, `tidemark dlq redrive`',
  }),
  breakerOpen: gauge({
    name: 'tidemark_transfer_breaker_open',
    help: '1 while the consumer is stopped because too many items went to the dead letters: read them and fix the cause',
    labelNames: ['pipeline'],
    remedy: '`tidemark dlq list`, fix the cause, `tidemark dlq resume`',
  }),
  deadLettersHeld: gauge({
    name: 'tidemark_transfer_dead_letters_held',
    help: '1 while dead letters cannot be stored (DEADLETTER is full) and the consumer waits: redrive or purge some',
    labelNames: ['pipeline'],
    remedy: 'make room in DEADLETTER: `tidemark dlq redrive` or `tidemark dlq purge`',
  }),
});

/** Writes to the stores, and tables that accept no rows. */
const writeMetrics = ({ counter, gauge, histogram }: Meters) => ({
  writes: counter({
    name: 'tidemark_transfer_writes_total',
    help: 'Write requests to the store, by outcome (stored, row_refused, table_missing, table_broken, failed)',
    labelNames: ['pipeline', 'outcome'],
    remedy:
      '`failed` grows: the store is not available or refuses; `table_missing`: metadata creates the table again; `table_broken`: see docs/stores-in-trouble.md',
  }),
  tablesSetAside: gauge({
    name: 'tidemark_transfer_tables_set_aside',
    help: 'Tables that accept no rows while the store is available: their points go to the dead letters. Repair them, then redrive',
    labelNames: ['pipeline'],
    remedy: '`/readyz` and the log name the table; repair it, then `tidemark dlq redrive`',
  }),
  tableMessagesWaiting: gauge({
    name: 'tidemark_transfer_table_messages_waiting',
    help: 'Messages that this process returned because the table accepts no rows; only the twenty tables with the most messages',
    labelNames: ['questdb', 'table_id'],
    remedy:
      '`/readyz` has the reason; repair the table. At half of `ack_pending_max` its points go to the dead letters',
  }),
  tableOldestMessage: gauge({
    name: 'tidemark_transfer_table_oldest_message_seconds',
    help: 'Age of the oldest message that waits for this table, from its arrival',
    labelNames: ['questdb', 'table_id'],
    remedy:
      'beyond `table_wait_seconds`: the store itself may be at fault, not this table; docs/stores-in-trouble.md',
  }),
  unclassified: counter({
    name: 'tidemark_transfer_store_answers_unclassified_total',
    help: 'Answers of a store with an unclassified error code, by code; the messages are retried. Report them',
    labelNames: ['pipeline', 'code'],
    remedy: 'report the code; transfer retries the message meanwhile',
  }),
  writeSeconds: histogram({
    name: 'tidemark_transfer_write_seconds',
    help: 'Time of one write request to the store that did not fail',
    labelNames: ['pipeline'],
    buckets: secondsBuckets,
    remedy: 'p99 over 5 s: the store is slower than its input; check its disk, parts and apply lag',
  }),
});

/** The guard of ClickHouse and the tables of QuestDB. */
const storeMetrics = ({ counter, gauge }: Meters) => ({
  guarded: counter({
    name: 'tidemark_transfer_guarded_inserts_total',
    help: 'Guarded inserts: compared with stored rows first, because an earlier attempt may have stored them',
    labelNames: ['pipeline'],
    remedy: 'high long after a restart: connections to NATS break repeatedly',
  }),
  killedQueries: counter({
    name: 'tidemark_transfer_killed_queries_total',
    help: 'Inserts of an earlier attempt that still ran and were killed before the guarded insert',
    labelNames: ['pipeline'],
    remedy: 'single ones are normal; a steady rate: inserts outlast the ack wait',
  }),
  optimised: counter({
    name: 'tidemark_transfer_optimised_partitions_total',
    help: 'Partitions merged because two attempts at one insert overlapped',
    labelNames: ['pipeline'],
    remedy: 'a steady rate: inserts outlast the ack wait',
  }),
  questdbTables: gauge({
    name: 'tidemark_transfer_questdb_tables',
    help: 'Tables of points in QuestDB, by state: ok, suspended (rows are confirmed, but not yet visible), no_upsert_keys, broken (QuestDB can no longer change it)',
    labelNames: ['questdb', 'state'],
    remedy:
      '`suspended`: metadata resumes the table; if it stays suspended, and for `broken`, see docs/stores-in-trouble.md',
  }),
  questdbPendingCommits: gauge({
    name: 'tidemark_transfer_questdb_pending_commits',
    help: 'Largest number of commits of one table that QuestDB confirmed and has not applied yet',
    labelNames: ['questdb'],
    remedy:
      'grows for minutes: QuestDB applies commits slower than it confirms them; add disk speed or cores, or spread data ids',
  }),
});

/** Streams and the part of them that transfer holds. */
const streamMetrics = ({ counter, gauge }: Meters) => ({
  orphanedMessages: counter({
    name: 'tidemark_transfer_leftover_messages_removed_total',
    help: 'Orphaned messages removed: a killed nats-server kept them after their acknowledgement',
    labelNames: ['stream'],
    remedy: 'rises after a kill of nats-server: nothing; rises without a kill: read the log of NATS',
  }),
  stuckMessages: gauge({
    name: 'tidemark_transfer_stuck_messages',
    help: 'Messages that the consumer has passed and nobody settled: they are kept, and are not delivered',
    labelNames: ['stream'],
    remedy:
      'above 0: someone moved the consumer, or lines of the ledger are lost; docs/runbook.md#tidemarkstuckmessages',
  }),
  ledgerBytes: gauge({
    name: 'tidemark_ledger_stream_bytes',
    help: 'Bytes in stream LEDGER; over half of tidemark_ledger_stream_bytes_max: find out why ClickHouse does not accept outcomes',
    remedy: 'over half of the budget: ClickHouse does not accept outcomes',
  }),
  ledgerBytesMax: gauge({
    name: 'tidemark_ledger_stream_bytes_max',
    help: 'Byte budget of stream LEDGER; once it is full, nothing is acknowledged',
    remedy: 'nothing: the budget of pipelines/streams.yaml',
  }),
  heldBytes: gauge({
    name: 'tidemark_transfer_held_bytes',
    help: 'Message bytes held and not yet settled',
    labelNames: ['pipeline'],
    remedy: 'at the limit all the time: the store is slower than the stream',
    collector: 'otelcol_exporter_queue_size (of one process)',
  }),
  wideHeldBytes: gauge({
    name: 'tidemark_transfer_many_days_held_bytes',
    help: 'Message bytes held of messages with items of more than 16 tables and days',
    labelNames: ['pipeline'],
    remedy:
      'megabytes for minutes: a sender exports items of many days; docs/runbook.md#tidemarkpartlydegraded',
  }),
});

/** Figures of transfer. */
export const createTransferMetrics = () => {
  const registry = createRegistry('transfer');
  const meters = metersIn(registry);
  return {
    registry,
    ...ledgerFeedMetrics(meters),
    ...messageMetrics(meters),
    ...writeMetrics(meters),
    ...storeMetrics(meters),
    ...streamMetrics(meters),
  };
};

export type TransferMetrics = ReturnType<typeof createTransferMetrics>;
