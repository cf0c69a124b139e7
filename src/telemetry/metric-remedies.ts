/** The operator's remedy for a metric; and the name of the same metric in the OpenTelemetry Collector, if it has one. */
export type MetricRemedy = { readonly remedy: string; readonly collector?: string };

const say = (remedy: string, collector?: string): MetricRemedy =>
  collector === undefined ? { remedy } : { remedy, collector };

const ofEveryRole: Readonly<Record<string, MetricRemedy>> = {
  tidemark_build_info: say(
    'compare over all processes: several versions outside an upgrade mean a stalled rollout',
  ),
  tidemark_ready: say('0 for minutes: read `/readyz` of that process; it names the failing check'),
  tidemark_check_failing: say('`/readyz` has the reason; docs/runbook.md#tidemarknotready'),
  tidemark_check_degraded: say(
    'repair the dependency that `/readyz` names; the process works on; docs/runbook.md#tidemarkdegraded',
  ),
  tidemark_memory_limit_bytes: say('for comparison with `process_resident_memory_bytes`'),
  tidemark_clock_timestamp_seconds: say(
    'differs from the time of the scrape: set both clocks by NTP; docs/runbook.md#tidemarkclockskew',
  ),
  process_resident_memory_bytes: say(
    'near `tidemark_memory_limit_bytes`: raise the limit; lower `TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX` for ingress',
  ),
  process_cpu_seconds_total: say('a rate near 1 for minutes: the process uses a whole core; add replicas'),
  process_open_fds: say(
    'near `process_max_fds`: raise the limit of open files, or lower the limits of connections',
  ),
  process_start_time_seconds: say('an unexpected recent start: read the last log lines before it'),
  nodejs_eventloop_lag_p99_seconds: say(
    'over 0.2 s for minutes: the process needs more than one core; add replicas',
  ),
};

const ofLedgerFeed: Readonly<Record<string, MetricRemedy>> = {
  tidemark_ledger_feed_rows_total: say('nothing: for comparison with the rows that were given up'),
  tidemark_ledger_feed_rows_lost_total: say(
    'samples and counts of refusals are missing, no items: find out why LEDGER does not accept them',
  ),
};

const ofIngress: Readonly<Record<string, MetricRemedy>> = {
  tidemark_ingress_requests_total: say(
    'a growing share of 5xx: read `/readyz` of ingress and check the streams',
  ),
  tidemark_ingress_request_seconds: say(
    'p99 over 1 s: compare with `tidemark_ingress_publish_seconds`; bodies of slow senders count, too',
  ),
  tidemark_ingress_requests_refused_total: say(
    '`tidemark explain <reason>`; `tidemark ledger` names the owners',
    'otelcol_receiver_refused_spans',
  ),
  tidemark_ingress_items_accepted_total: say(
    'none while senders send: see refused requests',
    'otelcol_receiver_accepted_spans',
  ),
  tidemark_ingress_items_deferred_total: say('senders with wrong clocks or units: `tidemark drops --tail`'),
  tidemark_ingress_items_dropped_total: say('`tidemark drops --since 1h` shows owners and reasons'),
  tidemark_ingress_values_dropped_total: say(
    '`tidemark explain <reason>`: mostly more metric names than the limit of a table',
  ),
  tidemark_ingress_otlp_leniencies_total: say(
    'inform the owner of the sender, or upgrade its SDK; nothing is dropped',
  ),
  tidemark_ingress_duplicate_requests_total: say(
    'a high rate: exporters run into their timeouts; compare with publish times',
  ),
  tidemark_ingress_body_bytes_total: say('for planning: bytes per second of each receiver'),
  tidemark_ingress_messages_unbooked_total: say(
    'not 0: LEDGER accepts nothing for long, or very many owners send in one minute; find out why, or add replicas',
  ),
  tidemark_ingress_bytes_in_flight: say(
    'near `TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX`: add ingress replicas',
    'otelcol_exporter_in_flight_requests',
  ),
  tidemark_ingress_bytes_in_flight_max: say('nothing: the limit for comparison'),
  tidemark_ingress_series: say(
    'near 1,000,000: an application with many series gets no further one, docs/receivers/metrics.md; lower its `series_max`',
  ),
  tidemark_ingress_published_bytes_total: say(
    '`tidemark_stream_bytes_max` divided by this rate is the longest outage of the store without 503',
  ),
  tidemark_ingress_connections: say('near `TIDEMARK_INGRESS_CONNECTIONS_MAX`: add ingress replicas'),
  tidemark_ingress_connections_ended_total: say('docs/receivers/limits.md has the meaning of each reason'),
  tidemark_ingress_tls_reloads_total: say('`refused` grows: the new certificate files cannot be used'),
  tidemark_ingress_tls_files_refused: say(
    'repair the certificate files; the receivers use the previous certificate until it expires',
  ),
  tidemark_ingress_tls_certificate_expiry_timestamp_seconds: say(
    'renew the certificate; it is read again without a restart',
  ),
  tidemark_ingress_publishes_total: say(
    '`not_stored`: a stream is full or NATS is away; `unconfirmed`: NATS is slow',
    'otelcol_exporter_enqueue_failed_spans',
  ),
  tidemark_ingress_publish_seconds: say('p99 over 1 s: check the disk of NATS'),
  ...ofLedgerFeed,
};

