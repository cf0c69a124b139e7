import { join } from 'node:path';

export type EngineName = 'nats' | 'questdb' | 'clickhouse';

/** What a `tidemark up` that runs gives its roles and clients, as files because passwords are in them. */
export const upFolder = (dataFolder: string): string => join(dataFolder, 'up');

/** Where everything is reached, without passwords. */
export const addressesFile = (dataFolder: string): string => join(upFolder(dataFolder), 'addresses.json');

/** An engine's address, user and password in it, for the roles. */
export const urlFile = (dataFolder: string, engine: EngineName): string =>
  join(upFolder(dataFolder), `${engine}.url`);

/** What curl needs to be let in: `curl -K <file>`. */
export const curlFile = (dataFolder: string, engine: 'questdb' | 'clickhouse'): string =>
  join(upFolder(dataFolder), `${engine}.curl`);
