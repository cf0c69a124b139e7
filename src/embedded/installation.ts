import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { type DatabaseAccounts, readCredentials } from '../config/engine-credentials.ts';
import { engineUrls, type Settings } from '../config/settings.ts';
import type { StackPlan } from './stack.ts';
import { addressesFile, type ClientName, clientNames, curlFile, upFolder, urlFile } from './up-files.ts';

/** The addresses of an installation, without credentials. An external engine has no known Postgres port. */
const addressesSchema = z.object({
  push_url: z.string(),
  otlp_url: z.string(),
  /** Null where the OTLP receiver takes no gRPC; an earlier program left it out. */
  grpc_url: z.string().nullish(),
  admin_url: z.string(),
  questdb_url: z.string(),
  questdb_pg_url: z.string().nullable(),
  clickhouse_url: z.string(),
  nats_url: z.string(),
});

type Addresses = z.infer<typeof addressesSchema>;

/** All that a client of this installation needs; the names are those of `tidemark env --json`. */
export type Installation = {
  readonly push_url: string;
  readonly otlp_url: string;
  readonly admin: { readonly url: string; readonly token: string | null };
  readonly questdb: DatabaseAccess & { readonly pg_url: string | null };
  readonly clickhouse: DatabaseAccess;
  readonly nats: EngineAccess & { readonly monitor_url: null };
};

type EngineAccess = {
  readonly url: string;
  readonly user: string | null;
  readonly password: string | null;
};

type DatabaseAccess = EngineAccess & {
  readonly readonly_user: string | null;
  readonly readonly_password: string | null;
};

/** An address, or several separated by commas, without user and password. */
export const withoutAccount = (url: string): string =>
  url.replace(/(^|,)([a-z]+:\/\/)[^/@,]*@/gi, (_all, before: string, scheme: string) => `${before}${scheme}`);

const pgUrl = (host: string, port: number): string => `postgresql://${host}:${port}/qdb`;

const addressesOf = (plan: StackPlan): Addresses => {
  const { urls, ports, receiverOrigin, adminUrl, engineHost, enginePorts } = plan;
  const at = ({ port }: { port: number }): string => `${receiverOrigin}:${port}`;
  return {
    push_url: at(ports.push),
    otlp_url: at(ports.otlp),
    grpc_url: ports.grpc === undefined ? null : at(ports.grpc),
    admin_url: adminUrl,
    questdb_url: withoutAccount(urls.questdb),
    questdb_pg_url: enginePorts.includes(ports.questdbPg) ? pgUrl(engineHost, ports.questdbPg.port) : null,
    clickhouse_url: withoutAccount(urls.clickhouse),
    nats_url: withoutAccount(urls.nats),
  };
};

const accountOf = (url: string): { user: string; password: string } | undefined => {
  const { username, password } = new URL(url.split(',')[0] ?? '');
  return username === ''
    ? undefined
    : { user: decodeURIComponent(username), password: decodeURIComponent(password) };
};

const curlText = (text: string): string => text.replace(/["\\]/g, (character) => `\\${character}`);

/** Leaves where everything is in the data folder, for roles, clients and `tidemark env`. `urls` hold user and password. */
export const writeInstallation = (
  dataFolder: string,
  plan: StackPlan,
  urls: Readonly<Record<ClientName, string>>,
): void => {
  const folder = upFolder(dataFolder);
  removeInstallation(dataFolder);
  mkdirSync(folder, { mode: 0o700 });
  const write = (path: string, text: string): void => {
    writeFileSync(path, `${text}\n`, { mode: 0o600, flag: 'wx' });
  };
  for (const client of clientNames) write(urlFile(dataFolder, client), urls[client]);
  for (const engine of ['questdb', 'clickhouse'] as const) {
    const account = accountOf(urls[engine]);
    const line =
      account === undefined ? '' : `user = "${curlText(account.user)}:${curlText(account.password)}"`;
    write(curlFile(dataFolder, engine), line);
  }
  write(addressesFile(dataFolder), JSON.stringify(addressesOf(plan), null, 2));
};

/** Removes the files of an earlier installation. */
export const removeInstallation = (dataFolder: string): void =>
  rmSync(upFolder(dataFolder), { recursive: true, force: true });

/** Where everything is by the last `tidemark up` on this folder; undefined before the first one. */
export const readAddresses = (dataFolder: string): Addresses | undefined => {
  try {
    return addressesSchema.parse(JSON.parse(readFileSync(addressesFile(dataFolder), 'utf8')));
  } catch {
    return undefined;
  }
};

/** Where everything would be by the settings. */
const plannedAddresses = (settings: Settings): Addresses => {
  const { ingress, questdb } = settings;
  const { nats, questdb: questdbUrl, clickhouse } = engineUrls(settings);
  const { origin, hostname } = new URL(settings.admin.url);
  const receiverOrigin = `${ingress.tlsCertFile === undefined ? 'http' : 'https'}://${hostname}`;
  return {
    push_url: `${receiverOrigin}:${ingress.pushPort}`,
    otlp_url: `${receiverOrigin}:${ingress.otlpPort}`,
    admin_url: origin,
    questdb_url: withoutAccount(questdbUrl),
    questdb_pg_url: questdb.url === undefined ? pgUrl('127.0.0.1', questdb.pgPort) : null,
    clickhouse_url: withoutAccount(clickhouse),
    nats_url: withoutAccount(nats),
  };
};

const access = (
  url: string,
  given: string | undefined,
  own: { user: string; password: string } | undefined,
) => {
  const account = given === undefined ? own : accountOf(given);
  return { url, user: account?.user ?? null, password: account?.password ?? null };
};

const databaseAccess = (
  url: string,
  given: string | undefined,
  own: DatabaseAccounts | undefined,
): DatabaseAccess => {
  // Of an external server only the account of the roles is known.
  const reader = given === undefined ? own : undefined;
  return {
    ...access(url, given, own),
    readonly_user: reader?.readonlyUser ?? null,
    readonly_password: reader?.readonlyPassword ?? null,
  };
};

/** The installation on the data folder of these settings; undefined without known credentials. */
export const readInstallation = (settings: Settings): Installation | undefined => {
  const own = readCredentials(settings.dataFolder);
  const { nats, questdb, clickhouse, admin } = settings;
  if (own === undefined && [nats, questdb, clickhouse].some(({ url }) => url === undefined)) return undefined;
  const addresses = readAddresses(settings.dataFolder) ?? plannedAddresses(settings);
  return {
    push_url: addresses.push_url,
    otlp_url: addresses.otlp_url,
    admin: { url: addresses.admin_url, token: admin.token ?? null },
    questdb: {
      ...databaseAccess(addresses.questdb_url, questdb.url, own?.questdb),
      pg_url: addresses.questdb_pg_url,
    },
    clickhouse: databaseAccess(addresses.clickhouse_url, clickhouse.url, own?.clickhouse),
    nats: { ...access(addresses.nats_url, nats.url, own?.nats), monitor_url: null },
  };
};
