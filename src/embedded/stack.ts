import { join } from 'node:path';
import type { NatsRights } from '../bus/nats-users.ts';
import { type EngineAccount, type EngineCredentials, withAccount } from '../config/engine-credentials.ts';
import { type NamedPort, portsOf } from '../config/port-settings.ts';
import { chosenByUp, collectTexts, defaultSource } from '../config/setting-texts.ts';
import type { Settings } from '../config/settings.ts';
import type { LogLine } from './child.ts';
import { createClickhouseEngine } from './clickhouse.ts';
import { createPassword } from './credentials.ts';
import type { Engine } from './engine.ts';
import { engineLogFile } from './engine-logs.ts';
import { createInstaller, type Installer, type Progress } from './install.ts';
import { createNatsEngine } from './nats.ts';
import { freePorts } from './ports.ts';
import { createQuestdbEngine } from './questdb.ts';
import { createRole, type Role, type RoleName, roleNames } from './role.ts';
import { type ClientName, urlFile } from './up-files.ts';

/** Where everything of one stack is reached, by ports that are never 0. */
export type StackPlan = {
  /** Engines always listen here, independent of the address of the roles. */
  engineHost: string;
  /** The roles, from this machine. */
  roleHost: string;
  /** Scheme and host of the receivers, from this machine. */
  receiverOrigin: string;
  /** The admin API, from this machine; with a certificate, by the name that the settings have for it. */
  adminUrl: string;
  /** Configured addresses unchanged, those of the engines that are started here without their credentials. */
  urls: EngineUrls;
  ports: PortPlan;
  /** The ports of the engines that are started here, and of the roles. */
  enginePorts: readonly NamedPort[];
  rolePorts: readonly NamedPort[];
};

type EngineUrls = { nats: string; questdb: string; clickhouse: string };

/** Everything `tidemark up` starts. */
export type Stack = {
  engines: readonly Engine[];
  roles: Record<RoleName, Role>;
  inStopOrder: readonly (Engine | Role)[];
};

type PortPlan = ReturnType<typeof portsOf>;

const loopback = '127.0.0.1';

/** Decides on every port; the port 0 becomes a free one. */
export const planStack = async (settings: Settings): Promise<StackPlan> => {
  const ports = portsOf(settings);
  const open = Object.values(ports).filter(({ port }) => port === 0);
  const free = await freePorts(open.length);
  for (const [index, entry] of open.entries()) entry.port = free[index] ?? 0;
  const { nats, questdb, clickhouse, host, ingress, metadata, admin } = settings;
  const roleHost = host === '0.0.0.0' || host === '::' ? loopback : host;
  const { push, otlp, grpc, ingressOps, transferOps, api, metadataOps } = ports;
  const receivers = grpc === undefined ? [push, otlp] : [push, otlp, grpc];
  return {
    engineHost: loopback,
    roleHost,
    receiverOrigin: `${ingress.tlsCertFile === undefined ? 'http' : 'https'}://${roleHost}`,
    adminUrl:
      metadata.tlsCertFile === undefined ? `http://${roleHost}:${api.port}` : new URL(admin.url).origin,
    urls: {
      nats: nats.url ?? `nats://${loopback}:${ports.natsClient.port}`,
      questdb: questdb.url ?? `http://${loopback}:${ports.questdbHttp.port}`,
      clickhouse: clickhouse.url ?? `http://${loopback}:${ports.clickhouseHttp.port}`,
    },
    ports,
    enginePorts: [
      ...(nats.url === undefined ? [ports.natsClient] : []),
      ...(questdb.url === undefined ? [ports.questdbHttp, ports.questdbPg] : []),
      ...(clickhouse.url === undefined ? [ports.clickhouseHttp] : []),
    ],
    rolePorts: [...receivers, ingressOps, transferOps, api, metadataOps],
  };
};

/** The installer of this machine's user, with the cache folder of the settings. */
export const createMachineInstaller = (
  settings: Settings,
  env: NodeJS.ProcessEnv,
  progress: Progress,
): Installer => createInstaller({ ...env, TIDEMARK_CACHE: settings.cacheFolder }, progress);

/** The users of the roles at the NATS that is started here. */
export type RoleAccounts = Readonly<Record<RoleName, EngineAccount>>;

/** New ones: server and roles start and end together. */
export const createRoleAccounts = (): RoleAccounts => {
  const of = (user: RoleName): EngineAccount => ({ user, password: createPassword() });
  return { ingress: of('ingress'), transfer: of('transfer'), metadata: of('metadata') };
};

/**
 * The addresses for each role and, as `nats`, for the operator's commands: with the credentials of the engines that are started
 * here.
 */
export const clientUrls = (
  settings: Settings,
  { urls }: StackPlan,
  own: EngineCredentials,
  roles: RoleAccounts,
): Readonly<Record<ClientName, string>> => {
  const { nats, questdb, clickhouse } = settings;
  const natsOf = (account: EngineAccount): string => nats.url ?? withAccount(urls.nats, account);
  return {
    nats: natsOf(own.nats),
    'nats-ingress': natsOf(roles.ingress),
    'nats-transfer': natsOf(roles.transfer),
    'nats-metadata': natsOf(roles.metadata),
    questdb: questdb.url ?? withAccount(urls.questdb, own.questdb),
    clickhouse: clickhouse.url ?? withAccount(urls.clickhouse, own.clickhouse),
  };
};

