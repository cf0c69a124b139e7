import { readFileSync } from 'node:fs';
import { type EngineAccount, readCredentials } from '../config/engine-credentials.ts';
import { type AdminPlace, loadSettings, type Settings, settingDefinitions } from '../config/settings.ts';
import { readAddresses } from '../embedded/installation.ts';
import { isLocked } from '../embedded/lock.ts';
import { isEnginesOnly } from '../embedded/restoring.ts';
import { type ClientName, urlFile } from '../embedded/up-files.ts';

/** Whether `tidemark up` runs on the folder. Where that cannot be seen (no `flock` here), it does not run here. */
const isRunning = (dataFolder: string): boolean => {
  try {
    return isLocked(dataFolder);
  } catch {
    return false;
  }
};

const runningAddresses = (dataFolder: string) =>
  isRunning(dataFolder) && !isEnginesOnly(dataFolder) ? readAddresses(dataFolder) : undefined;

/** The hosts by which an address names this machine itself. */
export const loopbackNames: ReadonlySet<string> = new Set(['localhost', '[::1]', '127.0.0.1']);

/** Whether both are the same server, by any of the names that this machine has for itself. */
const isSameServer = (one: string, other: string): boolean => {
  const [a, b] = [new URL(one), new URL(other)];
  const areHere = loopbackNames.has(a.hostname) && loopbackNames.has(b.hostname);
  return a.origin === b.origin || (areHere && a.port === b.port && a.protocol === b.protocol);
};

/**
 * Where the receivers of the running `tidemark up` on this data folder are; undefined without one, where it runs no receivers, and where
 * the admin API of the settings is another one: a token that came from there is not for these receivers.
 */
export const runningReceivers = ({ dataFolder, admin }: Settings) => {
  const addresses = runningAddresses(dataFolder);
  return addresses !== undefined && isSameServer(addresses.admin_url, admin.url) ? addresses : undefined;
};

/** The port where the engine is that `tidemark up` runs itself, else the address of the one that it uses. */
type Found = { readonly port: number } | { readonly url: string } | undefined;

const findEngine = (dataFolder: string, client: ClientName, own: EngineAccount | undefined): Found => {
  let url: string;
  try {
    url = readFileSync(urlFile(dataFolder, client), 'utf8').trim();
  } catch {
    return undefined;
  }
  const { username, password, port } = new URL(url.split(',')[0] ?? '');
  return username === own?.user && password === own.password ? { port: Number(port) } : { url };
};

const withEngines = (settings: Settings): Settings => {
  const { dataFolder, nats, questdb, clickhouse } = settings;
  const own = readCredentials(dataFolder);
  const found = {
    nats: nats.url === undefined ? findEngine(dataFolder, 'nats', own?.nats) : undefined,
    questdb: questdb.url === undefined ? findEngine(dataFolder, 'questdb', own?.questdb) : undefined,
    clickhouse:
      clickhouse.url === undefined ? findEngine(dataFolder, 'clickhouse', own?.clickhouse) : undefined,
  };
  const placed = <T extends object>(engine: T, at: Found, portName: string): T => {
    if (at === undefined) return engine;
    return { ...engine, ...('url' in at ? at : { [portName]: at.port }) };
  };
  return {
    ...settings,
    nats: placed(nats, found.nats, 'clientPort'),
    questdb: placed(questdb, found.questdb, 'httpPort'),
    clickhouse: placed(clickhouse, found.clickhouse, 'httpPort'),
  };
};

const defaultOf = (variable: string): string | undefined =>
  settingDefinitions.find(({ env }) => env === variable)?.fallback;

/** A port, host or certificate of the admin API that is set says where it is, as an address does. */
const isPlaced = ({ host, apiPort, tlsCertFile }: AdminPlace): boolean =>
  tlsCertFile !== undefined ||
  host !== defaultOf('TIDEMARK_BIND_HOST') ||
  (apiPort !== 0 && String(apiPort) !== defaultOf('TIDEMARK_METADATA_API_PORT'));

/** The settings of a command that calls the admin API alone: of the running `tidemark up` on the data folder, where no setting says it. */
export const loadAdminSettings = (): Settings =>
  loadSettings(process.env, (place) =>
    isPlaced(place) ? undefined : runningAddresses(place.dataFolder)?.admin_url,
  );

/**
 * The settings of a command: what they do not name is that of the running `tidemark up` on the data folder: the admin API, and engines
 * with their ports. Another stack of this machine would be sent the token and the passwords of this one otherwise.
 */
export const loadCommandSettings = (): Settings => {
  const settings = loadAdminSettings();
  return isRunning(settings.dataFolder) ? withEngines(settings) : settings;
};
