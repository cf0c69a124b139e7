import { z } from 'zod';
import type { SettingKind } from './setting-kinds.ts';

/** One setting: the environment variable, its place in the file, and its effect. */
export type SettingDefinition = {
  readonly env: string;
  readonly key: string;
  readonly kind: SettingKind;
  readonly fallback: string | undefined;
  readonly meaning: string;
};

const declared = new WeakMap<z.core.$ZodType, SettingDefinition>();

/** `TIDEMARK_LOG_LEVEL` is `log_level` in the file; a group's name goes before a dot. */
const keyOf = (env: string): string => env.replace('TIDEMARK_', '').toLowerCase();

/** Makes the settings of one kind: those with a default, and optional ones. */
export const settingsOf = <S extends z.ZodType>(kind: SettingKind<S>) => ({
  setting: (env: string, fallback: string, meaning: string, key = keyOf(env)): S => {
    const schema = kind.schema.clone();
    declared.set(schema, { env, key, kind, fallback, meaning });
    return schema;
  },
  optional: (env: string, meaning: string, key = keyOf(env)): z.ZodType<z.output<S> | undefined> => {
    const schema = kind.schema.optional();
    declared.set(schema, { env, key, kind, fallback: undefined, meaning });
    return schema;
  },
});

/** The settings that an object declares; the key of one within a group has the group's name before a dot. */
export const definitionsIn = ({ shape }: z.ZodObject, group?: string): SettingDefinition[] =>
  Object.entries(shape).flatMap(([name, schema]): SettingDefinition[] => {
    const inFile = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (schema instanceof z.ZodObject) return definitionsIn(schema, inFile);
    const definition = declared.get(schema);
    if (definition === undefined) return [];
    const { key } = definition;
    return [{ ...definition, key: group === undefined ? key : key.replace(`${group}_`, `${group}.`) }];
  });

/** The texts of settings, by their variables' names, in the form that this table parses. */
export const placedTexts = (
  texts: ReadonlyMap<string, { readonly text: string }>,
  { shape }: z.ZodObject,
): object =>
  Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => [
      name,
      schema instanceof z.ZodObject
        ? placedTexts(texts, schema)
        : texts.get(declared.get(schema)?.env ?? '')?.text,
    ]),
  );
