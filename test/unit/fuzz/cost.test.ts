import { describe, expect, it } from 'vitest';
import { inflate } from '../../../src/ingress/http/inflate.ts';
import { readCostly, timesHonestNow } from '../../fuzz/cost/costly.ts';
import { honestRecipe } from '../../fuzz/cost/honest.ts';
import { judgeAt, timesPromised } from '../../fuzz/cost/judge.ts';
import type { Measure } from '../../fuzz/cost/measure.ts';
import { type Packing, pack } from '../../fuzz/cost/packing.ts';
import { bodyOf, make, type Recipe, recipeSchema, targetNames } from '../../fuzz/cost/recipe.ts';
import { render, TooLarge } from '../../fuzz/cost/render.ts';
import { search } from '../../fuzz/cost/search.ts';
import { freshRecipe, variationOf, varied } from '../../fuzz/cost/vary.ts';
import { randomOf } from '../../support/otlp/plain/mutations.ts';

const costly = readCostly();

describe('a recipe', () => {
  const recipes: Recipe[] = [
    ...targetNames.map((target) => honestRecipe(target, 'encode')),
    ...costly.map(({ recipe }) => recipe),
  ];

  it('becomes the same bytes each time', () => {
    for (const recipe of recipes) expect(make(recipe, 10_000).wire).toEqual(make(recipe, 10_000).wire);
  });

  it('of an honest body takes the room there is', () => {
    for (const target of targetNames) {
      const { length } = bodyOf(honestRecipe(target, 'encode'), 200_000);
      expect(length, target).toBeGreaterThan(150_000);
      expect(length, target).toBeLessThanOrEqual(200_000);
    }
  });

  it('names each part in a few words', () => {
    const text = (part: Parameters<typeof render>[0], room: number): string =>
      render(part, room).toString('latin1');
    expect(text({ all: ['[', { repeat: '{"k#":1}', between: ',' }, ']'] }, 30)).toBe(
      '[{"k0":1},{"k1":1},{"k2":1}]',
    );
    expect(text({ all: ['{"a":', { nest: ['[', ']'], of: '0' }, '}'] }, 17)).toBe('{"a":[[[[[0]]]]]}');
    expect(text({ repeat: 'ab', times: 3, between: '-' }, 0)).toBe('ab-ab-ab');
    expect(text({ all: [{ repeat: 'a' }, { repeat: 'b', share: 3 }] }, 8)).toBe('aabbbbbb');
    expect(text({ noise: 'x' }, 4)).toBe('xxxx');
    expect(render({ fields: [1, 2], of: { hex: '0801' } }, 0).toString('hex')).toBe('0a0412020801');
  });
});

describe('a body that is packed as no compressor packs it', () => {
  const packings: readonly Packing[] = [
    { as: 'gzip', memberBytes: 1000, emptyMembers: 2 },
    { as: 'gzip', blocks: 'stored', blockBytes: 7, emptyBlocks: 1 },
    { as: 'gzip', blocks: 'dynamic', blockBytes: 40 },
    { as: 'deflate', blocks: 'fixed', blockBytes: 3 },
    { as: 'deflate', blocks: 'dynamic', blockBytes: 900, emptyBlocks: 2 },
    { as: 'deflate', strategy: 2, level: 9 },
    { as: 'zstd', memberBytes: 3000, emptyMembers: 1, skippable: 9, checksum: true },
  ];

  it.each(packings)('is whole when it is unpacked: %o', async (packing) => {
    const content = render({ all: [{ noise: '\u0000-\u00ff' }, { repeat: '{"a":#},', share: 5 }] }, 20_000);
    const limits = { inflatedBytesMax: 100_000, inflateRatioMax: 600 };
    if (packing.as === 'identity') return;
    const all = { take: () => true, see: () => true };
    expect(await inflate(pack(content, packing), packing.as, limits, all)).toEqual(content);
  });
});

