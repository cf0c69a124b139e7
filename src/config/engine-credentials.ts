import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../model/json.ts';

/** The account of an engine that may do everything. */
export type EngineAccount = { readonly user: string; readonly password: string };

/** The accounts of a database: the operator's, and one that reads and changes nothing. */
export type DatabaseAccounts = EngineAccount & {
  readonly readonlyUser: string;
  readonly readonlyPassword: string;
};

/** The accounts of the engines of one installation. */
export type EngineCredentials = {
  readonly nats: EngineAccount;
  readonly questdb: DatabaseAccounts;
  readonly clickhouse: DatabaseAccounts;
};

/** The file in the data folder, mode 0600; the first `tidemark up` writes it. */
export const credentialsFile = 'credentials.json';

const account = { user: z.string().min(1), password: z.string().min(16) };

const database = z
  .strictObject({
    ...account,
    readonly_user: z.string().min(1),
    readonly_password: z.string().min(16),
  })
  .transform(
    ({
      readonly_user: readonlyUser,
      readonly_password: readonlyPassword,
      ...operator
    }): DatabaseAccounts => ({
      ...operator,
      readonlyUser,
      readonlyPassword,
    }),
  );

const credentialsSchema = z.strictObject({
  nats: z.strictObject(account),
  questdb: database,
  clickhouse: database,
});

/** The credentials in the text of their file; undefined where the text does not parse as such a file. */
export const parseCredentials = (text: string): EngineCredentials | undefined =>
  credentialsSchema.safeParse(parseJson(text)).data;

/** The credentials of this data folder; undefined where the file is missing or this process may not read it. */
export const readCredentials = (dataFolder: string): EngineCredentials | undefined => {
  try {
    return parseCredentials(readFileSync(join(dataFolder, credentialsFile), 'utf8'));
  } catch {
    return undefined;
  }
};

/** The address with user and password in it, in the form that the settings of engines accept. */
export const withAccount = (url: string, account: EngineAccount | undefined): string => {
  if (account === undefined) return url;
  const { user, password } = account;
  return url.replace('://', `://${encodeURIComponent(user)}:${encodeURIComponent(password)}@`);
};
