import { totalmem } from 'node:os';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { programVersion } from './program-version.ts';

export type { Registry } from 'prom-client';

/** Bytes of memory that this process may use: the limit of its container, where there is none the machine's memory. */
const memoryLimitBytes = (): number => {
  const machine = totalmem();
  const limit = process.constrainedMemory();
  return limit > 0 && limit < machine ? limit : machine;
};

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** A registry with the process's own figures (CPU, memory, event loop, GC) and the role as a label of all. */
const createRegistry = (role: string): Registry => {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'tidemark_build_info',
    help: 'Always 1; the labels are the versions of the program and of Node',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: programVersion(), node: process.versions.node }, 1);
  new Gauge({
    name: 'tidemark_memory_limit_bytes',
    help: "Memory that the process may use: the limit of its container; without one, the machine's memory",
    registers: [registry],
  }).set(memoryLimitBytes());
  new Gauge({
    name: 'tidemark_clock_timestamp_seconds',
    help: 'The clock of the process, Unix seconds: compare it with the time of the scrape',
    registers: [registry],
    collect() {
      this.set(Date.now() / 1000);
    },
  });
  return registry;
};

/** Metrics of the refusals and samples that a receiver or a worker publishes to LEDGER. */
const ledgerFeedMetrics = (registers: Registry[]) => ({
  ledgerRows: new Counter({
    name: 'tidemark_ledger_feed_rows_total',
    help: 'Rows of refusals, samples and the book of publishers stored in LEDGER, by kind',
    labelNames: ['kind'],
    registers,
  }),
  ledgerRowsLost: new Counter({
    name: 'tidemark_ledger_feed_rows_lost_total',
    help: 'Rows of refusals and samples given up because LEDGER refused them or is more than half full, by kind',
    labelNames: ['kind'],
    registers,
  }),
});

