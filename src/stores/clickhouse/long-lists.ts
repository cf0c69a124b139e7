import { clickhouseLiteral } from './literals.ts';

type Values = Readonly<Record<string, unknown>>;

/** ClickHouse takes 128 KiB as the value of a parameter, and 1 MiB as an address, in which a comma is three characters. */
const parameterBytesMax = 2 ** 16;

/** The text of a list of numbers that is too long for a parameter. */
const longList = (value: unknown): string | undefined => {
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'number')) return undefined;
  const text = `[${value.join()}]`;
  return text.length > parameterBytesMax ? text : undefined;
};

/** A statement whose long lists of numbers are literals in it, and the parameters that are left; another one stays as it is. */
export const withLongLists = (
  statement: string,
  params: Values,
): { readonly statement: string; readonly params: Values } => {
  const long = new Map<string, string>();
  for (const [name, value] of Object.entries(params)) {
    const text = longList(value);
    if (text !== undefined) long.set(name, text);
  }
  if (long.size === 0) return { statement, params };
  return {
    statement: statement.replaceAll(
      /\{(\w+):(Array\([^{}]+\))\}/g,
      (parameter, name: string, type: string) => {
        const text = long.get(name);
        return text === undefined ? parameter : `CAST('${text}', ${clickhouseLiteral(type)})`;
      },
    ),
    params: Object.fromEntries(Object.entries(params).filter(([name]) => !long.has(name))),
  };
};
