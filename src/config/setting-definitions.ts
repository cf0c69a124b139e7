import { z } from 'zod';
import { definitionsIn, type SettingDefinition, settingsOf } from './setting-declarations.ts';
import { kinds } from './setting-kinds.ts';

const path = settingsOf(kinds.path);
const text = settingsOf(kinds.text);
const host = settingsOf(kinds.host);
const prefix = settingsOf(kinds.tablePrefix);
const level = settingsOf(kinds.level);
const integer = settingsOf(kinds.integer);
const durability = settingsOf(kinds.durability);
const urls = settingsOf(kinds.urls);
const replicas = settingsOf(kinds.replicas);
const port = settingsOf(kinds.port);
const portOrOff = settingsOf(kinds.portOrOff);
const url = settingsOf(kinds.url);
const bareUrl = settingsOf(kinds.bareUrl);
const publicUrl = settingsOf(kinds.publicUrl);
const origin = settingsOf(kinds.origin);
const instances = settingsOf(kinds.instances);
const cluster = settingsOf(kinds.cluster);
const flag = settingsOf(kinds.flag);
const onOff = settingsOf(kinds.onOff);
const processes = settingsOf(kinds.processes);
const bytes = settingsOf(kinds.bytes);
const headerBytes = settingsOf(kinds.headerBytes);
const headers = settingsOf(kinds.headers);
const header = settingsOf(kinds.header);
const attributes = settingsOf(kinds.attributes);
const count = settingsOf(kinds.count);
const secret = settingsOf(kinds.secret);
const headerSecret = settingsOf(kinds.headerSecret);
const ratio = settingsOf(kinds.ratio);
const days = settingsOf(kinds.days);
const explore = settingsOf(kinds.explore);

