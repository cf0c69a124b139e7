import type { Params } from '../../stores/clickhouse/reader.ts';

// Parts of statements on the tables of an application's items.

/** A statement and the values of its `{name:Type}`. */
export type Statement = { readonly sql: string; readonly params: Params };

/** A condition and its values. */
export type Part = readonly [sql: string, params: Params];

/** An attribute that has exactly this value. */
export type AttributeMatch = { readonly key: string; readonly value: string };

/** Nanoseconds since 1970. */
export const nanosOf = (seconds: number): bigint => BigInt(seconds) * 1_000_000_000n;

export const periodPart = (since: bigint, until: bigint): Part => [
  'Timestamp >= fromUnixTimestamp64Nano({since:Int64}) AND Timestamp < fromUnixTimestamp64Nano({until:Int64})',
  { since: String(since), until: String(until) },
];

/** Items of one application, or of all without these. */
export type Applications = { readonly only: number } | { readonly without: readonly number[] };

export const appParts = (applications: Applications): Part[] =>
  'only' in applications
    ? [['AppId = {app:Int64}', { app: String(applications.only) }]]
    : applications.without.map((id, index) => [
        `AppId != {app${index}:Int64}`,
        { [`app${index}`]: String(id) },
      ]);

/** `columnOf`: the map in which an attribute is looked for. */
export const attributeParts = <A extends AttributeMatch>(
  attributes: readonly A[],
  columnOf: (attribute: A) => string,
): Part[] =>
  attributes.map((attribute, index) => {
    const name = columnOf(attribute);
    return [
      // A missing key reads like an empty value.
      `mapContains(${name}, {key${index}:String}) AND ${name}[{key${index}:String}] = {value${index}:String}`,
      { [`key${index}`]: attribute.key, [`value${index}`]: attribute.value },
    ];
  });

/** A query whose rows fulfil all conditions; `more` are values of the text before and after these. */
export const statement = (
  before: string,
  conditions: readonly Part[],
  after: string,
  more: Params = {},
): Statement => ({
  sql: `${before}${conditions.length === 0 ? '' : ` WHERE ${conditions.map(([sql]) => sql).join(' AND ')}`}${after}`,
  params: Object.assign({}, ...conditions.map(([, params]) => params), more),
});

/** A map as two columns, `<name>_keys` and `<name>_values`. */
export const pairs = (column: string, name: string): string =>
  `mapKeys(${column}) AS ${name}_keys, mapValues(${column}) AS ${name}_values`;