const ofTransfer: Readonly<Record<string, MetricRemedy>> = {
  ...ofLedgerFeed,
  tidemark_transfer_messages_total: say(
    '`retry` grows: the store fails; read the log lines of transfer',
    'otelcol_exporter_send_failed_spans',
  ),
  tidemark_transfer_message_bytes_total: say('for planning: bytes per second that leave each stream'),
  tidemark_transfer_messages_redelivered_total: say(
    'a steady rate: workers are killed or paused, or writes outlast the ack wait; check the times of writes',
  ),
  tidemark_transfer_newer_envelope_version: say('upgrade transfer to the version of ingress'),
  tidemark_transfer_items_stored_total: say(
    'flat while messages wait: see failing writes',
    'otelcol_exporter_sent_spans',
  ),
  tidemark_transfer_visible_seconds: say(
    'p99 over a minute: the lag, or a store that is slow; docs/runbook.md#tidemarkvisiblelate',
  ),
  tidemark_transfer_rows_written_total: say('for planning: rows per second'),
  tidemark_transfer_items_dropped_total: say('`tidemark drops --since 1h` shows owners and reasons'),
  tidemark_transfer_dead_letters_total: say('`tidemark dlq list`, fix the cause, `tidemark dlq redrive`'),
  tidemark_transfer_breaker_open: say('`tidemark dlq list`, fix the cause, `tidemark dlq resume`'),
  tidemark_transfer_dead_letters_held: say(
    'make room in DEADLETTER: `tidemark dlq redrive` or `tidemark dlq purge`',
  ),
  tidemark_transfer_writes_total: say(
    '`failed` grows: the store is not available or refuses; `table_missing`: metadata creates the table again',
  ),
  tidemark_transfer_tables_set_aside: say(
    '`/readyz` and the log name the table; repair it, then `tidemark dlq redrive`',
  ),
  tidemark_transfer_table_messages_waiting: say(
    '`/readyz` has the reason; repair the table. At half of `ack_pending_max` its points go to the dead letters',
  ),
  tidemark_transfer_table_oldest_message_seconds: say(
    'beyond `table_wait_seconds`: the store itself may be at fault, not this table; docs/stores-in-trouble.md',
  ),
  tidemark_transfer_store_answers_unclassified_total: say(
    'report the code; transfer retries the message meanwhile',
  ),
  tidemark_transfer_write_seconds: say(
    'p99 over 5 s: the store is slower than its input; check its disk, parts and apply lag',
  ),
  tidemark_transfer_guarded_inserts_total: say(
    'high long after a restart: connections to NATS break repeatedly',
  ),
  tidemark_transfer_killed_queries_total: say(
    'single ones are normal; a steady rate: inserts outlast the ack wait',
  ),
  tidemark_transfer_optimised_partitions_total: say('a steady rate: inserts outlast the ack wait'),
  tidemark_transfer_questdb_tables: say(
    '`suspended`: metadata resumes the table; if it stays suspended, and for `broken`, see docs/stores-in-trouble.md',
  ),
  tidemark_transfer_leftover_messages_removed_total: say(
    'rises after a kill of nats-server: nothing; rises without a kill: read the log of NATS',
  ),
  tidemark_transfer_stuck_messages: say(
    'above 0: someone moved the consumer, or lines of the ledger are lost; docs/runbook.md#tidemarkstuckmessages',
  ),
  tidemark_transfer_questdb_pending_commits: say(
    'grows for minutes: QuestDB applies commits slower than it confirms them; add disk speed or cores, or spread data ids',
  ),
  tidemark_ledger_stream_bytes: say('over half of the budget: ClickHouse does not accept outcomes'),
  tidemark_ledger_stream_bytes_max: say('nothing: the budget of pipelines/streams.yaml'),
  tidemark_transfer_held_bytes: say(
    'at the limit all the time: the store is slower than the stream',
    'otelcol_exporter_queue_size (of one process)',
  ),
};

