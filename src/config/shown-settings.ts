import type { SettingDefinition } from './setting-declarations.ts';
import { settingDefinitions } from './setting-definitions.ts';
import { kinds, parseInstances } from './setting-kinds.ts';
import { collectTexts } from './setting-texts.ts';

/** A setting for people: secrets hidden, null where it has no value. `source` is its variable, its place in the file, or `default`. */
export type ShownSetting = {
  readonly setting: string;
  readonly value: string | null;
  readonly source: string;
};

const hidden = '***';

const shownAddress = (text: string): string => {
  const url = new URL(text);
  if (url.username !== '') url.username = hidden;
  if (url.password !== '') url.password = hidden;
  // Some services take their key there.
  if (url.search !== '') url.search = hidden;
  return url.href;
};

/** Addresses with their users and passwords hidden, any other secret hidden whole. */
const shownText = ({ kind }: SettingDefinition, text: string): string => {
  if (!kind.isSecret) return text;
  if (kind === kinds.secret || kind === kinds.headerSecret) return hidden;
  if (kind === kinds.instances)
    return parseInstances(text)
      .map(({ name, url }) => `${name}=${shownAddress(url)}`)
      .join();
  return text.split(',').map(shownAddress).join();
};

/** Every setting that this environment gives, with its source. Throws the Faults of `collectTexts`. */
export const shownSettings = (env: NodeJS.ProcessEnv): ShownSetting[] => {
  const texts = collectTexts(env);
  return settingDefinitions.map((definition) => {
    const found = texts.get(definition.env);
    if (found === undefined) return { setting: definition.env, value: null, source: 'not set' };
    return { setting: definition.env, value: shownText(definition, found.text), source: found.source };
  });
};
