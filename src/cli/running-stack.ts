import { readFileSync } from 'node:fs';
import { loadSettings, type Settings } from '../config/settings.ts';
import { readAddresses } from '../embedded/installation.ts';
import { isLocked } from '../embedded/lock.ts';
import { type ClientName, urlFile } from '../embedded/up-files.ts';

/** Where the receivers of the running `tidemark up` on this data folder are; undefined without one. */
export const runningReceivers = (settings: Settings) =>
  isLocked(settings.dataFolder) ? readAddresses(settings.dataFolder) : undefined;

const urlIn = (dataFolder: string, client: ClientName): string | undefined => {
  try {
    return readFileSync(urlFile(dataFolder, client), 'utf8').trim();
  } catch {
    return undefined;
  }
};

/**
 * The settings of a command: an engine that they do not name is that of the running `tidemark up` on the data folder, also where the
 * ports are other ones than those of this terminal. Another stack of this machine would be sent the passwords of this one otherwise.
 */
export const loadCommandSettings = (): Settings => {
  const settings = loadSettings();
  const { dataFolder, nats, questdb, clickhouse } = settings;
  if (!isLocked(dataFolder)) return settings;
  return {
    ...settings,
    nats: { ...nats, url: nats.url ?? urlIn(dataFolder, 'nats') },
    questdb: { ...questdb, url: questdb.url ?? urlIn(dataFolder, 'questdb') },
    clickhouse: { ...clickhouse, url: clickhouse.url ?? urlIn(dataFolder, 'clickhouse') },
  };
};