const ofMetadata: Readonly<Record<string, MetricRemedy>> = {
  tidemark_metadata_requests_total: say('5xx: the log of metadata has the cause'),
  tidemark_metadata_pulses_ignored_total: say(
    '`malformed` grows: another program publishes under `pulse.`; `too_many`: `tidemark processes` lacks some; nothing is lost',
  ),
  tidemark_metadata_tls_reloads_total: say('`refused` grows: the new certificate files cannot be used'),
  tidemark_metadata_tls_files_refused: say(
    'repair the certificate files; the admin API uses the previous certificate until it expires',
  ),
  tidemark_metadata_tls_certificate_expiry_timestamp_seconds: say(
    'renew the certificate; it is read again without a restart',
  ),
  tidemark_streams_mended_total: say(
    'grows: somebody deleted or changed a stream of NATS; what a missing one held is in `tidemark account`',
  ),
  tidemark_stream_missing: say(
    '1 for longer than ten seconds: metadata cannot make it again, its `/readyz` and log say why; docs/runbook.md#tidemarkstreammissing',
  ),
  tidemark_stream_messages: say('grows: add transfer replicas, unless a store is slow'),
  tidemark_stream_bytes: say(
    'grows: add transfer replicas, unless a store is slow',
    'otelcol_exporter_queue_size',
  ),
  tidemark_stream_bytes_max: say(
    'raise `bytes_max` in pipelines/streams.yaml for longer outages',
    'otelcol_exporter_queue_capacity',
  ),
  tidemark_stream_bytes_left: say('divided by the rate of growth it is the time until receivers answer 503'),
  tidemark_stream_oldest_age_seconds: say('the lag. Grows: add transfer replicas, unless a store is slow'),
  tidemark_consumer_pending: say('grows while ack_pending is low: there are no workers'),
  tidemark_consumer_ack_pending: say(
    'at `ack_pending_max` of pipelines/streams.yaml: workers hold messages and cannot write them',
  ),
  tidemark_consumer_redelivered: say(
    'workers were killed or returned messages; it falls as the messages are stored',
  ),
  tidemark_consumer_waiting_pulls: say('0 while messages wait: no transfer process pulls'),
  tidemark_stream_copies_behind: say(
    'above 0 for minutes: a server of NATS is away or slow; one more failure may stop the stream',
  ),
  tidemark_clock_offset_seconds: say('over 5 s: set both clocks by NTP; docs/runbook.md#tidemarkclockskew'),
  tidemark_disk_bytes: say('nothing: for comparison with the free bytes'),
  tidemark_disk_free_bytes: say('below 15 %: docs/runbook.md#tidemarkdiskfilling'),
  tidemark_disk_days_left: say('below 7: docs/runbook.md#tidemarkdiskforecast'),
  tidemark_admin_token_expiry_timestamp_seconds: say(
    '`tidemark admin-token list` names it; create another, and give it to its users before',
  ),
  tidemark_backup_last_success_timestamp_seconds: say('older than a day: docs/runbook.md#tidemarkbackupold'),
  tidemark_clickhouse_parts_max: say(
    'near `tidemark_clickhouse_parts_delay`: merges are behind; larger and fewer inserts, or a faster disk',
  ),
  tidemark_clickhouse_parts_delay: say('nothing: the limit of the server'),
  tidemark_outcome_items: say('`tidemark ledger --since 1h` shows the owners'),
  tidemark_outcome_unbalanced_owners: say(
    '`tidemark account` names each difference; docs/runbook.md#tidemarkunbalanced',
  ),
  tidemark_account_open_difference_items: say(
    'the labels name kind, owner and minutes; docs/runbook.md#tidemarkunbalanced',
  ),
  tidemark_account_not_known_seconds: say(
    'over 300: NATS or ClickHouse does not answer, or LEDGER is behind; docs/runbook.md#tidemarkaccountnotknown',
  ),
  tidemark_usage_silent_owners: say(
    '`tidemark usage --silent` names them: ask their operators, or disable what is no longer used',
  ),
  tidemark_usage_failing_senders: say(
    '`tidemark usage --failing` names them: give them a valid token, or turn them off',
  ),
  tidemark_watch_last_success_timestamp_seconds: say(
    'old: metadata cannot read NATS or ClickHouse, and the metrics above are old, too',
  ),
  tidemark_refresh_runs_total: say(
    'a steady rate of `interrupted`: metadata processes are restarted during runs',
  ),
  tidemark_refresh_reports_total: say('`failed`: `tidemark refresh show <run_id>` has the reasons'),
  tidemark_refresh_last_duration_seconds: say('near the interval of the job: node management is slow'),
  tidemark_refresh_last_failed: say('`tidemark refresh show <run_id>` has the reasons'),
  tidemark_refresh_last_success_timestamp_seconds: say('old in every process: `tidemark refresh list`'),
  tidemark_refresh_due_timestamp_seconds: say(
    'later than the last success in every process: three runs were missed',
  ),
  tidemark_refresh_interval_seconds: say('nothing: for comparison with the time of the last success'),
  tidemark_refresh_subscriptions: say('nothing: for comparison with the number of reports'),
};

