import type { OtlpRequest } from '../protobuf.ts';
import { damaged, pick, type Random, rateOf, shuffled, withDeepValues } from './mutations.ts';

const deep = (depth: number): string =>
  depth === 0 ? '{"intValue":7}' : `{"arrayValue":{"values":[${deep(depth - 1)}]}}`;

/** What may stand anywhere, and seldom belongs there. */
const odd: readonly [string, ...string[]] = [
  ...([
    'null',
    'null',
    'null',
    '5',
    '-0',
    '"x"',
    '""',
    '[]',
    '{}',
    'true',
    '1.5',
    '[null]',
    '1e400',
  ] as const),
  ...['"\\ud800"', '{"low":1}', '[[[[]]]]', '"\\u0030\\u0031"', '1'.repeat(500), '{"intValue":"5"}'],
  ...[
    deep(31),
    deep(32),
    deep(40),
    `${deep(40).slice(0, -1)},"boolValue":true}`,
    '{"stringValue":"a","intValue":6}',
  ],
];

const spaces = (random: Random): string => (random(25) === 0 ? pick(random, [' ', '\n', '\t \r\n']) : '');

const escaped = (text: string, random: Random): string => {
  const literal = JSON.stringify(text);
  if (random(12) > 0) return literal;
  let units = '';
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const isPlain = random(2) === 0 && code >= 0x20 && code < 0x7f && code !== 0x22 && code !== 0x5c;
    units += isPlain ? text.charAt(at) : `\\u${code.toString(16).padStart(4, '0')}`;
  }
  return `"${units}"`;
};

const halves = (decimal: string, random: Random): string => {
  const value = BigInt.asUintN(64, BigInt(decimal));
  const low = random(2) === 0 ? BigInt.asIntN(32, value) : BigInt.asUintN(32, value);
  const members = [`"low":${low}`, `"high":${value >> 32n}`];
  return `{${shuffled(random, [...members, ...(random(2) === 0 ? ['"unsigned":true'] : [])]).join(',')}}`;
};

/** A whole number in one of the ways that senders write 64 bits. */
const spelled = (decimal: string, random: Random): string => {
  const bare = decimal.replace(/^(-?)0+(?=\d)/, '$1');
  const way = random(10);
  if (way === 0) return bare;
  if (way === 1) return `${bare}.0`;
  if (way === 2) return `${bare}00e-2`;
  if (way === 3) return `${bare.slice(0, -1)}.${bare.slice(-1)}E+1`.replace(/^(-?)\./, '$10.');
  if (way === 4) return halves(decimal, random);
  if (way === 5) return `"${decimal}N"`;
  if (way === 6) return `"0${decimal}"`;
  return `"${decimal}"`;
};

const enumNames: Record<string, readonly [string, ...string[]]> = {
  kind: ['SPAN_KIND_SERVER', 'client', 'SPAN_KIND_NONE', '3', 'STATUS_CODE_INTERNAL'],
  severityNumber: ['SEVERITY_NUMBER_WARN2', 'fatal4', 'Unspecified', '255', '256', '09', 'NONE'],
  code: ['STATUS_CODE_ERROR', 'ok', 'Unset', '2', '9'],
};

const scalar = (value: unknown, name: string, random: Random): string => {
  if (typeof value === 'string' && /UnixNano$|^intValue$/.test(name)) return spelled(value, random);
  if (typeof value === 'string' && /Id$/.test(name) && random(4) === 0) return `"${value.toUpperCase()}"`;
  const names = enumNames[name];
  if (typeof value === 'number' && names !== undefined && random(4) === 0)
    return random(3) === 0 ? `${value}.0` : `"${pick(random, names)}"`;
  return typeof value === 'string' ? escaped(value, random) : (JSON.stringify(value) ?? 'null');
};

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const member = (name: string, value: string, random: Random): string => {
  const sent = random(30) === 0 ? snake(name) : name;
  return `${spaces(random)}${escaped(sent, random)}${spaces(random)}:${spaces(random)}${value}${spaces(random)}`;
};

const members = ([name, value]: [string, unknown], random: Random, rate: number): string[] => {
  const text = print(value, name, random, rate);
  const chance = random(2 * rate);
  if (chance === 0) return [];
  if (chance === 1) return [member(name, pick(random, odd), random)];
  if (chance === 2) return [member(name, pick(random, odd), random), member(name, text, random)];
  if (chance === 3)
    return [member(name, text, random), member(snake(name), print(value, name, random, rate), random)];
  if (chance === 4)
    return [
      member(pick(random, ['', 'x', 'spanid', '__proto__']), pick(random, odd), random),
      member(name, text, random),
    ];
  return [member(name, text, random)];
};

const print = (value: unknown, name: string, random: Random, rate: number): string => {
  if (Array.isArray(value)) {
    const items = value.map((item) =>
      random(4 * rate) === 0 ? pick(random, odd) : print(item, '', random, rate),
    );
    return `[${spaces(random)}${items.join(`${spaces(random)},${spaces(random)}`)}${spaces(random)}]`;
  }
  if (typeof value !== 'object' || value === null) return scalar(value, name, random);
  const all = Object.entries(value).flatMap((entry) => members(entry, random, rate));
  return `{${spaces(random)}${(random(8) === 0 ? shuffled(random, all) : all).join(',')}}`;
};

/** The request in JSON as no exporter would write all of it: mostly forgiven, sometimes broken. */
export const mutatedJson = (request: OtlpRequest, random: Random): Buffer =>
  mutatedText(withDeepValues(request, random), random);

/** The same of a request of any signal. */
export const mutatedText = (request: object, random: Random): Buffer => {
  const written = Buffer.from(print(request, '', random, rateOf(random)));
  return random(6) === 0 ? damaged(written, random) : written;
};
