import { join } from 'node:path';

export type EngineName = 'nats' | 'questdb' | 'clickhouse';

/** The folder of files that a running `tidemark up` writes for its roles and clients; they contain passwords. */
export const upFolder = (dataFolder: string): string => join(dataFolder, 'up');

/** Every address, without passwords. */
export const addressesFile = (dataFolder: string): string => join(upFolder(dataFolder), 'addresses.json');

/** An engine's address with user and password, for the roles. */
export const urlFile = (dataFolder: string, engine: EngineName): string =>
  join(upFolder(dataFolder), `${engine}.url`);

/** The options of curl with the credentials: `curl -K <file>`. */
export const curlFile = (dataFolder: string, engine: 'questdb' | 'clickhouse'): string =>
  join(upFolder(dataFolder), `${engine}.curl`);
