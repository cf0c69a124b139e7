import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** Who may do everything in an engine. */
export type EngineAccount = { readonly user: string; readonly password: string };

/** Of a database: beside the operator's account one that reads and changes nothing. */
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

/** In the data folder, mode 0600; made by the first `tidemark up`. */
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

/** The credentials in the text of their file; undefined where it is no such file. */
export const parseCredentials = (text: string): EngineCredentials | undefined => {
  try {
    return credentialsSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

/** The credentials of this data folder; undefined where there are none, or none that we may read. */
export const readCredentials = (dataFolder: string): EngineCredentials | undefined => {
  try {
    return parseCredentials(readFileSync(join(dataFolder, credentialsFile), 'utf8'));
  } catch {
    return undefined;
  }
};

/** The address with user and password in it, as the settings of engines take it. */
export const withAccount = (url: string, account: EngineAccount | undefined): string => {
  if (account === undefined) return url;
  const { user, password } = account;
  return url.replace('://', `://${encodeURIComponent(user)}:${encodeURIComponent(password)}@`);
};
