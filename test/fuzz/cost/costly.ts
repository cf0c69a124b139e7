import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { honestRecipe } from './honest.ts';
import { measure, type StageName, stageNames } from './measure.ts';
import { make, type Recipe, recipeSchema, type TargetName } from './recipe.ts';
import { searchBytes } from './search.ts';

const folder = join(import.meta.dirname, '../costly');

const costlySchema = z.strictObject({
  /** The expensive part of it. */
  name: z.string(),
  stage: z.enum(stageNames),
  /** What it cost a byte when it was kept, as a multiple of what an honest body costs. */
  timesHonest: z.number().positive(),
  /** The size at which it came nearest to what is promised, and how many times that it was; above 1 a promise is known not to hold. */
  size: z.number().int().positive(),
  timesPromised: z.number().nonnegative(),
  recipe: recipeSchema,
});

/** A recipe of an expensive body that was found, tried in every run. */
export type Costly = z.infer<typeof costlySchema>;

export const readCostly = (): Costly[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => costlySchema.parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))));

/** How many times what is promised the worst of those comes to that are kept. */
export const knownTimes = (target: TargetName, stage: StageName): number =>
  Math.max(
    0,
    ...readCostly()
      .filter((kept) => kept.recipe.target === target && kept.stage === stage)
      .map(({ timesPromised }) => timesPromised),
  );

/**
 * The ratio of its present cost to that of an honest body, at the size of a search: each the least of some tries, in
 * turn.
 */
export const timesHonestNow = async (costly: Costly): Promise<number> => {
  const { recipe, stage } = costly;
  const size = searchBytes[stage];
  const honest = honestRecipe(recipe.target, stage, recipe.layout);
  const both = [honest, recipe].map((each) => ({
    recipe: each,
    made: make(each, size),
    least: Number.POSITIVE_INFINITY,
  }));
  for (let turn = 0; turn < (stage === 'memory' ? 2 : turns); turn++) {
    for (const each of both) {
      const { cost } = await measure(stage, each.recipe, each.made, true);
      each.least = Math.min(
        each.least,
        cost / Math.max(size, each.made.content.length, each.made.wire.length),
      );
    }
  }
  const [usual, dear] = both;
  return (dear?.least ?? 0) / (usual?.least ?? 1);
};

const turns = 5;

/** Those a search begins with. */
export const knownRecipes = (target: TargetName, stage: StageName): Recipe[] =>
  readCostly()
    .filter(({ recipe, stage: dearIn }) => recipe.target === target && dearIn === stage)
    .map(({ recipe }) => recipe);

/** Writes a find into a folder, for a person to look at, to name, and to move to costly/; answers where. */
export const writeCostly = (into: string, found: Costly): string => {
  mkdirSync(into, { recursive: true });
  const text = `${JSON.stringify(found, undefined, 2)}\n`;
  const digest = createHash('sha256').update(JSON.stringify(found.recipe)).digest('hex').slice(0, 8);
  const file = join(into, `${found.recipe.target}.${found.stage}.${digest}.json`);
  writeFileSync(file, text);
  return file;
};
