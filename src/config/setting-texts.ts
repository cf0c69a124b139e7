import { readFileSync } from 'node:fs';
import { errorText, Fault } from '../model/fault.ts';
import { defaultInstance, isInstanceName } from '../model/instances.ts';
import { type Kind, type SettingDefinition, settingDefinitions } from './setting-definitions.ts';
import { parseYamlFile } from './yaml-file.ts';

/** The effective text of a setting and its source: a variable, a place in the settings file, or the default. */
export type SettingText = { readonly text: string; readonly source: string };

/** The `source` of a default. */
export const defaultSource = 'default';

/** A setting that cannot be used: its place, the reason and the remedy. */
export const settingFault = (place: string, reason: string, remedy: string): Fault =>
  new Fault('permanent', 'config_invalid', `${place}: ${reason}. ${remedy}`);

const byteUnits: Readonly<Record<string, number>> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Bytes of `512`, `64KiB`, `16MiB`, `2GiB`; undefined for anything else. */
export const parseBytes = (text: string): number | undefined => {
  const match = /^(\d{1,12})\s*(KiB|MiB|GiB)?$/.exec(text.trim());
  const unit = byteUnits[match?.[2] ?? ''];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
};

/** The names of `a, b`. */
export const parseNames = (text: string): string[] => text.split(',').map((name) => name.trim());

/** Name of a header field (RFC 9110, token). */
const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const attributeName = /^[^\s,"\\]{1,100}$/;
const namesMax = 8;

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];

/** `localhost:4222` is a valid URL, too: of the scheme `localhost`. */
const isAddress = (text: string): boolean => /^[a-z]+:\/\/[^/]/i.test(text) && URL.canParse(text);

/** A QuestDB instance and its HTTP address: `http://[user:password@]host:port`. */
export type QuestdbAddress = { readonly name: string; readonly url: string };

/** The instances of `b=http://host:9000,c=http://…`, in their order; the text must have been checked. */
export const parseInstances = (text: string): QuestdbAddress[] =>
  text.split(',').map((each) => {
    const at = each.indexOf('=');
    return { name: each.slice(0, at).trim(), url: each.slice(at + 1).trim() };
  });

/** The text omits the addresses, which may hold passwords. */
const wrongInstances = (text: string): string | undefined => {
  const names = new Set<string>([defaultInstance]);
  for (const [index, { name, url }] of parseInstances(text).entries()) {
    const which = `, in place ${index + 1} of its list,`;
    if (!isInstanceName(name) || !/^https?:/i.test(url) || !isAddress(url))
      return `${which} is not like name=http://host:port, with a name of up to 32 of a-z, 0-9, _ and -, beginning with a letter`;
    if (names.has(name)) return `${which} repeats the name ${name}`;
    names.add(name);
  }
  return undefined;
};

/** Name of a ClickHouse cluster, as it is used in statements. */
export const clusterName = /^[A-Za-z0-9_.-]{1,100}$/;

const isNames = (text: string, form: RegExp): boolean => {
  const names = parseNames(text);
  return names.length <= namesMax && names.every((name) => form.test(name));
};

const wrongValue = (kind: Kind, text: string): string | undefined => {
  switch (kind) {
    case 'port':
      return /^\d{1,5}$/.test(text) && Number(text) <= 65535 ? undefined : 'is not a port (0 to 65535)';
    case 'integer':
      return /^-?\d{1,15}$/.test(text) ? undefined : 'is not an integer';
    case 'count':
      return /^\d{1,9}$/.test(text) ? undefined : 'is not a whole number from 0';
    case 'processes':
      return /^([1-9]|[1-5]\d|6[0-4])$/.test(text) ? undefined : 'is not a whole number from 1 to 64';
    case 'bytes':
      return parseBytes(text) === undefined
        ? 'is not a size (a number, or a number with KiB, MiB or GiB)'
        : undefined;
    case 'flag':
      return text === 'true' || text === 'false' ? undefined : 'is not true or false';
    case 'ratio':
      return /^(0(\.\d{1,9})?|1(\.0{1,9})?)$/.test(text) ? undefined : 'is not a number from 0 to 1';
    case 'url':
      return isAddress(text) ? undefined : 'is not an address like http://host:port';
    case 'urls':
      return text.split(',').every(isAddress)
        ? undefined
        : 'is not one or several addresses like nats://host:port, separated by commas';
    case 'instances':
      return wrongInstances(text);
    case 'headers':
      return isNames(text, headerName)
        ? undefined
        : `is not a list of 1 to ${namesMax} names of header fields, separated by commas`;
    case 'attributes':
      return isNames(text, attributeName)
        ? undefined
        : `is not a list of 1 to ${namesMax} names of attributes, separated by commas`;
    case 'replicas':
      return ['1', '3', '5'].includes(text) ? undefined : 'is not one of 1, 3, 5';
    case 'cluster':
      return clusterName.test(text) ? undefined : 'is not a name of at most 100 letters, digits, _, . and -';
    case 'durability':
      return text === 'process' || text === 'power' ? undefined : 'is not process or power';
    case 'level':
      return logLevels.includes(text) ? undefined : `is not one of ${logLevels.join(', ')}`;
    default:
      return text === '' ? 'is empty' : undefined;
  }
};

