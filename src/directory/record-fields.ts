import type { z } from 'zod';

/** What can change a field after its record was created. */
export type Changer =
  /** PATCH of the record itself. */
  | 'patch'
  /** PATCH of the custom report it belongs to. */
  | 'report_patch'
  /** Enabling and disabling. */
  | 'switch'
  | 'delete'
  | 'purge'
  | 'rotate_token'
  /** Any of the changes above. */
  | 'every_change';

type Value = string | number | boolean | null;

/** What a creation that names only a business and a name puts into a field. */
export type FieldDefault<T = Value> =
  | { readonly is: T }
  /** Made of other values: of fields of the creation's answer, in braces. */
  | { readonly template: string }
  /** In words, and how it looks. */
  | { readonly made: string; readonly looks: RegExp };

/** What people have to know of a field besides its type. */
export type FieldFacts = {
  readonly default: FieldDefault;
  /** Empty: fixed at creation. */
  readonly changedBy: readonly Changer[];
  readonly effect: string;
  readonly example: Value;
};

type Declared<T> = { readonly effect: string; readonly changedBy?: readonly Changer[] } & (
  | { readonly default: { readonly is: T }; readonly example?: T }
  | { readonly default: Exclude<FieldDefault, { readonly is: Value }>; readonly example: T }
);

// Not a zod registry: it changes the type of regular expressions.
const facts = new WeakMap<z.core.$ZodType, FieldFacts>();

/** Declares a field of a record: how it is stored, and its facts. The example is the default where none is given. */
export const field = <S extends z.ZodType<Value>>(schema: S, declared: Declared<z.output<S>>): S => {
  const { default: given, changedBy = [], effect } = declared;
  const example = declared.example ?? ('is' in given ? given.is : null);
  facts.set(schema, { default: given, changedBy, effect, example });
  return schema;
};

/** The fields of a record with their facts, in its order. Throws an error for a field that was not declared by `field`. */
export const factsOf = ({ shape }: z.ZodObject): [name: string, facts: FieldFacts][] =>
  Object.entries(shape).map(([name, schema]) => {
    const found = facts.get(schema);
    if (found === undefined) throw new Error(`the field ${name} of a record has no facts`);
    return [name, found];
  });

/**
 * A record as its creation makes it: the given values, and the declared default of every other field. Throws a ZodError where a
 * field has neither.
 */
export const newRecord = <S extends z.ZodObject>(record: S, given: Partial<z.output<S>>): z.output<S> => {
  const defaults = factsOf(record).flatMap(([name, { default: value }]) =>
    'is' in value ? [[name, value.is]] : [],
  );
  return record.parse({ ...Object.fromEntries(defaults), ...given });
};
