import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { createRegistry, ledgerFeedMetrics, secondsBuckets } from './shared-metrics.ts';

/** Messages of transfer, their items, and the reasons why a consumer stops. */
const messageMetrics = (registers: Registry[]) => ({
  messages: new Counter({
    name: 'tidemark_transfer_messages_total',
    help: 'Messages settled, by settlement (ack, retry, dead_letter)',
    labelNames: ['pipeline', 'settlement'],
    registers,
  }),
  messageBytes: new Counter({
    name: 'tidemark_transfer_message_bytes_total',
    help: 'Bytes of acknowledged messages',
    labelNames: ['pipeline'],
    registers,
  }),
  redelivered: new Counter({
    name: 'tidemark_transfer_messages_redelivered_total',
    help: 'Messages that were redelivered, or read so late that they may have been; a second write changes nothing',
    labelNames: ['pipeline'],
    registers,
  }),
  heldBack: new Gauge({
    name: 'tidemark_transfer_newer_envelope_version',
    help: 'Version of the newest message held back because a newer program wrote it; 0 = none. Upgrade transfer',
    labelNames: ['pipeline'],
    registers,
  }),
  stored: new Counter({
    name: 'tidemark_transfer_items_stored_total',
    help: 'Items whose rows the database confirmed',
    labelNames: ['pipeline'],
    registers,
  }),
  visibleSeconds: new Histogram({
    name: 'tidemark_transfer_visible_seconds',
    help: 'Time from the arrival of a request at its receiver until the database confirmed the rows, for each message',
    labelNames: ['pipeline'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
    registers,
  }),
  rows: new Counter({
    name: 'tidemark_transfer_rows_written_total',
    help: 'Rows the database confirmed',
    labelNames: ['pipeline'],
    registers,
  }),
  dropped: new Counter({
    name: 'tidemark_transfer_items_dropped_total',
    help: 'Items dropped in transfer, by reason',
    labelNames: ['pipeline', 'reason'],
    registers,
  }),
  deadLettered: new Counter({
    name: 'tidemark_transfer_dead_letters_total',
    help: 'Items and messages written to DEADLETTER, by reason',
    labelNames: ['pipeline', 'reason'],
    registers,
  }),
  breakerOpen: new Gauge({
    name: 'tidemark_transfer_breaker_open',
    help: '1 while the consumer is stopped because too many items went to the dead letters: read them and fix the cause',
    labelNames: ['pipeline'],
    registers,
  }),
  deadLettersHeld: new Gauge({
    name: 'tidemark_transfer_dead_letters_held',
    help: '1 while dead letters cannot be stored (DEADLETTER is full) and the consumer waits: redrive or purge some',
    labelNames: ['pipeline'],
    registers,
  }),
});

/** Writes to the stores, and tables that accept no rows. */
const writeMetrics = (registers: Registry[]) => ({
  writes: new Counter({
    name: 'tidemark_transfer_writes_total',
    help: 'Write requests to the store, by outcome (stored, row_refused, table_missing, failed)',
    labelNames: ['pipeline', 'outcome'],
    registers,
  }),
  tablesSetAside: new Gauge({
    name: 'tidemark_transfer_tables_set_aside',
    help: 'Tables that accept no rows while the store is available: their points go to the dead letters. Repair them, then redrive',
    labelNames: ['pipeline'],
    registers,
  }),
  tableMessagesWaiting: new Gauge({
    name: 'tidemark_transfer_table_messages_waiting',
    help: 'Messages that this process returned because the table accepts no rows; only the twenty tables with the most messages',
    labelNames: ['questdb', 'table_id'],
    registers,
  }),
  tableOldestMessage: new Gauge({
    name: 'tidemark_transfer_table_oldest_message_seconds',
    help: 'Age of the oldest message that waits for this table, from its arrival',
    labelNames: ['questdb', 'table_id'],
    registers,
  }),
  unclassified: new Counter({
    name: 'tidemark_transfer_store_answers_unclassified_total',
    help: 'Answers of a store with an unclassified error code, by code; the messages are retried. Report them',
    labelNames: ['pipeline', 'code'],
    registers,
  }),
  writeSeconds: new Histogram({
    name: 'tidemark_transfer_write_seconds',
    help: 'Time of one write request to the store',
    labelNames: ['pipeline'],
    buckets: secondsBuckets,
    registers,
  }),
});

/** The guard of ClickHouse and the tables of QuestDB. */
const storeMetrics = (registers: Registry[]) => ({
  guarded: new Counter({
    name: 'tidemark_transfer_guarded_inserts_total',
    help: 'Guarded inserts: compared with stored rows first, because an earlier attempt may have stored them',
    labelNames: ['pipeline'],
    registers,
  }),
  killedQueries: new Counter({
    name: 'tidemark_transfer_killed_queries_total',
    help: 'Inserts of an earlier attempt that still ran and were killed before the guarded insert',
    labelNames: ['pipeline'],
    registers,
  }),
  optimised: new Counter({
    name: 'tidemark_transfer_optimised_partitions_total',
    help: 'Partitions merged because two attempts at one insert overlapped',
    labelNames: ['pipeline'],
    registers,
  }),
  questdbTables: new Gauge({
    name: 'tidemark_transfer_questdb_tables',
    help: 'Tables of points in QuestDB, by state: ok, suspended (rows are confirmed, but not yet visible), no_upsert_keys, broken (QuestDB can no longer change it)',
    labelNames: ['questdb', 'state'],
    registers,
  }),
  questdbPendingCommits: new Gauge({
    name: 'tidemark_transfer_questdb_pending_commits',
    help: 'Largest number of commits of one table that QuestDB confirmed and has not applied yet',
    labelNames: ['questdb'],
    registers,
  }),
});

/** Streams and the part of them that transfer holds. */
const streamMetrics = (registers: Registry[]) => ({
  orphanedMessages: new Counter({
    name: 'tidemark_transfer_leftover_messages_removed_total',
    help: 'Orphaned messages removed: a killed nats-server kept them after their acknowledgement',
    labelNames: ['stream'],
    registers,
  }),
  stuckMessages: new Gauge({
    name: 'tidemark_transfer_stuck_messages',
    help: 'Messages that the consumer has passed and nobody settled: they are kept, and are not delivered',
    labelNames: ['stream'],
    registers,
  }),
  ledgerBytes: new Gauge({
    name: 'tidemark_ledger_stream_bytes',
    help: 'Bytes in stream LEDGER; over half of tidemark_ledger_stream_bytes_max: find out why ClickHouse does not accept outcomes',
    registers,
  }),
  ledgerBytesMax: new Gauge({
    name: 'tidemark_ledger_stream_bytes_max',
    help: 'Byte budget of stream LEDGER; once it is full, nothing is acknowledged',
    registers,
  }),
  heldBytes: new Gauge({
    name: 'tidemark_transfer_held_bytes',
    help: 'Message bytes held and not yet settled',
    labelNames: ['pipeline'],
    registers,
  }),
});

/** Figures of transfer. */
export const createTransferMetrics = () => {
  const registry = createRegistry('transfer');
  const registers = [registry];
  return {
    registry,
    ...ledgerFeedMetrics(registers),
    ...messageMetrics(registers),
    ...writeMetrics(registers),
    ...storeMetrics(registers),
    ...streamMetrics(registers),
  };
};

export type TransferMetrics = ReturnType<typeof createTransferMetrics>;