/** Requests of ingress and their items. */
const requestMetrics = (registers: Registry[]) => ({
  requests: new Counter({
    name: 'tidemark_ingress_requests_total',
    help: 'Requests answered, by receiver and HTTP status; a call over gRPC counts with the status that its answer has over HTTP',
    labelNames: ['receiver', 'status'],
    registers,
  }),
  requestSeconds: new Histogram({
    name: 'tidemark_ingress_request_seconds',
    help: 'Time from the head of a request to its answer, the arrival of its body included; by class of HTTP status',
    labelNames: ['receiver', 'status_class'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  }),
  refused: new Counter({
    name: 'tidemark_ingress_requests_refused_total',
    help: 'Refused requests, by reason; tidemark explain <reason> has the remedy',
    labelNames: ['receiver', 'reason'],
    registers,
  }),
  accepted: new Counter({
    name: 'tidemark_ingress_items_accepted_total',
    help: 'Items acknowledged after the PubAck',
    labelNames: ['pipeline'],
    registers,
  }),
  deferred: new Counter({
    name: 'tidemark_ingress_items_deferred_total',
    help: 'Items with a wrong time, deferred to transfer, which drops them',
    labelNames: ['pipeline', 'reason'],
    registers,
  }),
  dropped: new Counter({
    name: 'tidemark_ingress_items_dropped_total',
    help: 'Items dropped at the receiver, by reason',
    labelNames: ['pipeline', 'reason'],
    registers,
  }),
  valuesDropped: new Counter({
    name: 'tidemark_ingress_values_dropped_total',
    help: 'Single values dropped from accepted items, by reason',
    labelNames: ['pipeline', 'reason'],
    registers,
  }),
  leniencies: new Counter({
    name: 'tidemark_ingress_otlp_leniencies_total',
    help: 'Deviations from OTLP that the receiver accepted, by kind and sender (SDK, else User-Agent)',
    labelNames: ['kind', 'sender'],
    registers,
  }),
  duplicates: new Counter({
    name: 'tidemark_ingress_duplicate_requests_total',
    help: 'Duplicate requests, recognised by their identity; nothing was stored again',
    labelNames: ['pipeline'],
    registers,
  }),
  bodyBytes: new Counter({
    name: 'tidemark_ingress_body_bytes_total',
    help: 'Bytes of request bodies as received',
    labelNames: ['receiver'],
    registers,
  }),
});

/** The certificate of a server. */
const tlsMetrics = (role: 'ingress' | 'metadata', registers: Registry[]) => ({
  tlsReloads: new Counter({
    name: `tidemark_${role}_tls_reloads_total`,
    help: 'Changed certificate files read again, by outcome (loaded, refused)',
    labelNames: ['outcome'],
    registers,
  }),
  tlsStale: new Gauge({
    name: `tidemark_${role}_tls_files_refused`,
    help: '1 while the certificate files cannot be used and the previous certificate stays in use: repair the files',
    registers,
  }),
  tlsExpiry: new Gauge({
    name: `tidemark_${role}_tls_certificate_expiry_timestamp_seconds`,
    help: 'Expiry of the certificate in use, seconds since 1970; 0 = plain HTTP',
    registers,
  }),
});

export type TlsMetrics = ReturnType<typeof tlsMetrics>;

/** The receivers' resources in use: bytes, connections, certificates. */
const connectionMetrics = (registers: Registry[]) => ({
  bytesInFlight: new Gauge({
    name: 'tidemark_ingress_bytes_in_flight',
    help: 'Request bytes held now; near the limit receivers answer 503',
    registers,
  }),
  bytesInFlightMax: new Gauge({
    name: 'tidemark_ingress_bytes_in_flight_max',
    help: 'Limit of the request bytes that the process holds at once',
    registers,
  }),
  series: new Gauge({
    name: 'tidemark_ingress_series',
    help: 'Series of data points held of all applications with a bound; each leaves an hour after its latest data point',
    registers,
  }),
  connections: new Gauge({
    name: 'tidemark_ingress_connections',
    help: 'Connections open now; near the limit new ones are answered 503',
    labelNames: ['receiver'],
    registers,
  }),
  connectionsEnded: new Counter({
    name: 'tidemark_ingress_connections_ended_total',
    help: 'Connections that the receiver refused or closed, by reason; docs/receivers/limits.md has the remedies',
    labelNames: ['receiver', 'reason'],
    registers,
  }),
  ...tlsMetrics('ingress', registers),
});

/** Messages that ingress publishes. */
const publishMetrics = (registers: Registry[]) => ({
  publishes: new Counter({
    name: 'tidemark_ingress_publishes_total',
    help: 'Messages published, by outcome (stored, duplicate, not_stored, unconfirmed)',
    labelNames: ['pipeline', 'outcome'],
    registers,
  }),
  publishedBytes: new Counter({
    name: 'tidemark_ingress_published_bytes_total',
    help: 'Bytes of messages that NATS confirmed, by stream',
    labelNames: ['stream'],
    registers,
  }),
  publishSeconds: new Histogram({
    name: 'tidemark_ingress_publish_seconds',
    help: 'Time from publish to PubAck',
    labelNames: ['pipeline'],
    buckets: secondsBuckets,
    registers,
  }),
  unbooked: new Counter({
    name: 'tidemark_ingress_messages_unbooked_total',
    help: 'Messages published without a place in the book of publishers, which had no room: of these the account knows what was settled alone',
    labelNames: ['stream'],
    registers,
  }),
});

/** Figures of ingress. Labels are bounded: pipeline names, codes of the closed table of reasons, HTTP status. */
export const createIngressMetrics = () => {
  const registry = createRegistry('ingress');
  const registers = [registry];
  return {
    registry,
    ...ledgerFeedMetrics(registers),
    ...requestMetrics(registers),
    ...connectionMetrics(registers),
    ...publishMetrics(registers),
  };
};

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
    help: 'Redelivered messages; a second write changes nothing',
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

/** Figures of metadata. */
export const createMetadataMetrics = () => {
  const registry = createRegistry('metadata');
  const registers = [registry];
  return {
    registry,
    requests: new Counter({
      name: 'tidemark_metadata_requests_total',
      help: 'Admin API requests answered, by HTTP status',
      labelNames: ['status'],
      registers,
    }),
    pulsesIgnored: new Counter({
      name: 'tidemark_metadata_pulses_ignored_total',
      help: 'Pulses of processes that were ignored: malformed, or of more processes than the limit of 64 (too_many)',
      labelNames: ['why'],
      registers,
    }),
    streamsMended: new Counter({
      name: 'tidemark_streams_mended_total',
      help: 'Streams that were made again after they were missing, or changed back to their definition',
      labelNames: ['stream', 'kind'],
      registers,
    }),
    ...tlsMetrics('metadata', registers),
  };
};

export type LedgerFeedMetrics = ReturnType<typeof ledgerFeedMetrics>;
export type PublishersBookMetrics = Pick<IngressMetrics, 'ledgerRows' | 'unbooked'>;
export type IngressMetrics = ReturnType<typeof createIngressMetrics>;
export type TransferMetrics = ReturnType<typeof createTransferMetrics>;
export type MetadataMetrics = ReturnType<typeof createMetadataMetrics>;
