import { type Notes, wholeNumber } from './json-fields.ts';
import type { Json } from './json-text.ts';
import { depthMax, noText, type PlainAttribute, type PlainFault, type PlainValue } from './model.ts';

/** A value, or the last of it that could be read, and whether all of it is what OTLP allows. */
type Read = { readonly value: PlainValue; readonly isValid: boolean };

const none: PlainValue = { kind: 'none' };
const invalid: Read = { value: none, isValid: false };

const kinds = [
  'stringValue',
  'boolValue',
  'intValue',
  'doubleValue',
  'bytesValue',
  'arrayValue',
  'kvlistValue',
] as const;

/** AnyValue; of several kinds the last that is not null. `depth` counts the arrays and lists around it. */
const readAny = (json: Json, notes: Notes, depth: number): Read => {
  if (json.type === 'null') return { value: none, isValid: true };
  if (json.type !== 'object') return invalid;
  let value: PlainValue = none;
  let isValid = true;
  for (const [kind, content] of notes.members(json, kinds)) {
    if (content.type === 'null') continue;
    const read = readKind(kind, content, notes, depth);
    if (read.isValid) value = read.value;
    else isValid = false;
  }
  return { value, isValid };
};

const readKind = (kind: (typeof kinds)[number], json: Json, notes: Notes, depth: number): Read => {
  const valid = (value: PlainValue): Read => ({ value, isValid: true });
  if (kind === 'arrayValue' || kind === 'kvlistValue') {
    if (depth === depthMax) return valid({ kind: 'cut' });
    return kind === 'arrayValue' ? readArray(json, notes, depth + 1) : readList(json, notes, depth + 1);
  }
  if (kind === 'stringValue')
    return json.type === 'string' ? valid({ kind: 'string', text: Buffer.from(json.text) }) : invalid;
  if (kind === 'boolValue') {
    if (json.type !== 'true' && json.type !== 'false') return invalid;
    return valid({ kind: 'bool', value: json.type === 'true' });
  }
  if (kind === 'intValue') return readInteger(json, notes);
  if (kind === 'doubleValue') return readDouble(json);
  if (json.type !== 'string') return invalid;
  const digits = json.text.replace(/={0,2}$/, '');
  if (!/^[\w+/-]*$/.test(digits) || digits.length % 4 === 1) return invalid;
  return valid({ kind: 'bytes', bytes: Buffer.from(digits, 'base64') });
};

const readInteger = (json: Json, notes: Notes): Read => {
  let digits: string | undefined;
  if (json.type === 'number') digits = wholeNumber(json.source);
  else if (json.type === 'string' && /^-?\d{1,40}$/.test(json.text)) digits = json.text;
  if (digits === undefined) return invalid;
  const value = BigInt(digits);
  if (BigInt.asIntN(64, value) !== value) notes.forgive('int_out_of_range');
  return { value: { kind: 'int', value }, isValid: true };
};

/** A double as a number or as text; undefined for anything else, and for digits beyond its range. */
export const doubleIn = (json: Json): number | undefined => {
  if (json.type !== 'number' && json.type !== 'string') return undefined;
  const text = json.type === 'string' ? json.text : json.source;
  if (json.type === 'string' && ['NaN', 'Infinity', '-Infinity'].includes(text)) return Number(text);
  if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return undefined;
  const value = Number(text);
  return Math.abs(value) <= Number.MAX_VALUE ? value : undefined;
};

const readDouble = (json: Json): Read => {
  const valid = (value: number): Read => ({ value: { kind: 'double', value }, isValid: true });
  const value = doubleIn(json);
  return value === undefined ? invalid : valid(value);
};

/** AnyValue, and whether all of it is what OTLP allows. */
export const anyField = (json: Json, notes: Notes): Read => readAny(json, notes, 0);

/** The items of {values}; undefined when it is something else. */
const itemsOf = (json: Json, notes: Notes): readonly Json[] | undefined => {
  if (json.type !== 'object') return undefined;
  const [[, values] = []] = notes.members(json, ['values']);
  if (values === undefined || values.type === 'null') return [];
  return values.type === 'array' ? values.items : undefined;
};

const readArray = (json: Json, notes: Notes, depth: number): Read => {
  const items = itemsOf(json, notes)?.map((item) => readAny(item, notes, depth));
  if (items === undefined) return invalid;
  return {
    value: { kind: 'array', values: items.map(({ value }) => value) },
    isValid: items.every(({ isValid }) => isValid),
  };
};

const readList = (json: Json, notes: Notes, depth: number): Read => {
  const faults: PlainFault[] = [];
  const items = itemsOf(json, notes);
  const entries = items?.flatMap((item) => readAttribute(item, notes, faults, '', depth));
  if (entries === undefined) return invalid;
  return { value: { kind: 'kvlist', entries }, isValid: faults.length === 0 };
};

/** A KeyValue; none, and a fault, when it is no object. */
const readAttribute = (
  json: Json,
  notes: Notes,
  faults: PlainFault[],
  field: string,
  depth: number,
): PlainAttribute[] => {
  const fault = (at: string): void => void faults.push({ reason: 'attribute_invalid', field: at });
  if (json.type !== 'object') {
    fault(field);
    return [];
  }
  let key = noText;
  let value: PlainValue = none;
  for (const [name, content] of notes.members(json, ['key', 'value'])) {
    if (name === 'value') {
      const read = readAny(content, notes, depth);
      value = read.value;
      if (!read.isValid) fault(`${field}.value`);
    } else if (content.type === 'string') key = Buffer.from(content.text);
    else if (content.type !== 'null') fault(`${field}.key`);
  }
  return [{ key, value }];
};

export const attributesField = (
  json: Json,
  notes: Notes,
  faults: PlainFault[],
  field: string,
): PlainAttribute[] => {
  if (json.type === 'array')
    return json.items.flatMap((item, index) => readAttribute(item, notes, faults, `${field}[${index}]`, 0));
  if (json.type !== 'null') faults.push({ reason: 'attribute_invalid', field });
  return [];
};
