import { pick, type Random, shuffled } from '../support/otlp/plain/mutations.ts';

const nested = (depth: number, open: string, close: string): string =>
  `${open.repeat(depth)}1${close.repeat(depth)}`;

/** An object of many keys; some engines keep keys that are numbers apart. */
const manyKeys = (random: Random): string => {
  const prefix = pick(random, ['k', '', '__proto__', 'é']);
  return `{${Array.from({ length: random(700) }, (_, index) => `"${prefix}${index}":${index}`).join(',')}}`;
};

const longNumber = (random: Random): string => {
  const digits = '9'.repeat(1 + random(400));
  return pick(random, [digits, `-${digits}`, `0.${digits}`, `1e${digits.slice(0, 5)}`, `${digits}e-300`]);
};

const oddValues: readonly [string, ...string[]] = [
  ...(['null', 'true', 'false', '0', '-0', '5', '1.5', '1e400', '-1e400', '1e-400', '""', '"x"'] as const),
  ...['[]', '{}', '[null]', '{"a":1}', '"\\ud800"', '"\\u0000"', '"\u2028"', '[[[[1]]]]', '9007199254740993'],
  ...['NaN', 'Infinity', '-Infinity', '"NaN"', '{"NaN":NaN}', '[NaN,-Infinity]'],
];

/** A value that seldom belongs where it is put. */
export const oddValue = (random: Random): string => {
  if (random(60) === 0) return pick(random, ['-NaN', '1NaN', 'nan', '+1', '01', '--Infinity']);
  if (random(6) > 0) return pick(random, oddValues);
  return pick(random, [
    () => nested(1 + random(200), '[', ']'),
    () => nested(1 + random(60), '{"a":', '}'),
    () => nested(2000 + random(8000), '[', ']'),
    () => manyKeys(random),
    () => longNumber(random),
    () => `"${'n'.repeat(random(3000))}"`,
    () => `"${'\\u00e9\\n'.repeat(random(100))}"`,
  ])();
};

const oddKeys = ['', 'x', '__proto__', 'constructor', 'toString', '0', '4294967294', 'NaN', 'n'.repeat(101)];

const space = (random: Random): string => (random(20) === 0 ? pick(random, [' ', '\n', '\t\r ']) : '');

const literal = (text: string, random: Random): string => {
  if (random(20) > 0) return JSON.stringify(text);
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
};

const member = (name: string, value: string, random: Random): string =>
  `${space(random)}${literal(name, random)}${space(random)}:${space(random)}${value}`;

const members = ([name, value]: [string, unknown], random: Random, rate: number): string[] => {
  const same = member(name, printJson(value, random, rate), random);
  const chance = random(2 * rate);
  if (chance === 0) return [];
  if (chance === 1) return [member(name, oddValue(random), random)];
  if (chance === 2) return [member(name, oddValue(random), random), same];
  if (chance === 3) return [same, member(name, oddValue(random), random)];
  if (chance === 4) return [member(oddKeys[random(oddKeys.length)] ?? '', oddValue(random), random), same];
  if (chance === 5) return [member(`${name}${random(10)}`, printJson(value, random, rate), random)];
  return [same];
};

/** The value as JSON text with members and items left out, repeated, exchanged and added: about one in `rate` of them. */
export const printJson = (value: unknown, random: Random, rate: number): string => {
  if (Array.isArray(value)) {
    const items = value.flatMap((item) => {
      const chance = random(4 * rate);
      if (chance === 0) return [];
      if (chance === 1) return [oddValue(random)];
      const text = printJson(item, random, rate);
      return chance === 2 ? [text, text] : [text];
    });
    return `[${items.join(`${space(random)},`)}${space(random)}]`;
  }
  if (typeof value !== 'object' || value === null)
    return typeof value === 'string' ? literal(value, random) : (JSON.stringify(value) ?? 'null');
  const all = Object.entries(value).flatMap((entry) => members(entry, random, rate));
  return `{${(random(8) === 0 ? shuffled(random, all) : all).join(',')}${space(random)}}`;
};

/** How deep objects and arrays of a text are nested, whether it is JSON or not. */
export const depthOf = (text: string): number => {
  let depth = 0;
  let deepest = 0;
  for (const character of text.replace(/"(?:[^"\\]|\\.)*"/gs, '')) {
    if (character === '[' || character === '{') deepest = Math.max(deepest, ++depth);
    else if (character === ']' || character === '}') depth--;
  }
  return deepest;
};

/** No sender nests deeper, and second opinions, which nest calls, do not follow there. */
export const depthSafe = 500;
