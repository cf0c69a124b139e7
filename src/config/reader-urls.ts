import type { DatabaseAccounts } from './engine-credentials.ts';
import { readCredentials, withAccount } from './engine-credentials.ts';
import { engineUrls, questdbInstances, type Settings, settingFault } from './settings.ts';

/** An address for queries. `isReader`: its user only reads; else it is the user of the roles. */
export type ReaderUrl = { readonly url: string; readonly isReader: boolean };

type Given = { readonly readonlyUser?: string | undefined; readonly readonlyPassword?: string | undefined };

const givenReader = ({ readonlyUser, readonlyPassword }: Given, engine: string) => {
  if (readonlyUser === undefined && readonlyPassword === undefined) return undefined;
  if (readonlyUser !== undefined && readonlyPassword !== undefined)
    return { user: readonlyUser, password: readonlyPassword };
  const missing = readonlyUser === undefined ? 'USER' : 'PASSWORD';
  throw settingFault(
    `TIDEMARK_${engine}_READONLY_${missing}`,
    'is missing, while its counterpart is set',
    'Set both, or none of them',
  );
};

/** `tidemark up` gives the roles addresses with the operator's account of the data folder. */
const isOwn = ({ username, password }: URL, own: DatabaseAccounts | undefined): boolean =>
  own !== undefined &&
  decodeURIComponent(username) === own.user &&
  decodeURIComponent(password) === own.password;

const readerUrl = (
  url: string,
  given: ReturnType<typeof givenReader>,
  own: DatabaseAccounts | undefined,
): ReaderUrl => {
  const target = new URL(url);
  const reader =
    given ??
    (own !== undefined && isOwn(target, own)
      ? { user: own.readonlyUser, password: own.readonlyPassword }
      : undefined);
  if (reader === undefined) return { url, isReader: false };
  target.username = '';
  target.password = '';
  return { url: withAccount(target.toString(), reader), isReader: true };
};

/** The readonly users of the settings. Throws a permanent Fault `config_invalid` for a user without a password, and the reverse. */
export const givenReaders = ({ questdb, clickhouse }: Settings) => ({
  questdb: givenReader(questdb, 'QUESTDB'),
  clickhouse: givenReader(clickhouse, 'CLICKHOUSE'),
});

/**
 * Where queries of readers go, of each QuestDB instance and of ClickHouse: with the readonly users of the settings, else with those
 * of the embedded engines, else with the users of the roles. Throws a permanent Fault `config_invalid` for a user without a password.
 */
export const readerUrls = (settings: Settings) => {
  const own = readCredentials(settings.dataFolder);
  const { questdb, clickhouse } = givenReaders(settings);
  return {
    questdb: questdbInstances(settings).map(({ name, url }) => ({
      name,
      ...readerUrl(url, questdb, own?.questdb),
    })),
    clickhouse: readerUrl(engineUrls(settings).clickhouse, clickhouse, own?.clickhouse),
  };
};
