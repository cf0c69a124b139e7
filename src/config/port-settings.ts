import { settingFault } from './setting-fault.ts';
import type { Settings } from './settings.ts';

/**
 * A port of this program, and the environment variable that changes it; `host`: where it alone has another one than its role, and the
 * variable that changes that.
 */
export type NamedPort = {
  port: number;
  variable: string;
  purpose: string;
  host?: string;
  hostVariable?: string;
};

/** `hostVariable` changes the host; undefined where none does. */
export type WantedPorts = readonly { host: string; hostVariable?: string; ports: readonly NamedPort[] }[];

const wildcards: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

const isIpv6 = (host: string): boolean => host.includes(':');

/** `::` is all addresses, `0.0.0.0` all but those of IPv6. */
const covers = (wildcard: string, host: string): boolean =>
  wildcards.has(wildcard) && (wildcard === '::' || host === '::' || !isIpv6(host));

const overlap = (left: string, right: string): boolean =>
  left === right || covers(left, right) || covers(right, left);

/** Throws a permanent Fault `config_invalid` with the names of two settings that want the same port of the same address. */
export const requireDifferentPorts = (wanted: WantedPorts): void => {
  const all = wanted.flatMap(({ host, ports }) =>
    ports.map((port) => ({ ...port, host: port.host ?? host })),
  );
  for (const [index, one] of all.entries()) {
    const other = all.slice(index + 1).find(({ port, host }) => port === one.port && overlap(host, one.host));
    if (other === undefined) continue;
    throw settingFault(
      `${one.variable} and ${other.variable}`,
      `both are port ${one.port} (${one.purpose}, ${other.purpose})`,
      'Set one of them to another port',
    );
  }
};

/** The setting with the host of the roles. */
export const bindHost = 'TIDEMARK_BIND_HOST';

/** The setting that a receiver's host is from. */
const hostVariableOf = (own: string, host: string, settings: Pick<Settings, 'host'>): string =>
  host === settings.host ? bindHost : own;

/** The ports that the settings name, by their use. */
export const portsOf = (settings: Settings) => ({
  natsClient: named(settings.nats.clientPort, 'TIDEMARK_NATS_CLIENT_PORT', 'NATS clients'),
  questdbHttp: named(settings.questdb.httpPort, 'TIDEMARK_QUESTDB_HTTP_PORT', 'QuestDB HTTP'),
  questdbPg: named(settings.questdb.pgPort, 'TIDEMARK_QUESTDB_PG_PORT', 'QuestDB PostgreSQL wire'),
  clickhouseHttp: named(settings.clickhouse.httpPort, 'TIDEMARK_CLICKHOUSE_HTTP_PORT', 'ClickHouse HTTP'),
  push: {
    ...named(settings.ingress.pushPort, 'TIDEMARK_INGRESS_PUSH_PORT', 'push receiver'),
    host: settings.ingress.pushHost,
    hostVariable: hostVariableOf('TIDEMARK_INGRESS_PUSH_HOST', settings.ingress.pushHost, settings),
  },
  otlp: {
    ...named(settings.ingress.otlpPort, 'TIDEMARK_INGRESS_OTLP_PORT', 'trace receiver'),
    host: settings.ingress.otlpHost,
    hostVariable: hostVariableOf('TIDEMARK_INGRESS_OTLP_HOST', settings.ingress.otlpHost, settings),
  },
  ...(settings.ingress.grpcPort === undefined
    ? {}
    : {
        grpc: {
          ...named(settings.ingress.grpcPort, 'TIDEMARK_INGRESS_GRPC_PORT', 'trace receiver over gRPC'),
          host: settings.ingress.otlpHost,
          hostVariable: hostVariableOf('TIDEMARK_INGRESS_OTLP_HOST', settings.ingress.otlpHost, settings),
        },
      }),
  ingressOps: named(settings.ingress.opsPort, 'TIDEMARK_INGRESS_OPS_PORT', 'operations port of ingress'),
  transferOps: named(settings.transfer.opsPort, 'TIDEMARK_TRANSFER_OPS_PORT', 'operations port of transfer'),
  api: named(settings.metadata.apiPort, 'TIDEMARK_METADATA_API_PORT', 'admin API'),
  metadataOps: named(settings.metadata.opsPort, 'TIDEMARK_METADATA_OPS_PORT', 'operations port of metadata'),
});

const named = (port: number, variable: string, purpose: string): NamedPort => ({ port, variable, purpose });
