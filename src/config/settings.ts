import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defaultInstance } from '../model/instances.ts';
import { readCredentials, withAccount } from './engine-credentials.ts';
import {
  collectTexts,
  parseBytes,
  parseInstances,
  parseNames,
  type QuestdbAddress,
} from './setting-texts.ts';

export { type SettingDefinition, settingDefinitions } from './setting-definitions.ts';
export { clusterName, parseBytes, type QuestdbAddress, settingFault } from './setting-texts.ts';

/** What an acknowledged item survives: the death of any process, or a power cut too. */
export type Durability = 'process' | 'power';

/** Settings of every role and command, checked. Ports are 0..65535, sizes are bytes. */
export type Settings = {
  readonly dataFolder: string;
  readonly cacheFolder: string | undefined;
  readonly host: string;
  readonly logLevel: string;
  readonly pipelinesFolder: string;
  readonly schemasFolder: string;
  readonly tablePrefix: string;
  readonly maxRateDefault: number;
  readonly durability: Durability;
  readonly nats: {
    /** One address, or several separated by commas. */
    readonly url: string | undefined;
    readonly credentialsFile: string | undefined;
    readonly caFile: string | undefined;
    /** Copies of every stream and bucket; undefined leaves it to pipelines/streams.yaml. */
    readonly replicas: number | undefined;
    readonly clientPort: number;
    readonly monitorPort: number;
  };
  readonly questdb: {
    readonly url: string | undefined;
    /** Beside the first one. */
    readonly further: readonly QuestdbAddress[];
    readonly httpPort: number;
    readonly pgPort: number;
  };
  readonly clickhouse: {
    readonly url: string | undefined;
    /** The cluster on whose replicas `migrate` makes the tables; undefined for a single server. */
    readonly cluster: string | undefined;
    readonly httpPort: number;
    /** The embedded one may run where the kernel cannot confine it. */
    readonly isUnconfined: boolean;
  };
  readonly ingress: {
    readonly pushPort: number;
    readonly otlpPort: number;
    readonly opsPort: number;
    /** That share the two ports: 1 to 64. */
    readonly processes: number;
    readonly bytesInFlightMax: number;
    readonly trustedProxies: string;
    readonly pushHost: string;
    readonly otlpHost: string;
    /** Times in ms; 0 = no limit, of everything but headerBytesMax. */
    readonly headersTimeoutMs: number;
    readonly requestTimeoutMs: number;
    readonly idleTimeoutMs: number;
    readonly stallTimeoutMs: number;
    readonly headerBytesMax: number;
    readonly connectionsMax: number;
    readonly addressConnectionsMax: number;
    /** In a second; 0 = no limit. */
    readonly addressFailuresMax: number;
    /** Lower-cased. */
    readonly tokenHeaders: readonly string[];
    readonly tokenAttributes: readonly string[];
    readonly tlsCertFile: string | undefined;
    readonly tlsKeyFile: string | undefined;
    readonly tlsClientCaFile: string | undefined;
  };
  readonly transfer: { readonly opsPort: number };
  readonly metadata: { readonly apiPort: number; readonly opsPort: number };
  readonly refresh: { readonly cron: string };
  readonly nodeManagement: {
    readonly url: string | undefined;
    readonly token: string | undefined;
    readonly tokenFile: string | undefined;
    readonly tokenHeader: string;
    readonly timeoutMs: number;
    readonly hosts: string | undefined;
    readonly prefix: string;
  };
  /** Spans of the program itself; no address: none. */
  readonly tracing: {
    readonly url: string | undefined;
    readonly headers: string | undefined;
    readonly sampleRatio: number;
  };
  readonly admin: { readonly url: string; readonly token: string | undefined };
};

/** Exit code of a program that was given settings it cannot use (sysexits EX_CONFIG): do not restart it. */
export const exitCodeConfig = 78;

const programFolder = resolve(import.meta.dirname, '../..');

/** A host to listen on as one to connect to, in the form that addresses take. */
const reachableAt = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
};

