import { readFileSync } from 'node:fs';
import { type EngineAccount, readCredentials } from '../config/engine-credentials.ts';
import { loadSettings, type Settings } from '../config/settings.ts';
import { readAddresses } from '../embedded/installation.ts';
import { isLocked } from '../embedded/lock.ts';
import { isEnginesOnly } from '../embedded/restoring.ts';
import { type ClientName, urlFile } from '../embedded/up-files.ts';

const runningAddresses = (dataFolder: string) =>
  isLocked(dataFolder) ? readAddresses(dataFolder) : undefined;

const isSameOrigin = (one: string, other: string): boolean => new URL(one).origin === new URL(other).origin;

/**
 * Where the receivers of the running `tidemark up` on this data folder are; undefined without one, where it runs no receivers, and where
 * the admin API of the settings is another one: a token that came from there is not for these receivers.
 */
export const runningReceivers = ({ dataFolder, admin }: Settings) => {
  const addresses = runningAddresses(dataFolder);
  if (addresses === undefined || isEnginesOnly(dataFolder)) return undefined;
  return isSameOrigin(addresses.admin_url, admin.url) ? addresses : undefined;
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

/**
 * The settings of a command: what they do not name is that of the running `tidemark up` on the data folder: the admin API, and engines
 * with their ports. Another stack of this machine would be sent the token and the passwords of this one otherwise.
 */
export const loadCommandSettings = (): Settings => {
  const settings = loadSettings(process.env, (dataFolder) => runningAddresses(dataFolder)?.admin_url);
  return isLocked(settings.dataFolder) ? withEngines(settings) : settings;
};
