import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  credentialsFile,
  type DatabaseAccounts,
  type EngineAccount,
  type EngineCredentials,
  parseCredentials,
} from '../config/engine-credentials.ts';
import { isMissing } from '../runtime/files.ts';

/** The data folder's credentials cannot be used; the message has the file and the remedy. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
}

/**
 * 192 random bits as hexadecimal digits: nothing to quote in an address, a shell or a file of settings, and no leading
 * dash that a command reads as an option.
 */
export const createPassword = (): string => randomBytes(24).toString('hex');

/** The header that opens an engine's HTTP interface. */
export const basicAuthorization = ({ user, password }: EngineAccount): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** The operator's account: the roles are it too. */
export const createAccount = (): EngineAccount => ({ user: 'tidemark', password: createPassword() });

/** The two accounts of a database. */
export const createDatabaseAccounts = (): DatabaseAccounts => ({
  ...createAccount(),
  readonlyUser: 'readonly',
  readonlyPassword: createPassword(),
});

const createCredentials = (): EngineCredentials => ({
  nats: createAccount(),
  questdb: createDatabaseAccounts(),
  clickhouse: createDatabaseAccounts(),
});

const stored = ({ user, password, readonlyUser, readonlyPassword }: DatabaseAccounts): object => ({
  user,
  password,
  readonly_user: readonlyUser,
  readonly_password: readonlyPassword,
});

/**
 * The credentials of the engines on this data folder, made at the first call and the same ever after. The caller must
 * hold the folder alone. Throws CredentialsError where the file exists and cannot be used: new credentials would lock
 * out every user of the old ones.
 */
export const ensureCredentials = async (dataFolder: string): Promise<EngineCredentials> => {
  const path = join(dataFolder, credentialsFile);
  try {
    const credentials = parseCredentials(await readFile(path, 'utf8'));
    if (credentials !== undefined) return credentials;
    throw new CredentialsError(
      `${path} does not contain the credentials of the engines. Restore the file, or remove it to create new credentials.`,
    );
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const credentials = createCredentials();
  const { nats, questdb, clickhouse } = credentials;
  const text = JSON.stringify({ nats, questdb: stored(questdb), clickhouse: stored(clickhouse) }, null, 2);
  // Whole or not at all, also when it is killed here.
  const written = `${path}.new`;
  await rm(written, { force: true });
  await writeFile(written, `${text}\n`, { mode: 0o600, flag: 'wx', flush: true });
  await link(written, path);
  await rm(written);
  return credentials;
};
