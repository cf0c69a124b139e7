import { nanosAt } from '../trace-source.ts';
import { damaged, pick, type Random } from './mutations.ts';

/** Keys that begin alike, or are alike where a reader might look first; the last is written with an escape. */
const keys = [
  ...(['a', 'ab', 'é', 'http.route', 'http.request.method', 'messaging.destination.name'] as const),
  ...['messaging.destination.kind', 'messaging.destination.name2', 'k8s.pod.uid', '', 'x\\u0061'],
] as const;

/** Texts as they stand between quotes: some go on where others end, some look like what follows a text. */
const texts = [
  ...(['', 'GET', 'GETS', 'GET /', 'G', '10.0.0.1', '10.0.0.12', 'é', 'éé', 'x'.repeat(70)] as const),
  ...['x'.repeat(71), `${'x'.repeat(69)}y`, 'GET\\"}}', 'GET}}', '\\u0047ET', 'GET\\\\', 'GET\u007f'],
] as const;

const integers = [
  ...(['0', '5', '50', '500', '-5', '"5"', '"50"', '"-50"', '"0"', '5.0', '5e1'] as const),
  ...['999999999999999999', '"9999999999999999999"', 'null', 'true', '{}'],
] as const;

const values = (random: Random): string => {
  const kind = random(12);
  if (kind < 7) return `{"stringValue":"${pick(random, texts)}"}`;
  if (kind < 10 && random(60) === 0) return `{"intValue":${pick(random, ['05', '"5', '-', '5x'])}}`;
  if (kind < 10) return `{"intValue":${pick(random, integers)}}`;
  return pick(random, [
    '{"boolValue":true}',
    '{"stringValue":"GET","intValue":5}',
    '{"stringValue": "GET"}',
    '{"stringValue":null}',
    '{"string_value":"GET"}',
    '{"stringValue":"GET","stringValue":"G"}',
    '{"doubleValue":0.5}',
    'null',
    '"GET"',
  ]);
};

const attribute = (random: Random): string => {
  const key = pick(random, keys);
  const value = values(random);
  const way = random(40);
  if (way === 0) return `{"value":${value},"key":"${key}"}`;
  if (way === 1) return ` {"key":"${key}","value":${value}}`;
  if (way === 2) return `{"key":"${key}","value":${value} }`;
  if (way === 3) return `{"key":"${key}","value":${value},"more":1}`;
  if (way === 4) return `{"key":"${key}"}`;
  return `{"key":"${key}","value":${value}}`;
};

/** A time or an id: nearly always one that is right. */
const text = (right: string, random: Random): string => {
  if (random(80) > 0) return right;
  const at = random(right.length);
  const character = pick(random, ['g', 'A', ':', '/', '`', '\\', '"', '', '0', 'é', '\u0001']);
  return random(8) === 0 ? '0'.repeat(right.length) : right.slice(0, at) + character + right.slice(at + 1);
};

const spanOf = (attributes: string, random: Random): string => {
  const digit = random(10);
  const ids = `"traceId":"${text(`5b8efff798038103d269b633813fc6${digit}c`, random)}","spanId":"${text('eee19b7ec3c1b174', random)}"`;
  const times = `"startTimeUnixNano":"${text(nanosAt(digit), random)}","endTimeUnixNano":"${text(nanosAt(10), random)}"`;
  return `{${ids},"name":"n",${times},"attributes":[${attributes}]}`;
};

/**
 * A body of spans whose attributes are alike: the same ones in one order, with some left out, exchanged or written in another way from
 * span to span. Some bodies are damaged.
 */
export const alikeSpans = (random: Random): Buffer => {
  const usual = Array.from({ length: 1 + random(8) }, () => attribute(random));
  const changeRate = 2 + random(8);
  const spans = Array.from({ length: 1 + random(12) }, () => {
    const own = usual.flatMap((each) => {
      const change = random(3 * changeRate);
      if (change === 0) return [];
      if (change === 1) return [attribute(random), each];
      // The same key with another value, as most attributes have it.
      if (change < 6) return [each.replace(/"value":.*\}$/, `"value":${values(random)}}`)];
      // A text that ends where it ended before, with what cannot follow it.
      if (change === 6 && random(8) === 0) return [each.replace('"}}', '"G"}}')];
      return [each];
    });
    return spanOf(own.join(','), random);
  });
  // Without a scope the spans are skipped before they are read.
  const scope = random(10) === 0 ? '' : '"scope":{"name":"s"},';
  const resource = usual.slice(0, random(3)).join(',');
  const body = Buffer.from(
    `{"resourceSpans":[{"resource":{"attributes":[${resource}]},"scopeSpans":[{${scope}"spans":[${spans.join(',')}]}]}]}`,
  );
  return random(20) === 0 ? damaged(body, random) : body;
};