const adminTokenOf = (texts: Map<string, string>, dataFolder: string): string | undefined => {
  const given = texts.get('TIDEMARK_ADMIN_TOKEN');
  if (given !== undefined) return given;
  try {
    return readFileSync(join(dataFolder, 'admin.token'), 'utf8').trim();
  } catch {
    return undefined;
  }
};

/**
 * Reads the environment and, if TIDEMARK_CONFIG names one, the file. Throws a permanent Fault `config_invalid` that says
 * place, reason and remedy for an unknown name or an unusable value.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one line for each setting.
export const loadSettings = (env: NodeJS.ProcessEnv = process.env): Settings => {
  const texts = new Map([...collectTexts(env)].map(([name, { text: value }]) => [name, value]));
  const text = (name: string): string => texts.get(name) ?? '';
  const number = (name: string): number => Number(texts.get(name));
  const size = (name: string): number => parseBytes(text(name)) ?? 0;
  const list = (name: string): string[] => parseNames(text(name));
  const host = text('TIDEMARK_BIND_HOST');
  const dataFolder = resolve(text('TIDEMARK_DATA'));
  return {
    dataFolder,
    cacheFolder: texts.get('TIDEMARK_CACHE'),
    host,
    logLevel: text('TIDEMARK_LOG_LEVEL'),
    pipelinesFolder: texts.get('TIDEMARK_PIPELINES') ?? join(programFolder, 'pipelines'),
    schemasFolder: join(programFolder, 'schemas'),
    tablePrefix: text('TIDEMARK_TABLE_PREFIX'),
    maxRateDefault: number('TIDEMARK_MAX_RATE_DEFAULT'),
    durability: text('TIDEMARK_DURABILITY') === 'power' ? 'power' : 'process',
    nats: {
      url: texts.get('TIDEMARK_NATS_URL'),
      credentialsFile: texts.get('TIDEMARK_NATS_CREDENTIALS_FILE'),
      caFile: texts.get('TIDEMARK_NATS_CA_FILE'),
      replicas: texts.has('TIDEMARK_NATS_REPLICAS') ? number('TIDEMARK_NATS_REPLICAS') : undefined,
      clientPort: number('TIDEMARK_NATS_CLIENT_PORT'),
      monitorPort: number('TIDEMARK_NATS_MONITOR_PORT'),
    },
    questdb: {
      url: texts.get('TIDEMARK_QUESTDB_URL'),
      further: texts.has('TIDEMARK_QUESTDB_URLS') ? parseInstances(text('TIDEMARK_QUESTDB_URLS')) : [],
      httpPort: number('TIDEMARK_QUESTDB_HTTP_PORT'),
      pgPort: number('TIDEMARK_QUESTDB_PG_PORT'),
    },
    clickhouse: {
      url: texts.get('TIDEMARK_CLICKHOUSE_URL'),
      cluster: texts.get('TIDEMARK_CLICKHOUSE_CLUSTER'),
      httpPort: number('TIDEMARK_CLICKHOUSE_HTTP_PORT'),
      isUnconfined: text('TIDEMARK_CLICKHOUSE_UNCONFINED') === 'true',
    },
    ingress: {
      pushPort: number('TIDEMARK_INGRESS_PUSH_PORT'),
      otlpPort: number('TIDEMARK_INGRESS_OTLP_PORT'),
      opsPort: number('TIDEMARK_INGRESS_OPS_PORT'),
      processes: number('TIDEMARK_INGRESS_PROCESSES'),
      bytesInFlightMax: size('TIDEMARK_INGRESS_BYTES_IN_FLIGHT_MAX'),
      trustedProxies: text('TIDEMARK_INGRESS_TRUSTED_PROXIES'),
      pushHost: texts.get('TIDEMARK_INGRESS_PUSH_HOST') ?? host,
      otlpHost: texts.get('TIDEMARK_INGRESS_OTLP_HOST') ?? host,
      headersTimeoutMs: number('TIDEMARK_INGRESS_HEADERS_TIMEOUT_MS'),
      requestTimeoutMs: number('TIDEMARK_INGRESS_REQUEST_TIMEOUT_MS'),
      idleTimeoutMs: number('TIDEMARK_INGRESS_IDLE_TIMEOUT_MS'),
      stallTimeoutMs: number('TIDEMARK_INGRESS_STALL_TIMEOUT_MS'),
      headerBytesMax: size('TIDEMARK_INGRESS_HEADER_BYTES_MAX'),
      connectionsMax: number('TIDEMARK_INGRESS_CONNECTIONS_MAX'),
      addressConnectionsMax: number('TIDEMARK_INGRESS_ADDRESS_CONNECTIONS_MAX'),
      addressFailuresMax: number('TIDEMARK_INGRESS_ADDRESS_FAILURES_MAX'),
      tokenHeaders: list('TIDEMARK_INGRESS_TOKEN_HEADERS').map((name) => name.toLowerCase()),
      tokenAttributes: list('TIDEMARK_INGRESS_TOKEN_ATTRIBUTES'),
      tlsCertFile: texts.get('TIDEMARK_INGRESS_TLS_CERT_FILE'),
      tlsKeyFile: texts.get('TIDEMARK_INGRESS_TLS_KEY_FILE'),
      tlsClientCaFile: texts.get('TIDEMARK_INGRESS_TLS_CLIENT_CA_FILE'),
    },
    transfer: { opsPort: number('TIDEMARK_TRANSFER_OPS_PORT') },
    metadata: {
      apiPort: number('TIDEMARK_METADATA_API_PORT'),
      opsPort: number('TIDEMARK_METADATA_OPS_PORT'),
    },
    refresh: { cron: text('TIDEMARK_REFRESH_CRON') },
    nodeManagement: {
      url: texts.get('TIDEMARK_NODE_MANAGEMENT_URL'),
      token: texts.get('TIDEMARK_NODE_MANAGEMENT_TOKEN'),
      tokenFile: texts.get('TIDEMARK_NODE_MANAGEMENT_TOKEN_FILE'),
      tokenHeader: text('TIDEMARK_NODE_MANAGEMENT_TOKEN_HEADER'),
      timeoutMs: number('TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS'),
      hosts: texts.get('TIDEMARK_NODE_MANAGEMENT_HOSTS'),
      prefix: text('TIDEMARK_NODE_MANAGEMENT_PREFIX'),
    },
    tracing: {
      url: texts.get('TIDEMARK_TRACING_URL'),
      headers: texts.get('TIDEMARK_TRACING_HEADERS'),
      sampleRatio: number('TIDEMARK_TRACING_SAMPLE_RATIO'),
    },
    admin: {
      url:
        texts.get('TIDEMARK_ADMIN_URL') ??
        `http://${reachableAt(host)}:${number('TIDEMARK_METADATA_API_PORT')}`,
      token: adminTokenOf(texts, dataFolder),
    },
  };
};

/** How the roles reach NATS. */
export type NatsTarget = {
  /** One address or several separated by commas: `nats://[user:password@|token@]host:port`, `tls://…`. */
  readonly url: string;
  readonly credentialsFile?: string | undefined;
  readonly caFile?: string | undefined;
  readonly replicas?: number | undefined;
};

/** The configured NATS servers, else the embedded one on this machine. */
export const natsTarget = (settings: Settings): NatsTarget => ({
  ...settings.nats,
  url: engineUrls(settings).nats,
});

/**
 * Where the roles reach each engine: the configured address, else the embedded one on this machine with the credentials that
 * the data folder has of it.
 */
export const engineUrls = (settings: Settings): { nats: string; questdb: string; clickhouse: string } => {
  const local = reachableAt(settings.host);
  const { nats, questdb, clickhouse } = settings;
  const own = readCredentials(settings.dataFolder);
  return {
    nats: nats.url ?? withAccount(`nats://${local}:${nats.clientPort}`, own?.nats),
    questdb: questdb.url ?? withAccount(`http://${local}:${questdb.httpPort}`, own?.questdb),
    clickhouse: clickhouse.url ?? withAccount(`http://${local}:${clickhouse.httpPort}`, own?.clickhouse),
  };
};

/** The QuestDB instances that tables may lie on; the first one is called `default`. */
export const questdbInstances = (settings: Settings): readonly QuestdbAddress[] => [
  { name: defaultInstance, url: engineUrls(settings).questdb },
  ...settings.questdb.further,
];
