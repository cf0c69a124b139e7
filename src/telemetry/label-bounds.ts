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
    text: 'streams of pipelines/streams.yaml, METRICS-<name> of each further QuestDB instance, KV_<name> of buckets that metadata creates again',
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
  owner: {
    pattern: /^\d{1,15}$/,
    text: 'data ids and applications with an open difference, that are silent, or whose senders fail: fifty of each at most; 0: not known',
  },
  address: {
    pattern: /^[^\s]{0,64}$/,
    text: 'senders that fail authorisation and name no owner, fifty at most',
  },
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