/** The parameters of a stack. */
export type StackDeps = {
  readonly installer: Installer;
  /** Receives the lines of the roles. */
  readonly log: LogLine;
  /** Receives the lines of the engines, which are files: `engineLogFile`. */
  readonly engineLog: LogLine;
  readonly env: NodeJS.ProcessEnv;
  readonly credentials: EngineCredentials;
  readonly roleAccounts: RoleAccounts;
  readonly rights: NatsRights;
  /** The lock of the data folder: each process that writes there holds it, too. */
  readonly lock: number;
};

const createEngines = (
  settings: Settings,
  plan: StackPlan,
  { installer, engineLog, credentials, roleAccounts, rights, lock }: StackDeps,
): Engine[] => {
  const { engineHost: host, ports } = plan;
  const { durability, dataFolder } = settings;
  const options = (name: Engine['name']) => ({
    folder: join(dataFolder, name),
    host,
    log: engineLog,
    logFile: engineLogFile(dataFolder, name),
    durability,
    inherited: [lock],
  });
  const engines: Engine[] = [];
  if (settings.questdb.url === undefined) {
    const own = { http: ports.questdbHttp.port, pg: ports.questdbPg.port };
    const accounts = credentials.questdb;
    engines.push(createQuestdbEngine({ ...options('questdb'), ports: own, accounts }, installer));
  }
  if (settings.clickhouse.url === undefined) {
    const own = { http: ports.clickhouseHttp.port };
    const accounts = credentials.clickhouse;
    const { isUnconfined } = settings.clickhouse;
    engines.push(
      createClickhouseEngine({ ...options('clickhouse'), ports: own, accounts, isUnconfined }, installer),
    );
  }
  if (settings.nats.url === undefined) {
    const own = { client: ports.natsClient.port };
    const account = { ...credentials.nats, rights: rights.operator };
    const others = roleNames.map((name) => ({ ...roleAccounts[name], rights: rights[name] }));
    engines.push(createNatsEngine({ ...options('nats'), ports: own, account, others }, installer));
  }
  return engines;
};

/** Defaults of one machine for trials, in place of those of a deployment: every value that somebody has set overrides them. */
const trialDefaults: Readonly<Record<string, string>> = {
  // The limit protects a shared deployment.
  TIDEMARK_MAX_RATE_DEFAULT: '0',
  // No other receiver is there for the clients of this one, and Ctrl-C is not to wait for them.
  TIDEMARK_INGRESS_DRAIN_MS: '0',
};

/** Those that hold, as variables of a role. */
const ownDefaults = (env: NodeJS.ProcessEnv): Readonly<Record<string, string>> => {
  const texts = collectTexts(env);
  const held = Object.entries(trialDefaults).filter(([name]) => texts.get(name)?.source === defaultSource);
  return { ...Object.fromEntries(held), [chosenByUp]: held.map(([name]) => name).join() };
};

/** The whole environment of a role, whose settings are those of `env` but for what `tidemark up` decides. */
export const roleEnvironment = (
  role: RoleName,
  settings: Settings,
  plan: StackPlan,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv => {
  const ownPorts = Object.values(plan.ports).map(({ variable, port }) => [variable, String(port)]);
  // As files: they contain passwords. A role refuses a setting that is given both ways.
  const engines = ['nats', 'questdb', 'clickhouse'] as const;
  const variables = engines.map((engine) => [engine, `TIDEMARK_${engine.toUpperCase()}_URL`] as const);
  const isOfEngines = (name: string): boolean =>
    variables.some(([, variable]) => name === variable || name === `${variable}_FILE`);
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !isOfEngines(name))),
    ...Object.fromEntries(ownPorts),
    ...Object.fromEntries(
      variables.map(([engine, variable]) => {
        const client = engine === 'nats' ? (`nats-${role}` as const) : engine;
        return [`${variable}_FILE`, urlFile(settings.dataFolder, client)];
      }),
    ),
    TIDEMARK_DATA: settings.dataFolder,
    ...(settings.questdb.url === undefined && settings.clickhouse.url === undefined
      ? { TIDEMARK_METADATA_STORES_ON_DATA_DISK: 'true' }
      : {}),
    ...ownDefaults(env),
  };
};

/** Builds, but does not start, the engines without a configured address and one of each role. */
export const createStack = (settings: Settings, plan: StackPlan, deps: StackDeps): Stack => {
  const engines = createEngines(settings, plan, deps);
  const { push, otlp, grpc, ingressOps, transferOps, api, metadataOps } = plan.ports;
  const receivers = grpc === undefined ? [push, otlp] : [push, otlp, grpc];
  const role = (name: RoleName, ops: NamedPort, others: NamedPort[]): Role =>
    createRole({
      name,
      host: plan.roleHost,
      ports: [ops, ...others],
      opsPort: ops.port,
      env: roleEnvironment(name, settings, plan, deps.env),
      log: deps.log,
    });
  const roles = {
    metadata: role('metadata', metadataOps, [api]),
    transfer: role('transfer', transferOps, []),
    ingress: role('ingress', ingressOps, receivers),
  };
  // No new requests come in, transfer finishes the stream, and the stream ends last.
  return { engines, roles, inStopOrder: [roles.ingress, roles.transfer, roles.metadata, ...engines] };
};
