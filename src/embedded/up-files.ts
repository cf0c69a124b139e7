import { join } from 'node:path';

/** What an address is for: an engine, as the operator and, at NATS, as one of the roles. */
export const clientNames = [
  'nats',
  'nats-ingress',
  'nats-transfer',
  'nats-metadata',
  'questdb',
  'clickhouse',
] as const;
export type ClientName = (typeof clientNames)[number];

/** The folder of files that a running `tidemark up` writes for its roles and clients; they contain passwords. */
export const upFolder = (dataFolder: string): string => join(dataFolder, 'up');

/** Every address, without passwords. */
export const addressesFile = (dataFolder: string): string => join(upFolder(dataFolder), 'addresses.json');

/** An engine's address with user and password. */
export const urlFile = (dataFolder: string, client: ClientName): string =>
  join(upFolder(dataFolder), `${client}.url`);

/** The options of curl with the credentials: `curl -K <file>`. */
export const curlFile = (dataFolder: string, engine: 'questdb' | 'clickhouse'): string =>
  join(upFolder(dataFolder), `${engine}.curl`);
