import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defaultInstance } from '../model/instances.ts';
import { readCredentials, withAccount } from './engine-credentials.ts';
import { placedTexts } from './setting-declarations.ts';
import { settingsTable } from './setting-definitions.ts';
import type { QuestdbAddress } from './setting-kinds.ts';
import { collectTexts } from './setting-texts.ts';

export type { SettingDefinition } from './setting-declarations.ts';
export { settingDefinitions } from './setting-definitions.ts';
export { settingFault } from './setting-fault.ts';
export { clusterName, kinds, parseBytes, type QuestdbAddress } from './setting-kinds.ts';

/** Exit code of a program whose settings cannot be used (sysexits EX_CONFIG): do not restart it. */
export const exitCodeConfig = 78;

const programFolder = resolve(import.meta.dirname, '../..');

/** The pipeline files that come with the program. */
export const ownPipelinesFolder = join(programFolder, 'pipelines');

/** The host to connect to, for a host that a server listens on, in the form of an address. */
export const reachableAt = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
};

/** The file in a data folder that has the first admin token, for its owner alone. */
export const adminTokenPath = (dataFolder: string): string => join(dataFolder, 'admin.token');

const adminTokenIn = (dataFolder: string): string | undefined => {
  try {
    return readFileSync(adminTokenPath(dataFolder), 'utf8').trim();
  } catch {
    return undefined;
  }
};

/** What settings say of the place of the admin API, where none is its address. */
export type AdminPlace = {
  readonly dataFolder: string;
  readonly host: string;
  readonly apiPort: number;
  readonly tlsCertFile: string | undefined;
};

/**
 * Reads the environment and, if TIDEMARK_CONFIG names one, the file. Throws a permanent Fault `config_invalid` with place, reason
 * and remedy for an unknown name or an unusable value. `adminUrlOf`: where the admin API is if no setting
 * says it.
 */
export const loadSettings = (
  env: NodeJS.ProcessEnv = process.env,
  adminUrlOf: (settings: AdminPlace) => string | undefined = () => undefined,
) => {
  const settings = settingsTable.parse(placedTexts(collectTexts(env), settingsTable));
  const { host, nats, questdb, ingress, metadata, admin } = settings;
  const dataFolder = resolve(settings.dataFolder);
  return {
    ...settings,
    dataFolder,
    pipelinesFolder: settings.pipelinesFolder ?? ownPipelinesFolder,
    schemasFolder: join(programFolder, 'schemas'),
    /** The built files of the console. */
    consoleFolder: join(programFolder, 'console', 'dist'),
    /** `urlFile`: the file with the address of NATS, whose password may change while a role runs. */
    nats: { ...nats, urlFile: env['TIDEMARK_NATS_URL_FILE'] },
    questdb: { ...questdb, further: questdb.further ?? [] },
    ingress: {
      ...ingress,
      trustedProxies: ingress.trustedProxies ?? '',
      pushHost: ingress.pushHost ?? host,
      otlpHost: ingress.otlpHost ?? host,
    },
    metadata: { ...metadata, trustedProxies: metadata.trustedProxies ?? '' },
    admin: {
      ...admin,
      url:
        admin.url ??
        adminUrlOf({ dataFolder, host, apiPort: metadata.apiPort, tlsCertFile: metadata.tlsCertFile }) ??
        `${metadata.tlsCertFile === undefined ? 'http' : 'https'}://${reachableAt(host)}:${metadata.apiPort}`,
      token: admin.token ?? adminTokenIn(dataFolder),
    },
  };
};

/** Settings of every role and command, validated. Ports are 0..65535, sizes are bytes; 0 is no limit. */
export type Settings = Readonly<ReturnType<typeof loadSettings>>;

/** What an acknowledged item survives: the death of any process, or a power cut too. */
export type Durability = Settings['durability'];

/** How the roles reach NATS. */
export type NatsTarget = {
  /** One address or several separated by commas: `nats://[user:password@|token@]host:port`, `tls://…`. */
  readonly url: string;
  /** The file that `url` is from: user and password are read again at each connection. */
  readonly urlFile?: string | undefined;
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
 * Where the roles reach each engine: the configured address, else the embedded engine on this machine with its credentials from the
 * data folder.
 */
export const engineUrls = (settings: Settings): { nats: string; questdb: string; clickhouse: string } => {
  // They stay on loopback, where the roles may listen on another address.
  const local = '127.0.0.1';
  const { nats, questdb, clickhouse } = settings;
  const own = readCredentials(settings.dataFolder);
  return {
    nats: nats.url ?? withAccount(`nats://${local}:${nats.clientPort}`, own?.nats),
    questdb: questdb.url ?? withAccount(`http://${local}:${questdb.httpPort}`, own?.questdb),
    clickhouse: clickhouse.url ?? withAccount(`http://${local}:${clickhouse.httpPort}`, own?.clickhouse),
  };
};

/** The QuestDB instances that may hold tables; the first one is called `default`. */
export const questdbInstances = (settings: Settings): readonly QuestdbAddress[] => [
  { name: defaultInstance, url: engineUrls(settings).questdb },
  ...settings.questdb.further,
];
