import type { Packing } from './packing.ts';
import { type Part, placesOf, ruleOf } from './parts.ts';
import type { Recipe, TargetName } from './recipe.ts';
import { Grow, oddTexts, type Rules } from './rules.ts';
import { anyPacking, contentRules } from './rules-content.ts';
import { otlpJsonRules } from './rules-otlp-json.ts';
import { otlpProtobufRules } from './rules-otlp-protobuf.ts';
import { pushRules } from './rules-push.ts';

// New recipes, and others from those there are.

const rulesOf: Readonly<Record<TargetName, Rules>> = {
  push: pushRules,
  'otlp-json': otlpJsonRules('traces'),
  'otlp-protobuf': otlpProtobufRules('traces'),
  'logs-json': otlpJsonRules('logs'),
  'logs-protobuf': otlpProtobufRules('logs'),
  'otel-metrics-json': otlpJsonRules('otel_metrics'),
  'otel-metrics-protobuf': otlpProtobufRules('otel_metrics'),
  inflate: contentRules,
};

/** Larger recipes show nothing more, and people could not read them. */
const partsMax = 150;

const plain: Packing = { as: 'identity' };

export type Variation = { readonly grow: Grow; readonly target: TargetName };

export const variationOf = (random: (limit: number) => number, target: TargetName): Variation => ({
  grow: new Grow(random, rulesOf[target]),
  target,
});

/** Bodies that are read are tried unpacked; packings are tried without a reader. */
const packingFor = ({ grow, target }: Variation): Packing =>
  target === 'inflate' ? anyPacking(grow) : plain;

/** A recipe that has nothing to do with any before. */
export const freshRecipe = (variation: Variation): Recipe => {
  const { grow, target } = variation;
  return {
    target,
    ...(target === 'push' ? { layout: grow.pick('wide', 'wide', 'narrow') } : {}),
    packing: packingFor(variation),
    body: grow.withOdd(grow.pick(3, 10, 40)).of('body'),
  };
};

const scaled = (grow: Grow, value: number): number =>
  grow.pick(value * 2, Math.ceil(value / 2), value + 1, Math.max(1, value - 1), grow.count(20_000));

const withOtherNumbers = (grow: Grow, part: Part): Part => {
  if (typeof part === 'string') return part;
  if (grow.chance(4)) return { ...part, share: grow.pick(0.1, 0.3, 1, 3, 10, 100) };
  if ('repeat' in part) {
    if (grow.chance(2)) return { ...part, each: scaled(grow, part.each ?? 64) };
    return { ...part, times: grow.chance(3) ? undefined : scaled(grow, part.times ?? 100) };
  }
  if ('nest' in part) return { ...part, depth: grow.chance(3) ? undefined : scaled(grow, part.depth ?? 100) };
  if ('noise' in part) return { ...part, bytes: grow.chance(3) ? undefined : scaled(grow, part.bytes ?? 10) };
  if ('fields' in part) return { ...part, depth: grow.chance(4) ? 'room' : grow.count(60) };
  return part;
};

const withOtherOrder = (grow: Grow, part: Part): Part => {
  if (typeof part === 'string' || !('all' in part) || part.all.length === 0) return part;
  const { all } = part;
  const one = grow.random(all.length);
  const other = grow.random(all.length);
  const chosen = all[one] ?? '';
  return {
    ...part,
    all: grow.pick<() => readonly Part[]>(
      () => all.toSpliced(one, 1),
      () => all.toSpliced(other, 0, chosen),
      () => all.with(one, all[other] ?? '').with(other, chosen),
      () => all.toSpliced(one, 0, grow.pick(...oddTexts)),
    )(),
  };
};

const withOtherText = (grow: Grow, part: Part): Part => {
  if (typeof part !== 'string') return part;
  const at = grow.random(part.length + 1);
  const to = Math.min(part.length, at + 1 + grow.random(3));
  const odd = grow.pick(...oddTexts);
  return grow.pick(
    part.slice(0, at) + odd + part.slice(at),
    part.slice(0, at) + part.slice(to),
    odd,
    part + part,
  );
};

const wrapped = (grow: Grow, part: Part): Part =>
  grow.pick<Part>(
    { repeat: part, each: grow.count(4096), between: grow.pick('', ',') },
    { repeat: part, times: grow.count(200), between: grow.pick('', ',') },
    { nest: grow.pick(['[', ']'], ['{"a":', '}'], ['', '}']), of: part, depth: grow.count(200) },
    { all: [part, grow.pick(...oddTexts)] },
    { fields: [grow.pick(1, 2, 5, 6, 9)], of: part },
  );

const pickPlace = (grow: Grow, body: Part, wanted: (part: Part) => boolean = () => true) => {
  const places = placesOf(body).filter(({ part }) => wanted(part));
  return places[grow.random(Math.max(1, places.length))];
};

const changedBody = ({ grow }: Variation, body: Part, other: Part): Part => {
  const place = pickPlace(grow, body);
  if (place === undefined) return body;
  const { part } = place;
  const rule = ruleOf(part);
  switch (grow.random(8)) {
    case 0:
    case 1:
      return rule === undefined ? body : place.with(grow.of(rule));
    case 2: {
      if (rule === undefined) return body;
      const giver = pickPlace(grow, other, (each) => ruleOf(each) === rule);
      return giver === undefined ? body : place.with(giver.part);
    }
    case 3:
      return place.with(withOtherOrder(grow, part));
    case 4:
      return place.with(wrapped(grow, part));
    case 5:
      return place.with(withOtherText(grow, part));
    default: {
      const sized = pickPlace(
        grow,
        body,
        (each) => typeof each !== 'string' && !('all' in each) && !('hex' in each),
      );
      return sized === undefined ? body : sized.with(withOtherNumbers(grow, sized.part));
    }
  }
};

/** A recipe that differs in something from one, with parts of another now and then. */
export const varied = (variation: Variation, recipe: Recipe, other: Recipe): Recipe => {
  const { grow } = variation;
  const packing = grow.chance(3) ? packingFor(variation) : recipe.packing;
  const layout = recipe.layout !== undefined && grow.chance(12) ? grow.pick('wide', 'narrow') : recipe.layout;
  let { body } = recipe;
  for (let times = 1 + grow.random(3); times > 0; times--) {
    const changed = changedBody(variation, body, other.body);
    if (placesOf(changed).length <= partsMax) body = changed;
  }
  return { ...recipe, ...(layout === undefined ? {} : { layout }), packing, body };
};
