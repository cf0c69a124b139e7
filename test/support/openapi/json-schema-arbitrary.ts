import fc from 'fast-check';
import { anyText } from '../properties.ts';

type Schema = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const objects = (value: unknown): Schema[] => (Array.isArray(value) ? value.filter(isObject) : []);

/**
 * A placeholder in a generated value: when it is sent, a value replaces it that the service has returned under the same
 * name.
 */
export class Pick {
  readonly name: string;
  readonly index: number;
  readonly fallback: unknown;
  readonly edit: (value: unknown) => unknown;

  constructor(
    name: string,
    index: number,
    fallback: unknown,
    edit: (value: unknown) => unknown = (value) => value,
  ) {
    this.edit = edit;
    this.name = name;
    this.index = index;
    this.fallback = fallback;
  }
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

const integerOf = (schema: Schema): fc.Arbitrary<number> => {
  const over = numberOf(schema['exclusiveMinimum']);
  const min = Math.max(
    numberOf(schema['minimum']) ?? Number.MIN_SAFE_INTEGER,
    over === undefined ? Number.MIN_SAFE_INTEGER : over + 1,
  );
  const max = numberOf(schema['maximum']) ?? Number.MAX_SAFE_INTEGER;
  const near = (value: number): number => Math.min(max, Math.max(min, value));
  return fc.oneof(
    fc.integer({ min: near(-3), max: near(30) }),
    fc.constantFrom(min, max, near(0)),
    fc.integer({ min, max }),
  );
};

/**
 * Tidemark's patterns have a few characters more than their first match: longer texts come from minLength and
 * maxLength.
 */
const textOf = (schema: Schema): fc.Arbitrary<string> => {
  const minLength = numberOf(schema['minLength']) ?? 0;
  const maxLength = numberOf(schema['maxLength']) ?? 300;
  const { pattern } = schema;
  if (typeof pattern === 'string') {
    return fc
      .stringMatching(new RegExp(pattern), { size: 'small' })
      .map((text) => (text.length <= maxLength ? text : text.slice(0, maxLength)));
  }
  const word = fc.string({
    unit: fc.constantFrom(...'abcAB09_-. äß日😀'),
    minLength,
    maxLength: 12 + minLength,
  });
  const long = fc.constantFrom('x', 'ü').map((letter) => letter.repeat(maxLength));
  return fc.oneof({ weight: 6, arbitrary: word }, { weight: 1, arbitrary: long }, anyText(20));
};

type Making = { readonly components: Schema; readonly depth: number };

const objectOf = (schema: Schema, making: Making): fc.Arbitrary<unknown> => {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const fields = Object.entries(properties).flatMap(([name, property]) =>
    isObject(property) ? [[name, field(name, property, making)] as const] : [],
  );
  const names = fields.map(([name]) => name).filter((name) => required.includes(name));
  const known = fc.record(Object.fromEntries(fields), { requiredKeys: names });
  const { additionalProperties: more } = schema;
  if (!isObject(more) || Object.keys(more).length === 0) return known;
  const keys = isObject(schema['propertyNames']) ? textOf(schema['propertyNames']) : fc.string();
  const added = fc.dictionary(keys, madeOf(more, making), { maxKeys: 2 });
  return fc.tuple(known, added).map(([left, right]) => ({ ...right, ...left }));
};

/** A field of that name: often with a value that was seen under it. */
const field = (name: string, schema: Schema, making: Making): fc.Arbitrary<unknown> => {
  const made = madeOf(schema, making);
  const picked = fc.tuple(fc.nat({ max: 1_000 }), made).map(([index, value]) => new Pick(name, index, value));
  return fc.oneof({ weight: 3, arbitrary: made }, { weight: 2, arbitrary: picked });
};

const typedValue = (type: unknown, schema: Schema, making: Making): fc.Arbitrary<unknown> => {
  if (type === 'integer') return integerOf(schema);
  if (type === 'number') return fc.double({ noNaN: true, noDefaultInfinity: true });
  if (type === 'boolean') return fc.boolean();
  if (type === 'null') return fc.constant(null);
  if (type === 'string') return textOf(schema);
  if (type === 'array') {
    const items = isObject(schema['items']) ? schema['items'] : {};
    return making.depth > 4 ? fc.constant([]) : fc.array(madeOf(items, making), { maxLength: 3 });
  }
  if (type === 'object') return objectOf(schema, making);
  return fc.jsonValue({ maxDepth: 2 });
};

const madeOf = (given: Schema, outer: Making): fc.Arbitrary<unknown> => {
  const making = { ...outer, depth: outer.depth + 1 };
  const name = String(given['$ref'] ?? '').replace('#/components/schemas/', '');
  const named = making.components[name];
  const schema = isObject(named) ? named : given;
  if (schema['const'] !== undefined) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...schema['enum']);
  const choices = [...objects(schema['anyOf']), ...objects(schema['oneOf'])];
  if (choices.length > 0) return fc.oneof(...choices.map((choice) => madeOf(choice, making)));
  const types = Array.isArray(schema['type']) ? schema['type'] : [schema['type']];
  return fc.oneof(...types.map((type) => typedValue(type, schema, making)));
};

