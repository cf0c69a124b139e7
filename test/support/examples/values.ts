/** JSON text that is written as it is. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What `$names` in a case stand for while it runs: a value by name (`token`) or of another source (`token.other`). */
export type Lookup = (name: string, of: string) => unknown;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const expression = /^([a-z_]+)(?:\.([a-z_]+))?(?:([+-])(\d+|[a-z_]+?)(ns|ms|s|m|h|d)?)?$/;

/** A whole string that is a name, and names in parentheses within a longer one. */
const whole = /^\$([a-z_][^\s()$]*)$/;
const within = /\$\(([^()]*)\)/g;

/** Adds to a number, or to decimal text of nanoseconds. */
const shifted = (value: unknown, by: number, unit: string | undefined): unknown => {
  if (typeof value === 'string') {
    const nanos = unit === 'ns' || unit === undefined ? 1n : BigInt(unitMs[unit] ?? 1) * 1_000_000n;
    return String(BigInt(value) + BigInt(by) * nanos);
  }
  return Number(value) + by * (unit === undefined ? 1 : (unitMs[unit] ?? 1));
};

const evaluate = (text: string, lookup: Lookup): unknown => {
  const [, name, of = 'own', sign, amount, unit] = expression.exec(text) ?? [];
  if (name === undefined) throw new Error(`$${text} is not understood`);
  const value = lookup(name, of);
  if (amount === undefined) return value;
  const by = Number(/^\d/.test(amount) ? amount : lookup(amount, 'own'));
  return shifted(value, sign === '-' ? -by : by, unit);
};

const shown = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

const inText = (text: string, lookup: Lookup): string =>
  text.replace(within, (_, inner: string) => shown(evaluate(inner, lookup)));

const textOf = (text: string, lookup: Lookup): unknown => {
  const name = whole.exec(text)?.[1];
  return name === undefined ? inText(text, lookup) : evaluate(name, lookup);
};

const withIndex =
  (index: number, lookup: Lookup): Lookup =>
  (name, of) =>
    name === 'index' ? index : lookup(name, of);

type Generator = (form: Record<string, unknown>, lookup: Lookup) => unknown;

const timesOf = (form: Record<string, unknown>): number => Number(form['times']);

/** What an object with one of these keys becomes. */
const generators: Readonly<Record<string, Generator>> = {
  $repeat: (form, lookup) => String(fill(form['$repeat'], lookup)).repeat(timesOf(form)),
  $concat: (form, lookup) => {
    const parts = fill(form['$concat'], lookup);
    return Array.isArray(parts) ? parts.join('') : String(parts);
  },
  $list: (form, lookup) =>
    Array.from({ length: timesOf(form) }, (_, index) => fill(form['$list'], withIndex(index, lookup))),
  $fields: (form, lookup) =>
    Object.fromEntries([
      ...Array.from({ length: timesOf(form) }, (_, step) => {
        const index = step + Number(form['from'] ?? 0);
        const filled = fill(form['$fields'], withIndex(index, lookup));
        return isObject(filled) ? Object.entries(filled) : [];
      }).flat(),
      ...Object.entries(Object(fill(form['and'] ?? {}, lookup))),
    ]),
  $json: (form, lookup) => jsonText(fill(form['$json'], lookup)),
  $raw: (form, lookup) => new RawJson(String(fill(form['$raw'], lookup))),
};

/** The value with its names and generators replaced. Throws where a name is not known. */
export const fill = (value: unknown, lookup: Lookup): unknown => {
  if (typeof value === 'string') return textOf(value, lookup);
  if (Array.isArray(value)) return value.map((item) => fill(item, lookup));
  if (!isObject(value)) return value;
  for (const [key, generate] of Object.entries(generators)) {
    if (Object.hasOwn(value, key)) return generate(value, lookup);
  }
  // fromEntries defines its keys, so that one called __proto__ is a key like any other.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [inText(key, lookup), fill(item, lookup)]),
  );
};

const walk = (value: unknown, variables: Readonly<Record<string, unknown>>): unknown => {
  const replaced = (text: string): string =>
    text.replace(within, (all, inner: string) =>
      Object.hasOwn(variables, inner) ? shown(variables[inner]) : all,
    );
  if (typeof value === 'string') {
    const name = whole.exec(value)?.[1];
    return name !== undefined && Object.hasOwn(variables, name) ? variables[name] : replaced(value);
  }
  if (Array.isArray(value)) return value.map((item) => walk(item, variables));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [replaced(key), walk(item, variables)]),
  );
};

/** A form with the variables of one row in their places; every other name stays for the run. */
export const fillVariables = (
  form: object,
  variables: Readonly<Record<string, unknown>>,
): Record<string, unknown> => Object(walk(form, variables));

/** JSON as a sender writes it: NaN and infinities stand bare, what is absent is left out. */
export const jsonText = (value: unknown): string => {
  if (value instanceof RawJson) return value.text;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${jsonText(item)}`).join(',')}}`;
};
