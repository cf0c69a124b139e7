import { Fault } from '../../model/fault.ts';
import type { Params } from './reader.ts';

const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

const hex = (character: string): string => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;

/** A text literal of ClickHouse; no text ends it before its last quote. */
export const clickhouseLiteral = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are escaped here.
  `'${text.replaceAll(/[\\'\u0000-\u001f\u007f]/g, (character) => escapes[character] ?? hex(character))}'`;

const integer = /^-?\d{1,20}$/;

const literalOf = (value: Params[string] | undefined, type: string): string => {
  if (type === 'String' && typeof value === 'string') return clickhouseLiteral(value);
  if (type === 'Array(String)' && Array.isArray(value)) return `[${value.map(clickhouseLiteral).join(', ')}]`;
  if (/^(?:U?Int(?:32|64)|DateTime)$/.test(type) && integer.test(String(value))) return String(value);
  throw new Fault('internal', 'parameter_type', `a parameter of type ${type} has another value`);
};

/** The same statement with its values in it, for people to copy. Throws an internal Fault for a value of another type. */
export const inlined = (statement: string, params: Params): string =>
  statement.replaceAll(/\{(\w+):([\w()]+)\}/g, (_, name: string, type: string) =>
    literalOf(Object.hasOwn(params, name) ? params[name] : undefined, type),
  );
