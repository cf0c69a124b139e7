import type { Leniency } from '../../../../src/wire/otlp/types.ts';
import type { Json } from './json-text.ts';
import { forgive, idOf, noText, type PlainFault, type PlainId, type PlainTime, type Text } from './model.ts';

/** What is noted while a request in JSON is decoded. */
export class Notes {
  readonly leniencies = new Map<Leniency, number>();
  hasRepeats = false;

  forgive(kind: Leniency): void {
    forgive(this.leniencies, kind);
  }

  /** The members of an object that have these names, in camelCase or snake_case; of one that comes twice the last, where it stands. */
  members<Name extends string>(object: Json, names: readonly Name[]): [Name, Json][] {
    const found: { name: Name; isSnake: boolean; value: Json }[] = [];
    for (const [sent, value] of object.type === 'object' ? object.members : []) {
      const name = names.find((each) => each === sent || snake(each) === sent);
      if (name !== undefined) found.push({ name, isSnake: name !== sent, value });
    }
    const last = found.filter(
      ({ name }, index) => !found.slice(index + 1).some((later) => later.name === name),
    );
    if (last.length < found.length) this.hasRepeats = true;
    for (const { isSnake } of last) if (isSnake) this.forgive('snake_case');
    return last.map(({ name, value }) => [name, value]);
  }
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The digits of a JSON number that is whole, however it is written; undefined when it is not, or larger than any double. */
export const wholeNumber = (source: string): string | undefined => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = BigInt(whole + fraction);
  if (source.length > 400 || exponent.replace(/^[+-]/, '').length > 4) return undefined;
  if (digits === 0n) return '0';
  const shift = Number(exponent) - fraction.length;
  if (Math.abs(shift) > 400) return undefined;
  const scale = 10n ** BigInt(Math.abs(shift));
  if (shift < 0 && digits % scale !== 0n) return undefined;
  const value = String(shift < 0 ? digits / scale : digits * scale);
  return value.length > 400 ? undefined : sign + value;
};

/** A field of text; null is as good as absent. */
export const textField = (value: Json, faults: PlainFault[], field: string): Text => {
  if (value.type === 'string') return Buffer.from(value.text);
  if (value.type !== 'null') faults.push({ reason: 'span_field_invalid', field });
  return noText;
};

export const idField = (value: Json, bytes: number): PlainId => {
  if (value.type === 'null') return 'absent';
  if (value.type !== 'string') return 'wrong';
  if (value.text !== '' && !/^[0-9a-fA-F]*$/.test(value.text)) return 'wrong';
  return idOf(value.text.toLowerCase(), bytes);
};

/** An enum by number or by name, with or without its prefix. */
export const enumField = (
  value: Json,
  names: readonly string[],
  notes: Notes,
  faults: PlainFault[],
  field: string,
): number | undefined => {
  if (value.type === 'null') return 0;
  let text: string | undefined;
  if (value.type === 'string') {
    notes.forgive('enum_name');
    text = value.text.toUpperCase().replace(/^(SPAN_KIND|STATUS_CODE)_/, '');
  } else if (value.type === 'number') text = wholeNumber(value.source);
  if (text === undefined) {
    faults.push({ reason: 'span_field_invalid', field });
    return 0;
  }
  const number = names.findIndex((name, index) => name.toUpperCase() === text || String(index) === text);
  if (number >= 0) return number;
  notes.forgive('enum_unknown');
  return undefined;
};

/** Nanoseconds in a string, as a number, or in the halves {low, high}; null is none. */
export const timeField = (value: Json, notes: Notes): PlainTime => {
  if (value.type === 'null') return undefined;
  if (value.type === 'string') return value.text;
  if (value.type === 'number') {
    notes.forgive('number_64');
    return /^\d{1,40}$/.test(value.source) ? value.source : (wholeNumber(value.source) ?? value.source);
  }
  const halves = new Map<string, bigint>();
  for (const [name, half] of notes.members(value, ['low', 'high'])) {
    if (half.type === 'number' && /^-?\d{1,10}$/.test(half.source)) halves.set(name, BigInt(half.source));
  }
  const low = halves.get('low');
  const high = halves.get('high');
  const isHalf = (half: bigint): boolean => half >= -(2n ** 31n) && half < 2n ** 32n;
  if (low === undefined || high === undefined || !isHalf(low) || !isHalf(high)) return value.source;
  notes.forgive('low_high');
  return (BigInt.asUintN(32, high) << 32n) | BigInt.asUintN(32, low);
};
