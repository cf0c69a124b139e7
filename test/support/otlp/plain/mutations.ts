import type { OtlpRequest, OtlpValue } from '../protobuf.ts';

/** Numbers from 0 to below `limit`, always the same for a seed. */
export type Random = (limit: number) => number;

export const randomOf = (seed: number): Random => {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed >>> 0) % limit;
  };
};

/**
 * The frequency of a mutation: once in this many times. It differs from body to body, so that some are nearly whole.
 */
export const rateOf = (random: Random): number => pick(random, [30, 100, 400]);

export const pick = <T>(random: Random, items: readonly [T, ...T[]]): T =>
  items[random(items.length)] ?? items[0];

export const shuffled = <T>(random: Random, items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, place: random(1 << 20) }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);

/** Some bytes changed, or an end removed. */
export const damaged = (bytes: Buffer, random: Random): Buffer => {
  const changed = Buffer.from(bytes);
  for (let flips = 1 + random(3); flips > 0 && changed.length > 0; flips--)
    changed[random(changed.length)] = random(256);
  return random(3) === 0 ? changed.subarray(0, random(changed.length + 1)) : changed;
};

const nested = (depth: number): OtlpValue =>
  depth === 0 ? { boolValue: true } : { arrayValue: { values: [nested(depth - 1), { intValue: '1' }] } };

/** Now and then a value that is nested about as deep as rows hold it, instead of this one. */
export const deepOr = (value: OtlpValue | undefined, random: Random): OtlpValue | undefined =>
  random(30) === 0 ? nested(30 + random(5)) : value;

/** The request with some values nested about as deep as rows hold them. */
export const withDeepValues = (request: OtlpRequest, random: Random): OtlpRequest => ({
  resourceSpans: (request.resourceSpans ?? []).map((resourceSpans) => ({
    ...resourceSpans,
    scopeSpans: (resourceSpans.scopeSpans ?? []).map((scopeSpans) => ({
      ...scopeSpans,
      spans: (scopeSpans.spans ?? []).map((span) => ({
        ...span,
        attributes: (span.attributes ?? []).map((attribute) =>
          random(30) === 0 ? { ...attribute, value: nested(30 + random(5)) } : attribute,
        ),
      })),
    })),
  })),
});