/** Values that a schema of an OpenAPI document allows, with a `Pick` here and there for any field. */
export const valuesOf = (schema: Schema, components: Schema): fc.Arbitrary<unknown> =>
  madeOf(schema, { components, depth: 0 });

const deep = (depth: number): unknown => {
  let value: unknown = 'bottom';
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { deeper: value };
  return value;
};

/** Values at which no field should fail: other types, bounds and beyond, odd text, nesting. */
const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    '',
    ' ',
    [],
    {},
    [null],
    { $ref: '#' },
    '\u0000',
    'a\u0000b',
    '\u2028',
  ),
  fc.constantFrom(0, -1, 0.5, -0.1, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 2 ** 63, -(2 ** 63), 1e21, 1e308),
  fc.constantFrom(
    '\ud800',
    '\u202e',
    '💥'.repeat(200),
    'x'.repeat(20_000),
    '../../..',
    "'; DROP",
    '%00',
    '*',
    '>',
    '.',
  ),
  fc.constantFrom(5, 40, 900).map(deep),
  anyText(30),
  fc.jsonValue({ maxDepth: 3 }),
);

const oddName = fc.constantFrom(
  '__proto__',
  'constructor',
  'toString',
  'nmae',
  '',
  'id',
  'token',
  'state',
  '\u0000',
  '$ref',
);

const replaced = (value: unknown, at: number, odd: unknown): unknown => {
  if (!isObject(value) || value instanceof Pick) return odd;
  const names = Object.keys(value);
  const name = names[at % Math.max(1, names.length)];
  if (name === undefined) return odd;
  const inner = value[name];
  const isInside = isObject(inner) && !(inner instanceof Pick) && at % 3 !== 0;
  return { ...value, [name]: isInside ? replaced(inner, Math.floor(at / 3), odd) : odd };
};

const withField = (value: unknown, name: string, odd: unknown): unknown =>
  isObject(value) && !(value instanceof Pick)
    ? Object.fromEntries([...Object.entries(value), [name, odd]])
    : odd;

const without = (value: unknown, at: number): unknown => {
  if (!isObject(value) || value instanceof Pick) return undefined;
  const names = Object.keys(value);
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== names[at % names.length]));
};

/** Values of `valid` with one thing wrong: another type, a field more, a field less, or something else altogether. */
export const mutantsOf = (valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(valid, fc.nat({ max: 99 }), oddValue).map((parts) => replaced(...parts)),
    },
    { weight: 2, arbitrary: fc.tuple(valid, oddName, oddValue).map((parts) => withField(...parts)) },
    { weight: 2, arbitrary: fc.tuple(valid, fc.nat({ max: 99 })).map((parts) => without(...parts)) },
    { weight: 1, arbitrary: oddValue },
  );

/** A change of one field, at any depth, to something odd. */
export const oddEdits: fc.Arbitrary<(value: unknown) => unknown> = fc
  .tuple(fc.nat({ max: 99_999 }), oddValue)
  .map(
    ([at, odd]) =>
      (value: unknown) =>
        replaced(value, at, odd),
  );
