/** What a setting's text has to be. */
export type Kind =
  | 'port'
  | 'level'
  | 'text'
  | 'url'
  | 'urls'
  | 'instances'
  | 'headers'
  | 'attributes'
  | 'integer'
  | 'count'
  | 'processes'
  | 'bytes'
  | 'flag'
  | 'ratio'
  | 'path'
  | 'durability'
  | 'replicas'
  | 'cluster'
  | 'secret';

/** One setting: the environment variable, the same thing's place in the file, and what it does. */
export type SettingDefinition = {
  readonly env: string;
  readonly key: string;
  readonly kind: Kind;
  readonly fallback: string | undefined;
  readonly meaning: string;
};

const define = (
  env: string,
  key: string,
  kind: Kind,
  fallback: string | undefined,
  meaning: string,
): SettingDefinition => ({ env, key, kind, fallback, meaning });

/** Every setting there is. The environment wins over the file, the file over the default. */
export const settingDefinitions: readonly SettingDefinition[] = [
  define('TIDEMARK_CONFIG', '', 'path', undefined, 'YAML file with settings, by the keys of this table'),
  define(
    'TIDEMARK_CACHE',
    'cache_folder',
    'path',
    undefined,
    'folder of installed engines, default ~/.cache/tidemark',
  ),
  define(
    'TIDEMARK_DATA',
    'data_folder',
    'path',
    '.tidemark',
    'folder of the embedded engines, their credentials and admin.token; accessible only to its owner',
  ),
  define(
    'TIDEMARK_BIND_HOST',
    'bind_host',
    'text',
    '127.0.0.1',
    'address the roles listen on; the embedded engines stay on loopback',
  ),
  define('TIDEMARK_LOG_LEVEL', 'log_level', 'level', 'info', 'trace, debug, info, warn, error or silent'),
  define(
    'TIDEMARK_PIPELINES',
    'pipelines_folder',
    'path',
    undefined,
    'folder of the pipeline files, default the one of the program',
  ),
  define('TIDEMARK_TABLE_PREFIX', 'table_prefix', 'text', 'mon', '<prefix> in table_id'),
  define(
    'TIDEMARK_MAX_RATE_DEFAULT',
    'max_rate_default',
    'integer',
    '1000',
    'requests per second where max_rate is -1; 0 = unlimited',
  ),
  define(
    'TIDEMARK_DURABILITY',
    'durability',
    'durability',
    'process',
    'what an acknowledged item survives: process = the death of any process; power = also a power cut',
  ),
  define(
    'TIDEMARK_NATS_URL',
    'nats.url',
    'urls',
    undefined,
    'NATS server to use instead of an embedded one, like nats://host:4222 or tls://…; servers of a cluster separated by commas',
  ),
  define(
    'TIDEMARK_NATS_CREDENTIALS_FILE',
    'nats.credentials_file',
    'path',
    undefined,
    'credentials file (.creds) of the NATS account, read at each connection',
  ),
  define(
    'TIDEMARK_NATS_CA_FILE',
    'nats.ca_file',
    'path',
    undefined,
    'certificate authorities for tls:// addresses of NATS, PEM; default the authorities of the system',
  ),
  define(
    'TIDEMARK_NATS_REPLICAS',
    'nats.replicas',
    'replicas',
    undefined,
    'copies of every stream and bucket: 1, 3 or 5, on a cluster of at least that many NATS servers; default the value of pipelines/streams.yaml, and 1 for buckets',
  ),
  define(
    'TIDEMARK_NATS_CLIENT_PORT',
    'nats.client_port',
    'port',
    '4222',
    'client port of the embedded NATS server',
  ),
  define(
    'TIDEMARK_NATS_MONITOR_PORT',
    'nats.monitor_port',
    'port',
    '8222',
    'no effect: the monitoring of the embedded NATS server has no port, because it would need no credentials',
  ),
  define(
    'TIDEMARK_QUESTDB_URL',
    'questdb.url',
    'url',
    undefined,
    'QuestDB HTTP address to use instead of an embedded one',
  ),
  define(
    'TIDEMARK_QUESTDB_URLS',
    'questdb.urls',
    'instances',
    undefined,
    'further QuestDB instances for tables, as <name>=http://host:port separated by commas; the first instance has the name default',
  ),
  define(
    'TIDEMARK_QUESTDB_HTTP_PORT',
    'questdb.http_port',
    'port',
    '9000',
    'HTTP port of the embedded QuestDB',
  ),
  define(
    'TIDEMARK_QUESTDB_PG_PORT',
    'questdb.pg_port',
    'port',
    '8812',
    'Postgres wire port of the embedded QuestDB',
  ),
  define(
    'TIDEMARK_CLICKHOUSE_URL',
    'clickhouse.url',
    'url',
    undefined,
    'ClickHouse HTTP address to use instead of an embedded one',
  ),
  define(
    'TIDEMARK_CLICKHOUSE_CLUSTER',
    'clickhouse.cluster',
    'cluster',
    undefined,
    'cluster of one shard on whose replicas `tidemark migrate` makes replicated tables; default tables of a single server',
  ),
  define(
    'TIDEMARK_CLICKHOUSE_HTTP_PORT',
    'clickhouse.http_port',
    'port',
    '8123',
    'HTTP port of the embedded ClickHouse',
  ),
  define(
    'TIDEMARK_CLICKHOUSE_UNCONFINED',
    'clickhouse.unconfined',
    'flag',
    'false',
    'true = run the embedded ClickHouse even if the kernel cannot confine it to its folder (no Landlock): everybody with its passwords can then read the files of its user',
  ),
  define('TIDEMARK_INGRESS_PUSH_PORT', 'ingress.push_port', 'port', '10205', 'push receiver'),
  define('TIDEMARK_INGRESS_OTLP_PORT', 'ingress.otlp_port', 'port', '4318', 'trace receiver'),
  define('TIDEMARK_INGRESS_OPS_PORT', 'ingress.ops_port', 'port', '10310', 'operations port of ingress'),
  define(
    'TIDEMARK_INGRESS_PROCESSES',
    'ingress.processes',
    'processes',
    '1',
    'processes of one ingress that share its two ports, 1 to 64; the operations port of each process is 10 above that of the previous process',
  ),
  define(
    'TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX',
    'ingress.bytes_in_flight_max',
    'bytes',
    '192MiB',
    'memory for concurrent request bodies and their decoded form in one ingress process, about three times the bodies; above it 503',
  ),
  define(
    'TIDEMARK_INGRESS_TOKEN_HEADERS',
    'ingress.token_headers',
    'headers',
    'X-MON-TOKEN',
    'request headers that may hold the write token of an exporter, separated by commas; the first header in the request counts, then Authorization',
  ),
  define(
    'TIDEMARK_INGRESS_TOKEN_ATTRIBUTES',
    'ingress.token_attributes',
    'attributes',
    'mon.data.token',
    'resource attributes that may hold a write token, separated by commas; the last one in a resource counts',
  ),
  define(
    'TIDEMARK_INGRESS_TRUSTED_PROXIES',
    'ingress.trusted_proxies',
    'text',
    undefined,
    'addresses and networks of trusted proxies, whose X-Forwarded-For is used, separated by commas; default none',
  ),
  define(
    'TIDEMARK_INGRESS_PUSH_HOST',
    'ingress.push_host',
    'text',
    undefined,
    'address the push receiver listens on, default TIDEMARK_BIND_HOST; :: is every IPv6 and IPv4 address',
  ),
  define(
    'TIDEMARK_INGRESS_OTLP_HOST',
    'ingress.otlp_host',
    'text',
    undefined,
    'address the trace receiver listens on, default TIDEMARK_BIND_HOST; :: is every IPv6 and IPv4 address',
  ),
  define(
    'TIDEMARK_INGRESS_HEADERS_TIMEOUT_MS',
    'ingress.headers_timeout_ms',
    'count',
    '10000',
    'milliseconds for a TLS handshake and for a complete request header; 0 = no limit',
  ),
  define(
    'TIDEMARK_INGRESS_REQUEST_TIMEOUT_MS',
    'ingress.request_timeout_ms',
    'count',
    '60000',
    'milliseconds for a complete request with its body; 0 = no limit',
  ),
  define(
    'TIDEMARK_INGRESS_IDLE_TIMEOUT_MS',
    'ingress.idle_timeout_ms',
    'count',
    '75000',
    'milliseconds that an idle connection stays open between requests; set it above the idle timeout of a load balancer in front; 0 = for ever',
  ),
  define(
    'TIDEMARK_INGRESS_STALL_TIMEOUT_MS',
    'ingress.stall_timeout_ms',
    'count',
    '30000',
    'milliseconds without a byte in either direction during a request or its answer; 0 = no limit',
  ),
  define(
    'TIDEMARK_INGRESS_HEADER_BYTES_MAX',
    'ingress.header_bytes_max',
    'bytes',
    '16KiB',
    'bytes of a request line and its header fields; above it 431',
  ),
  define(
    'TIDEMARK_INGRESS_CONNECTIONS_MAX',
    'ingress.connections_max',
    'count',
    '16384',
    'connections to both receivers of one ingress process; above it 503; 0 = no limit',
  ),
  define(
    'TIDEMARK_INGRESS_ADDRESS_CONNECTIONS_MAX',
    'ingress.address_connections_max',
    'count',
    '0',
    'connections of one address, except trusted proxies; above it 503; 0 = no limit',
  ),
  define(
    'TIDEMARK_INGRESS_ADDRESS_FAILURES_MAX',
    'ingress.address_failures_max',
    'count',
    '20',
    'requests without a valid token per address and second; above it 429, unless the address sent a valid token in the last minute; 0 = no limit',
  ),
  define(
    'TIDEMARK_INGRESS_TLS_CERT_FILE',
    'ingress.tls_cert_file',
    'path',
    undefined,
    'certificate chain of both receivers, PEM, reloaded when it changes; default none: plain HTTP',
  ),
  define(
    'TIDEMARK_INGRESS_TLS_KEY_FILE',
    'ingress.tls_key_file',
    'path',
    undefined,
    'private key of that certificate, PEM',
  ),
  define(
    'TIDEMARK_INGRESS_TLS_CLIENT_CA_FILE',
    'ingress.tls_client_ca_file',
    'path',
    undefined,
    'certificate authorities of the clients; makes client certificates mandatory (mutual TLS), PEM; default none',
  ),
  define('TIDEMARK_TRANSFER_OPS_PORT', 'transfer.ops_port', 'port', '10311', 'operations port of transfer'),
  define('TIDEMARK_METADATA_API_PORT', 'metadata.api_port', 'port', '10300', 'admin API'),
  define('TIDEMARK_METADATA_OPS_PORT', 'metadata.ops_port', 'port', '10312', 'operations port of metadata'),
  define(
    'TIDEMARK_REFRESH_CRON',
    'refresh.cron',
    'text',
    '*/5 * * * *',
    'when the refresh job runs, a cron expression in UTC',
  ),
  define(
    'TIDEMARK_NODE_MANAGEMENT_URL',
    'node_management.url',
    'url',
    undefined,
    'node management API, up to the path before /subscription/; default none: nodes poll the metadata role',
  ),
  define(
    'TIDEMARK_NODE_MANAGEMENT_TOKEN',
    'node_management.token',
    'secret',
    undefined,
    'token for the node management API',
  ),
  define(
    'TIDEMARK_NODE_MANAGEMENT_TOKEN_FILE',
    'node_management.token_file',
    'path',
    undefined,
    'file with that token, read at each call; takes precedence over the value',
  ),
  define(
    'TIDEMARK_NODE_MANAGEMENT_TOKEN_HEADER',
    'node_management.token_header',
    'text',
    'Authorization',
    'header of that token; in Authorization it follows Bearer',
  ),
  define(
    'TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS',
    'node_management.timeout_ms',
    'integer',
    '10000',
    'timeout of a call of the node management API, milliseconds',
  ),
  define(
    'TIDEMARK_NODE_MANAGEMENT_HOSTS',
    'node_management.hosts',
    'text',
    undefined,
    'hosts that get the collector files, as <biz>:<host_id> separated by commas; hosts of business 0 get every file',
  ),
  define(
    'TIDEMARK_NODE_MANAGEMENT_PREFIX',
    'node_management.prefix',
    'text',
    'mon',
    'platform prefix of names in calls of the node management API, as in mon_biz_id',
  ),
  define(
    'TIDEMARK_TRACING_URL',
    'tracing.url',
    'url',
    undefined,
    'OTLP/HTTP address for the spans of ingress and transfer themselves; without a path, /v1/traces is added; default none: no spans',
  ),
  define(
    'TIDEMARK_TRACING_HEADERS',
    'tracing.headers',
    'secret',
    undefined,
    'headers of those exports as name=value, separated by commas, values percent-encoded; for instance X-MON-TOKEN=<token>',
  ),
  define(
    'TIDEMARK_TRACING_SAMPLE_RATIO',
    'tracing.sample_ratio',
    'ratio',
    '0.01',
    'share of traced requests, 0 to 1; a request with a traceparent follows its sampled flag',
  ),
  define(
    'TIDEMARK_ADMIN_URL',
    'admin.url',
    'url',
    undefined,
    'admin API for the command line, default the local one',
  ),
  define(
    'TIDEMARK_ADMIN_TOKEN',
    'admin.token',
    'secret',
    undefined,
    'bearer token of the command line, default from admin.token in the data folder',
  ),
];
