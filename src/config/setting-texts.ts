import { readFileSync } from 'node:fs';
import { errorText } from '../model/fault.ts';
import { nearestName } from '../model/nearest-name.ts';
import type { SettingDefinition } from './setting-declarations.ts';
import { settingDefinitions } from './setting-definitions.ts';
import { settingFault } from './setting-fault.ts';
import { type Leaf, parseYamlFile } from './yaml-file.ts';

/** The effective text of a setting and its source: a variable, a place in the settings file, `tidemark up`, or the default. */
export type SettingText = { readonly text: string; readonly source: string };

/** The `source` of a default. */
export const defaultSource = 'default';

/**
 * The variable in which `tidemark up` names the settings whose value it chose for its roles, separated by commas: the variable of
 * such a setting is not one that somebody set. It is no setting.
 */
export const chosenByUp = 'TIDEMARK_UP_DEFAULTS';

/** What to do about an unknown name: the nearest known one, by the part behind the prefix that all have. */
const remedyFor = (name: string, known: readonly string[], prefix: string, undo: string): string => {
  const near = nearestName(
    name.slice(prefix.length),
    known.map((each) => each.slice(prefix.length)),
  );
  if (near === undefined) return `${undo}; docs/settings.md lists all settings`;
  return `Did you mean ${prefix}${near}? ${undo} or correct it`;
};

/**
 * YAML reads digits as a number, which has neither leading zeros nor all digits of a long one: a password of digits is taken as it
 * is written. A setting of another form takes what YAML reads, such as True for true.
 */
const textInFile = ({ kind }: SettingDefinition, { value, written }: Leaf): string => {
  if (value === null) return '';
  const read = String(value);
  return kind.schema.safeParse(written).success || !kind.schema.safeParse(read).success ? written : read;
};

const fileValues = (file: string | undefined): Map<string, { text: string; place: string }> => {
  const values = new Map<string, { text: string; place: string }>();
  if (file === undefined) return values;
  const known = new Map(settingDefinitions.map((definition) => [definition.key, definition]));
  known.delete('');
  for (const leaf of parseYamlFile(file).leaves()) {
    const key = leaf.path.join('.');
    const { place } = leaf;
    const definition = known.get(key);
    if (definition === undefined) {
      throw settingFault(place, `unknown key ${key}`, remedyFor(key, [...known.keys()], '', 'Remove it'));
    }
    values.set(key, { text: textInFile(definition, leaf), place });
  }
  return values;
};

/**
 * The variable that names a file with the value of a secret setting. Undefined if the setting is not secret, or if that variable
 * is itself a setting.
 */
export const fileVariable = (definition: SettingDefinition): string | undefined => {
  const variable = `${definition.env}_FILE`;
  if (!definition.kind.isSecret || settingDefinitions.some(({ env }) => env === variable)) return undefined;
  return variable;
};

const refuseUnknownVariables = (env: NodeJS.ProcessEnv): void => {
  const known = settingDefinitions.flatMap((definition) =>
    [definition.env, fileVariable(definition) ?? []].flat(),
  );
  for (const name of Object.keys(env)) {
    if (!name.startsWith('TIDEMARK_') || name === chosenByUp || known.includes(name)) continue;
    throw settingFault(
      `environment variable ${name}`,
      'unknown setting',
      remedyFor(name, known, 'TIDEMARK_', 'Unset it'),
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
  if (fromEnv !== undefined) {
    const isChosen = env[chosenByUp]?.split(',').includes(definition.env) === true;
    return { text: fromEnv, source: isChosen ? 'tidemark up' : `environment variable ${definition.env}` };
  }
  const fromFile = file.get(definition.key);
  if (fromFile !== undefined) return { text: fromFile.text, source: fromFile.place };
  return definition.fallback === undefined ? undefined : { text: definition.fallback, source: defaultSource };
};

/**
 * The effective text of every setting that has one, by its variable's name: from the variable, from the file that `<variable>_FILE`
 * names (secrets and addresses), from the settings file, or the default. Throws a permanent Fault `config_invalid` that names the
 * place of an unknown name or an unusable value.
 */
export const collectTexts = (env: NodeJS.ProcessEnv): Map<string, SettingText> => {
  refuseUnknownVariables(env);
  const file = fileValues(env.TIDEMARK_CONFIG);
  const texts = new Map<string, SettingText>();
  for (const definition of settingDefinitions) {
    const found = textOf(definition, env, file);
    if (found === undefined) continue;
    const [wrong] = definition.kind.schema.safeParse(found.text).error?.issues ?? [];
    if (wrong !== undefined) {
      const shown = definition.kind.isSecret ? '' : ` ${JSON.stringify(found.text)}`;
      throw settingFault(
        found.source,
        `the value${shown} ${wrong.message}`,
        `Meaning of the setting: ${definition.meaning}`,
      );
    }
    texts.set(definition.env, found);
  }
  return texts;
};
