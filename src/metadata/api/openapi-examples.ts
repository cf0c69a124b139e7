type Schema = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const componentPrefix = '#/components/schemas/';

const resolved = (schema: Schema, components: Schema): Schema => {
  const name = String(schema['$ref'] ?? '').replace(componentPrefix, '');
  const target = components[name];
  return isObject(target) ? target : schema;
};

const exampleOfNumber = ({ minimum, exclusiveMinimum }: Schema): number => {
  if (typeof exclusiveMinimum === 'number') return exclusiveMinimum + 1;
  return typeof minimum === 'number' ? minimum : 0;
};

const exampleOfType = (type: unknown, schema: Schema): unknown => {
  if (type === 'integer' || type === 'number') return exampleOfNumber(schema);
  if (type === 'boolean') return false;
  if (type === 'string') return 'text';
  return null;
};

/** The required fields, and those with examples of their own. */
const exampleOfObject = (schema: Schema, components: Schema): Record<string, unknown> => {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = listOf(schema['required']);
  const shown = Object.entries(properties).filter(
    (entry): entry is [string, Schema] =>
      isObject(entry[1]) && (required.includes(entry[0]) || listOf(entry[1]['examples']).length > 0),
  );
  return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property, components)]));
};

/**
 * A value that a schema of the document allows: its own first example, else its default or first choice, else one made from its
 * parts. A text with a pattern needs an example of its own.
 */
export const exampleOf = (schema: Schema, components: Schema): unknown => {
  const target = resolved(schema, components);
  const [given] = listOf(target['examples']);
  if (given !== undefined) return given;
  if (target['default'] !== undefined) return target['default'];
  if (target['const'] !== undefined) return target['const'];
  const [choice] = listOf(target['enum']);
  if (choice !== undefined) return choice;
  const [alternative] = [...listOf(target['anyOf']), ...listOf(target['oneOf'])];
  if (isObject(alternative)) return exampleOf(alternative, components);
  const type = listOf(target['type'])[0] ?? target['type'];
  if (type === 'object') return exampleOfObject(target, components);
  if (type === 'array') return isObject(target['items']) ? [exampleOf(target['items'], components)] : [];
  return exampleOfType(type, target);
};