/** Every setting but TIDEMARK_CONFIG: its name in the program, its kind, its source and its effect. */
export const settingsTable = z.object({
  cacheFolder: path.optional(
    'TIDEMARK_CACHE',
    'folder of installed engines, default ~/.cache/tidemark',
    'cache_folder',
  ),
  dataFolder: path.setting(
    'TIDEMARK_DATA',
    '.tidemark',
    'folder of the embedded engines, their credentials and admin.token; accessible only to its owner',
    'data_folder',
  ),
  host: host.setting(
    'TIDEMARK_BIND_HOST',
    '127.0.0.1',
    'address the roles listen on; the embedded engines stay on loopback',
  ),
  logLevel: level.setting('TIDEMARK_LOG_LEVEL', 'info', 'trace, debug, info, warn, error or silent'),
  docsUrl: publicUrl.optional(
    'TIDEMARK_DOCS_URL',
    'address of the published docs/reasons.md, like https://wiki.example.com/tidemark/reasons; answers of the receivers then name it with the code of each reason as its anchor',
  ),
  pipelinesFolder: path.optional(
    'TIDEMARK_PIPELINES',
    'folder of the pipeline files, default the one of the program',
    'pipelines_folder',
  ),
  tablePrefix: prefix.setting('TIDEMARK_TABLE_PREFIX', 'mon', '<prefix> in table_id'),
  maxRateDefault: integer.setting(
    'TIDEMARK_MAX_RATE_DEFAULT',
    '1000',
    'requests per second where max_rate is -1; 0 = unlimited, below 0 = every request is refused',
  ),
  durability: durability.setting(
    'TIDEMARK_DURABILITY',
    'process',
    'what an acknowledged item survives: process = the death of any process; power = also a power cut',
  ),
  nats: z.object({
    url: urls.optional(
      'TIDEMARK_NATS_URL',
      'NATS server to use instead of an embedded one, with the user of this role, like nats://ingress:password@host:4222 or tls://…; servers of a cluster separated by commas; from a file, user and password are read again at each connection',
    ),
    credentialsFile: path.optional(
      'TIDEMARK_NATS_CREDENTIALS_FILE',
      'credentials file (.creds) of the NATS account, read at each connection',
    ),
    caFile: path.optional(
      'TIDEMARK_NATS_CA_FILE',
      'certificate authorities for tls:// addresses of NATS, PEM; default the authorities of the system',
    ),
    replicas: replicas.optional(
      'TIDEMARK_NATS_REPLICAS',
      'copies of every stream and bucket: 1, 3 or 5, on a cluster of at least that many NATS servers; default the value of pipelines/streams.yaml, and 1 for buckets',
    ),
    clientPort: port.setting('TIDEMARK_NATS_CLIENT_PORT', '4222', 'client port of the embedded NATS server'),
    monitorPort: port.setting(
      'TIDEMARK_NATS_MONITOR_PORT',
      '8222',
      'no effect: the monitoring of the embedded NATS server has no port, because it would need no credentials',
    ),
  }),
  questdb: z.object({
    url: url.optional('TIDEMARK_QUESTDB_URL', 'QuestDB HTTP address to use instead of an embedded one'),
    further: instances.optional(
      'TIDEMARK_QUESTDB_URLS',
      'further QuestDB instances for tables, as <name>=http://host:port separated by commas; the first instance has the name default',
    ),
    httpPort: port.setting('TIDEMARK_QUESTDB_HTTP_PORT', '9000', 'HTTP port of the embedded QuestDB'),
    pgPort: port.setting('TIDEMARK_QUESTDB_PG_PORT', '8812', 'Postgres wire port of the embedded QuestDB'),
    readonlyUser: text.optional(
      'TIDEMARK_QUESTDB_READONLY_USER',
      'user that only reads, for queries of points on every instance; default the one of the embedded QuestDB, else the user in the address',
    ),
    readonlyPassword: secret.optional(
      'TIDEMARK_QUESTDB_READONLY_PASSWORD',
      'password of that user of QuestDB',
    ),
  }),
  clickhouse: z.object({
    url: url.optional('TIDEMARK_CLICKHOUSE_URL', 'ClickHouse HTTP address to use instead of an embedded one'),
    cluster: cluster.optional(
      'TIDEMARK_CLICKHOUSE_CLUSTER',
      'cluster of one shard on whose replicas `tidemark migrate` makes replicated tables; default tables of a single server',
    ),
    httpPort: port.setting('TIDEMARK_CLICKHOUSE_HTTP_PORT', '8123', 'HTTP port of the embedded ClickHouse'),
    readonlyUser: text.optional(
      'TIDEMARK_CLICKHOUSE_READONLY_USER',
      'user that only reads and may change settings (readonly 2), for queries of traces; default the one of the embedded ClickHouse, else the user in the address',
    ),
    readonlyPassword: secret.optional(
      'TIDEMARK_CLICKHOUSE_READONLY_PASSWORD',
      'password of that user of ClickHouse',
    ),
    backupTo: secret.optional(
      'TIDEMARK_CLICKHOUSE_BACKUP_TO',
      'what follows TO in the BACKUP statement of tidemark backup, with {name} for the name of the backup; default the folder of the embedded ClickHouse',
    ),
    isUnconfined: flag.setting(
      'TIDEMARK_CLICKHOUSE_UNCONFINED',
      'false',
      'true = run the embedded ClickHouse even if the kernel cannot confine it to its folder (no Landlock): everybody with its passwords can then read the files of its user',
    ),
  }),
  ingress: z.object({
    pushPort: port.setting('TIDEMARK_INGRESS_PUSH_PORT', '10205', 'push receiver'),
    otlpPort: port.setting('TIDEMARK_INGRESS_OTLP_PORT', '4318', 'trace receiver'),
    grpcPort: portOrOff.setting(
      'TIDEMARK_INGRESS_GRPC_PORT',
      '4317',
      'trace receiver over gRPC; off = there is none',
    ),
    grpcConnectionAgeMsMax: count.setting(
      'TIDEMARK_INGRESS_GRPC_CONNECTION_AGE_MAX_MS',
      '600000',
      'longest life of a connection over gRPC, milliseconds: each one ends at a random time between the half of it and this, without losing a call, so that load spreads over new processes; 0 = no limit',
    ),
    opsPort: port.setting('TIDEMARK_INGRESS_OPS_PORT', '10310', 'operations port of ingress'),
    processes: processes.setting(
      'TIDEMARK_INGRESS_PROCESSES',
      '1',
      'processes of one ingress that share its ports, 1 to 64; the operations port of each process is 10 above that of the previous process',
    ),
    bytesInFlightMax: bytes.setting(
      'TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX',
      '192MiB',
      'memory for concurrent request bodies and their decoded form in one ingress process, about three times the bodies; above it 503. An eighth is kept for requests of up to 6 MiB, bodies of 2 MiB, half of it for bodies without compression that announce their length; one large request may go beyond the rest while no other large one is in flight',
    ),
    tokenHeaders: headers.setting(
      'TIDEMARK_INGRESS_TOKEN_HEADERS',
      'X-MON-TOKEN',
      'request headers that may hold the write token of an exporter, separated by commas; the first header in the request counts, then Authorization',
    ),
    tokenAttributes: attributes.setting(
      'TIDEMARK_INGRESS_TOKEN_ATTRIBUTES',
      'mon.data.token',
      'resource attributes that may hold a write token, separated by commas; the last one in a resource counts',
    ),
    trustedProxies: text.optional(
      'TIDEMARK_INGRESS_TRUSTED_PROXIES',
      'addresses and networks of trusted proxies, whose X-Forwarded-For is used, separated by commas; default none',
    ),
    pushHost: host.optional(
      'TIDEMARK_INGRESS_PUSH_HOST',
      'address the push receiver listens on, default TIDEMARK_BIND_HOST; :: is every IPv6 and IPv4 address',
    ),
    otlpHost: host.optional(
      'TIDEMARK_INGRESS_OTLP_HOST',
      'address the trace receiver listens on, over HTTP and gRPC, default TIDEMARK_BIND_HOST; :: is every IPv6 and IPv4 address',
    ),
    pushCorsOrigin: origin.optional(
      'TIDEMARK_INGRESS_PUSH_CORS_ORIGIN',
      'origin whose pages may push from a browser, such as https://app.example.com, or * for every origin; default none',
    ),
    pushUrl: publicUrl.optional(
      'TIDEMARK_INGRESS_PUSH_URL',
      'address of the push receiver as senders reach it, up to the path before /v2/push/, for the set-up snippets; default the host of the call and the port of the receiver',
    ),
    otlpUrl: publicUrl.optional(
      'TIDEMARK_INGRESS_OTLP_URL',
      'the same for the trace receiver, up to the path before /v1/traces',
    ),
    grpcUrl: publicUrl.optional('TIDEMARK_INGRESS_GRPC_URL', 'the same for the trace receiver over gRPC'),
    headersTimeoutMs: count.setting(
      'TIDEMARK_INGRESS_HEADERS_TIMEOUT_MS',
      '10000',
      'milliseconds for a TLS handshake and for a complete request header; 0 = no limit',
    ),
    requestTimeoutMs: count.setting(
      'TIDEMARK_INGRESS_REQUEST_TIMEOUT_MS',
      '60000',
      'milliseconds for a complete request with its body; 0 = no limit',
    ),
    idleTimeoutMs: count.setting(
      'TIDEMARK_INGRESS_IDLE_TIMEOUT_MS',
      '75000',
      'milliseconds that an idle connection stays open between requests; set it above the idle timeout of a load balancer in front; 0 = for ever',
    ),
    drainMs: count.setting(
      'TIDEMARK_INGRESS_DRAIN_MS',
      '20000',
      'milliseconds after SIGTERM before idle connections are closed; until then each answer has Connection: close; more than 35000 counts as 35000; 0 = close at once, the default of tidemark up',
    ),
    stallTimeoutMs: count.setting(
      'TIDEMARK_INGRESS_STALL_TIMEOUT_MS',
      '30000',
      'milliseconds without a byte in either direction during a request or its answer; 0 = no limit',
    ),
    headerBytesMax: headerBytes.setting(
      'TIDEMARK_INGRESS_HEADER_BYTES_MAX',
      '16KiB',
      'bytes of a request line and its header fields; above it 431',
    ),
    connectionsMax: count.setting(
      'TIDEMARK_INGRESS_CONNECTIONS_MAX',
      '16384',
      'connections to all receivers of one ingress process; above it 503, over gRPC the connection is closed; 0 = no limit',
    ),
    addressConnectionsMax: count.setting(
      'TIDEMARK_INGRESS_ADDRESS_CONNECTIONS_MAX',
      '0',
      'connections of one address, except trusted proxies; above it 503; 0 = no limit',
    ),
    addressFailuresMax: count.setting(
      'TIDEMARK_INGRESS_ADDRESS_FAILURES_MAX',
      '20',
      'requests without a valid token per address (global IPv6: network of 64 bits) and second; above it 429, unless the address sent a valid token in the last minute, or the header of an OTLP request has one; 0 = no limit',
    ),
    tlsCertFile: path.optional(
      'TIDEMARK_INGRESS_TLS_CERT_FILE',
      'certificate chain of all receivers, PEM, reloaded when it changes; default none: plain HTTP',
    ),
    tlsKeyFile: path.optional('TIDEMARK_INGRESS_TLS_KEY_FILE', 'private key of that certificate, PEM'),
    tlsClientCaFile: path.optional(
      'TIDEMARK_INGRESS_TLS_CLIENT_CA_FILE',
      'certificate authorities of the clients; makes client certificates mandatory (mutual TLS), PEM; default none',
    ),
  }),
  transfer: z.object({
    opsPort: port.setting('TIDEMARK_TRANSFER_OPS_PORT', '10311', 'operations port of transfer'),
  }),
  metadata: z.object({
    apiPort: port.setting('TIDEMARK_METADATA_API_PORT', '10300', 'admin API'),
    opsPort: port.setting('TIDEMARK_METADATA_OPS_PORT', '10312', 'operations port of metadata'),
    dimensionValuesMax: count.setting(
      'TIDEMARK_METADATA_DIMENSION_VALUES_MAX',
      '1000000',
      'distinct values of a dimension in a table; from then on points keep the value of this dimension in more_dimensions instead of its column (docs/operations.md); 0 = no limit',
    ),
    tlsCertFile: path.optional(
      'TIDEMARK_METADATA_TLS_CERT_FILE',
      'certificate chain of the admin API and the console, PEM, reloaded when it changes; default none: plain HTTP',
    ),
    tlsKeyFile: path.optional(
      'TIDEMARK_METADATA_TLS_KEY_FILE',
      'private key of the certificate of the admin API, PEM',
    ),
    trustedProxies: text.optional(
      'TIDEMARK_METADATA_TRUSTED_PROXIES',
      'addresses and networks of trusted proxies in front of the admin API, whose X-Forwarded-For and X-Forwarded-Proto are used, separated by commas; default none',
    ),
    retentionDays: days.optional(
      'TIDEMARK_METADATA_RETENTION_DAYS',
      'days that the rows of data ids and applications created from now on are kept, or off = for ever; default 90 in an installation that began with this setting, off in an older one (docs/retention.md)',
    ),
    storesOnDataDisk: flag.setting(
      'TIDEMARK_METADATA_STORES_ON_DATA_DISK',
      'false',
      'true = QuestDB and ClickHouse keep their files on the disk of TIDEMARK_DATA, so that metadata can forecast when it is full (docs/retention.md); `up` sets it',
    ),
  }),
  hasConsole: onOff.setting(
    'TIDEMARK_CONSOLE',
    'on',
    'on = metadata serves the console at /console/ of the admin API; off = it does not',
  ),
  consoleLocalPeers: text.optional(
    'TIDEMARK_CONSOLE_LOCAL_PEERS',
    'addresses of peers that count as this machine when the console is opened without TLS, separated by commas; gateway = the gateway of the default route, from which a published port of a container comes; no address and a warning where there is none. Only where the port is published on loopback alone: its sessions travel in plain text (docs/console.md); default none',
  ),
  consoleExplore: explore.setting(
    'TIDEMARK_CONSOLE_EXPLORE',
    'viewer',
    'least role that may query stored points and traces (docs/explore.md): viewer or editor; off = nobody',
  ),
  links: z.object({
    grafana: publicUrl.optional(
      'TIDEMARK_CONSOLE_GRAFANA_URL',
      'address of Grafana, which the console links and tidemark up prints; default none',
    ),
    questdb: publicUrl.optional(
      'TIDEMARK_CONSOLE_QUESTDB_URL',
      "address of QuestDB's web console as a browser reaches it, to which the console links; default none",
    ),
    clickhouse: publicUrl.optional(
      'TIDEMARK_CONSOLE_CLICKHOUSE_URL',
      'address of a page of ClickHouse as a browser reaches it, for instance that of /play or of ClickStack, to which the console links; default none',
    ),
  }),
  refresh: z.object({
    cron: text.setting(
      'TIDEMARK_REFRESH_CRON',
      '*/5 * * * *',
      'when the refresh job runs, a cron expression in UTC',
    ),
  }),
  nodeManagement: z.object({
    url: bareUrl.optional(
      'TIDEMARK_NODE_MANAGEMENT_URL',
      'node management API, up to the path before /subscription/, its token in TIDEMARK_NODE_MANAGEMENT_TOKEN; an authority of its own in NODE_EXTRA_CA_CERTS; default none: nodes poll the metadata role',
    ),
    token: headerSecret.optional('TIDEMARK_NODE_MANAGEMENT_TOKEN', 'token for the node management API'),
    tokenFile: path.optional(
      'TIDEMARK_NODE_MANAGEMENT_TOKEN_FILE',
      'file with that token, read at each call; takes precedence over the value',
    ),
    tokenHeader: header.setting(
      'TIDEMARK_NODE_MANAGEMENT_TOKEN_HEADER',
      'Authorization',
      'header of that token; in Authorization it follows Bearer',
    ),
    timeoutMs: integer.setting(
      'TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS',
      '10000',
      'timeout of a call of the node management API, milliseconds',
    ),
    hosts: text.optional(
      'TIDEMARK_NODE_MANAGEMENT_HOSTS',
      'hosts that get the collector files, as <biz>:<host_id> separated by commas; hosts of business 0 get every file',
    ),
    prefix: text.optional(
      'TIDEMARK_NODE_MANAGEMENT_PREFIX',
      'platform prefix of names for collectors, as in <prefix>_biz_id and <prefix>-collector; default mon in calls of the node management API, and bk, which collectors read, in polled files and their names',
    ),
  }),
  tracing: z.object({
    url: url.optional(
      'TIDEMARK_TRACING_URL',
      'OTLP/HTTP address for the spans of the roles themselves; without a path, /v1/traces is added; default none: no spans',
    ),
    headers: secret.optional(
      'TIDEMARK_TRACING_HEADERS',
      'headers of those exports as name=value, separated by commas, values percent-encoded; for instance X-MON-TOKEN=<token>',
    ),
    sampleRatio: ratio.setting(
      'TIDEMARK_TRACING_SAMPLE_RATIO',
      '0.01',
      'share of traced requests, 0 to 1; a request with a traceparent follows its sampled flag',
    ),
  }),
  admin: z.object({
    url: bareUrl.optional(
      'TIDEMARK_ADMIN_URL',
      'admin API for the command line, its token in TIDEMARK_ADMIN_TOKEN; default the local one',
    ),
    token: secret.optional(
      'TIDEMARK_ADMIN_TOKEN',
      'bearer token of the command line, default from admin.token in the data folder',
    ),
    caFile: path.optional(
      'TIDEMARK_ADMIN_CA_FILE',
      'certificate authorities for https:// addresses of the admin API and of receivers that commands use, PEM; default those of the system',
    ),
  }),
});

/** All settings. The environment wins over the file, the file over the default. */
export const settingDefinitions: readonly SettingDefinition[] = [
  {
    env: 'TIDEMARK_CONFIG',
    key: '',
    kind: kinds.path,
    fallback: undefined,
    meaning: 'YAML file with settings, by the keys of this table',
  },
  ...definitionsIn(settingsTable),
];