/** By role and name: every metric of Tidemark, and the process metrics that operators use. */
export const metricRemedies: Readonly<
  Record<'every' | 'ingress' | 'transfer' | 'metadata', Readonly<Record<string, MetricRemedy>>>
> = { every: ofEveryRole, ingress: ofIngress, transfer: ofTransfer, metadata: ofMetadata };

/** Values of each label. No label has an unlimited number of values from senders. */
export const labelBounds: Readonly<Record<string, { readonly pattern: RegExp; readonly text: string }>> = {
  role: { pattern: /^(ingress|transfer|metadata)$/, text: 'ingress, transfer, metadata; on every metric' },
  version: { pattern: /^\d+\.\d+\.\d+$/, text: 'of the program' },
  node: { pattern: /^\d+\.\d+\.\d+$/, text: 'version of Node' },
  check: { pattern: /^[a-z_]+$/, text: 'the checks of `/readyz`' },
  why: { pattern: /^(malformed|too_many)$/, text: 'malformed, too_many' },
  pipeline: {
    pattern: /^(metrics(-[a-z][a-z0-9_-]{0,31})?|traces|logs|otel_metrics|ledger)$/,
    text: 'metrics, traces, logs, otel_metrics, ledger; in transfer also metrics-<name> of each further QuestDB instance',
  },
  questdb: {
    pattern: /^[a-z][a-z0-9_-]{0,31}$/,
    text: 'QuestDB instances: default, and the names in TIDEMARK_QUESTDB_URLS',
  },
  receiver: { pattern: /^(push|otlp|grpc)$/, text: 'push, otlp, grpc' },
  status: { pattern: /^[1-5]\d\d$/, text: 'HTTP status' },
  status_class: { pattern: /^[1-5]xx$/, text: '2xx, 4xx, 5xx' },
  reason: {
    pattern: /^[a-z_]+$/,
    text: 'codes of docs/reasons.md; for connections the codes of docs/receivers/limits.md',
  },
  kind: {
    pattern: /^[a-z_0-9]+$/,
    text: 'kinds of leniency; refusals, samples, published, doubtful, usage; kinds of differences (docs/outcomes.md); for process metrics their own',
  },
  sender: { pattern: /^[a-z0-9.+/_-]{1,60}$/, text: 'the first hundred names of SDKs, then `other`' },
  outcome: { pattern: /^[a-z_]+$/, text: 'named in the meaning of the metric' },
  settlement: { pattern: /^(ack|retry|dead_letter)$/, text: 'ack, retry, dead_letter' },
  state: { pattern: /^[a-z_]+$/, text: 'named in the meaning of the metric' },
  trigger: { pattern: /^(schedule|manual)$/, text: 'schedule, manual' },
  code: { pattern: /^[A-Za-z0-9_]{1,40}$/, text: 'error numbers of a store that Tidemark does not classify' },
  stream: {
    pattern:
      /^(METRICS(-[a-z][a-z0-9_-]{0,31})?|TRACES|LOGS|OTEL_METRICS|LEDGER|DEADLETTER|AUDIT|KV_tidemark-(records|columns|system))$/,
    text: 'streams of pipelines/streams.yaml, METRICS-<name> of each further QuestDB instance, KV_<name> of buckets that metadata makes again',
  },
  engine: {
    pattern: /^(nats|clickhouse|questdb(-[a-z][a-z0-9_-]{0,31})?)$/,
    text: 'nats, clickhouse, questdb; questdb-<name> where there are several',
  },
  disk: { pattern: /^(data|clickhouse)$/, text: 'data, clickhouse' },
  part: {
    pattern: /^(nats|clickhouse|questdb(-[a-z][a-z0-9_-]*)?)$/,
    text: 'nats, questdb, questdb-<name> of a further instance, clickhouse',
  },
  table: { pattern: /^[a-z_]+$/, text: 'tables of database `otel`' },
  table_id: {
    pattern: /^\d+_[A-Za-z0-9_.]{1,200}$/,
    text: 'tables of points that accept no rows at present, twenty at most',
  },
  owner: { pattern: /^\d{1,15}$/, text: 'data ids and applications with an open difference; 0: not known' },
  from: { pattern: /^\d{4}-\d\d-\d\dT\d\d:\d\d$/, text: 'first minute of an open difference, UTC' },
  until: {
    pattern: /^\d{4}-\d\d-\d\dT\d\d:\d\d$/,
    text: 'end of the last minute of an open difference, UTC',
  },
  what: {
    pattern: /^(streams|clickhouse|parts|outcomes|usage)$/,
    text: 'streams, clickhouse, parts, outcomes, usage',
  },
  le: { pattern: /^(\+Inf|[\d.]+)$/, text: 'upper bound of a bucket, seconds' },
};