const nearest = (name: string, names: readonly string[]): string => {
  const shared = (other: string): number => {
    let count = 0;
    while (count < name.length && name[count] === other[count]) count++;
    return count;
  };
  return names.reduce((best, other) => (shared(other) > shared(best) ? other : best), names[0] ?? '');
};

const fileValues = (file: string | undefined): Map<string, { text: string; place: string }> => {
  const values = new Map<string, { text: string; place: string }>();
  if (file === undefined) return values;
  const known = settingDefinitions.map((definition) => definition.key).filter((key) => key !== '');
  for (const { path, value, place } of parseYamlFile(file).leaves()) {
    const key = path.join('.');
    if (!known.includes(key)) {
      throw settingFault(
        place,
        `unknown key ${key}`,
        `Did you mean ${nearest(key, known)}? Remove it or correct it`,
      );
    }
    values.set(key, { text: value === null ? '' : String(value), place });
  }
  return values;
};

/** Addresses may hold passwords. */
export const isSecret = ({ kind }: Pick<SettingDefinition, 'kind'>): boolean =>
  kind === 'url' || kind === 'urls' || kind === 'instances' || kind === 'secret';

/**
 * The variable that names a file with the value of a secret setting. Undefined if the setting is not secret, or if that variable
 * is itself a setting.
 */
export const fileVariable = (definition: SettingDefinition): string | undefined => {
  const variable = `${definition.env}_FILE`;
  if (!isSecret(definition) || settingDefinitions.some(({ env }) => env === variable)) return undefined;
  return variable;
};

const refuseUnknownVariables = (env: NodeJS.ProcessEnv): void => {
  const known = settingDefinitions.flatMap((definition) =>
    [definition.env, fileVariable(definition) ?? []].flat(),
  );
  for (const name of Object.keys(env)) {
    if (!name.startsWith('TIDEMARK_') || known.includes(name)) continue;
    throw settingFault(
      `environment variable ${name}`,
      'unknown setting',
      `Did you mean ${nearest(name, known)}? Unset it or correct it`,
    );
  }
};

/** A secret from its file, without the end of the line. */
const secretOf = (definition: SettingDefinition, env: NodeJS.ProcessEnv): SettingText | undefined => {
  const variable = fileVariable(definition);
  const file = variable === undefined ? undefined : env[variable];
  if (variable === undefined || file === undefined) return undefined;
  const place = `environment variable ${variable}`;
  if (env[definition.env] !== undefined) {
    throw settingFault(place, `${definition.env} is set, too`, 'Unset one of them');
  }
  try {
    return { text: readFileSync(file, 'utf8').trim(), source: place };
  } catch (error) {
    throw settingFault(
      place,
      `the file cannot be read (${errorText(error)})`,
      'Correct the path or its permissions',
    );
  }
};

const textOf = (
  definition: SettingDefinition,
  env: NodeJS.ProcessEnv,
  file: ReadonlyMap<string, { text: string; place: string }>,
): SettingText | undefined => {
  const secret = secretOf(definition, env);
  if (secret !== undefined) return secret;
  const fromEnv = env[definition.env];
  if (fromEnv !== undefined) return { text: fromEnv, source: `environment variable ${definition.env}` };
  const fromFile = file.get(definition.key);
  if (fromFile !== undefined) return { text: fromFile.text, source: fromFile.place };
  return definition.fallback === undefined ? undefined : { text: definition.fallback, source: defaultSource };
};

/**
 * The effective text of every setting that has one, by its variable's name: from the variable, from the file that
 * `<variable>_FILE` names (secrets and addresses), from the settings file, or the default. Throws a permanent Fault
 * `config_invalid` that names the place of an unknown name or an unusable value.
 */
export const collectTexts = (env: NodeJS.ProcessEnv): Map<string, SettingText> => {
  refuseUnknownVariables(env);
  const file = fileValues(env.TIDEMARK_CONFIG);
  const texts = new Map<string, SettingText>();
  for (const definition of settingDefinitions) {
    const found = textOf(definition, env, file);
    if (found === undefined) continue;
    const wrong = wrongValue(definition.kind, found.text);
    if (wrong !== undefined) {
      const shown = isSecret(definition) ? '' : ` ${JSON.stringify(found.text)}`;
      throw settingFault(
        found.source,
        `the value${shown} ${wrong}`,
        `Meaning of the setting: ${definition.meaning}`,
      );
    }
    texts.set(definition.env, found);
  }
  return texts;
};