describe('the search for the most expensive bodies', () => {
  /** A reader to whom commas are dear. */
  const commas: Measure = async (_stage, _recipe, { content }) => {
    let cost = 0;
    for (const byte of content) if (byte === 0x2c) cost++;
    return {
      outcome: cost > 0 ? 'some' : 'none',
      bytes: content.length,
      cost,
      longestHold: 0,
      retained: 0,
      reserved: 0,
    };
  };
  const run = async (count: number) => {
    const tried: string[] = [];
    const onTry = (recipe: Recipe): void => void tried.push(JSON.stringify(recipe));
    const options = { target: 'push', stage: 'encode', seed: 5, count, known: [] } as const;
    return { ...(await search({ ...options, onTry, measure: commas })), tried };
  };

  it('finds it, and makes it simple', async () => {
    const { worst, honest } = await run(400);
    const [most] = worst;
    expect(honest.wide).toBeLessThan(0.1);
    expect(most?.score).toBeGreaterThan(0.45);
    expect(JSON.stringify(most?.recipe.body).length).toBeLessThan(200);
  });

  it('tries the same for the same seed', async () => {
    expect((await run(60)).tried).toEqual((await run(60)).tried);
  });
});

const slack = 5;
/** A smaller body than the worst, for a test's sake: what is not linear shows with it, too. */
const testedBytesMax = { whose: 2 ** 21, encode: 2 ** 19, memory: 2 ** 23 };

describe('an expensive body that was found', { timeout: 120_000 }, () => {
  it.each(costly)('keeps the promise, from any sender: $name ($stage)', async (each) => {
    const verdict = await judgeAt(
      each.stage,
      each.recipe,
      Math.min(each.size, testedBytesMax[each.stage]),
      2,
    );
    if (verdict === undefined) throw new Error('there is no body of that size');
    // Where a promise is known not to hold, it gets no worse.
    const most = slack * Math.max(1, each.timesPromised);
    expect(timesPromised(verdict), JSON.stringify(verdict)).toBeLessThan(most);
  });

  // A reader that needs five times as much for one of these has lost a bound.
  it.each(costly)('costs no more a byte than it did, beside an honest body: $name ($stage)', async (each) => {
    expect(await timesHonestNow(each)).toBeLessThan(slack * each.timesHonest);
  });

  it('is kept of every reader', () => {
    expect(new Set(costly.map(({ recipe }) => recipe.target))).toEqual(new Set(targetNames));
  });
});

describe('the recipes that a search tries', () => {
  const recipesOf = (target: (typeof targetNames)[number], count: number): string => {
    const random = randomOf(3);
    const variation = variationOf(random, target);
    const recipes: Recipe[] = [];
    for (let tried = 0; tried < count; tried++) {
      const parent = recipes[random(Math.max(1, recipes.length))];
      recipes.push(
        parent === undefined || tried % 3 === 0 ? freshRecipe(variation) : varied(variation, parent, parent),
      );
    }
    return recipes.map((recipe) => JSON.stringify(recipe)).join('\n');
  };

  it('are deep, repeated, escaped, full of numbers, and in other orders', () => {
    for (const target of ['push', 'otlp-json'] as const) {
      const recipes = recipesOf(target, 300);
      expect(recipes, target).toContain('"nest":["[","]"]');
      expect(recipes, target).toMatch(/"repeat":.*"times":\d/);
      expect(recipes, target).toContain(String.raw`\\u0000`);
      expect(recipes, target).toMatch(/1e400|5e-324|9007199254740993|"repeat":"17"/);
    }
    const push = recipesOf('push', 300);
    expect(push).toMatch(/"data\\":.*access_token/);
    expect(push).toMatch(/access_token.*"data\\":/);
    expect(recipesOf('otlp-protobuf', 300)).toContain('"depth":"room"');
  });

  it('are packed in many members, at any level, in blocks that no compressor writes, and to any ratio', () => {
    const recipes = recipesOf('inflate', 300);
    for (const packing of ['gzip', 'deflate', 'zstd']) expect(recipes).toContain(`"as":"${packing}"`);
    expect(recipes).toMatch(/"as":"gzip","memberBytes":\d/);
    expect(recipes).toMatch(/"emptyMembers":[1-9]/);
    for (const blocks of ['stored', 'fixed', 'dynamic']) expect(recipes).toContain(`"blocks":"${blocks}"`);
    expect(recipes).toContain('"level":9');
    const ratioOf = (text: string): number[] => {
      try {
        const { content, wire } = make(recipeSchema.parse(JSON.parse(text)), 20_000);
        return [content.length / wire.length];
      } catch (error) {
        if (!(error instanceof TooLarge)) throw error;
        return [];
      }
    };
    const ratios = recipes.split('\n').flatMap(ratioOf);
    expect(Math.max(...ratios)).toBeGreaterThan(50);
    expect(Math.min(...ratios)).toBeLessThan(0.5);
  });
});
