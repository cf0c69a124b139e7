import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type StageName, stageNames } from './measure.ts';
import { type Recipe, recipeSchema, type TargetName } from './recipe.ts';

const folder = join(import.meta.dirname, '../costly');

const costlySchema = z.strictObject({
  /** What is dear about it. */
  name: z.string(),
  stage: z.enum(stageNames),
  /** What it cost a byte when it was kept, as a multiple of what an honest body costs. */
  timesHonest: z.number().positive(),
  recipe: recipeSchema,
});

/** A recipe that was found to be dear, to be tried for ever. */
export type Costly = z.infer<typeof costlySchema>;

export const readCostly = (): Costly[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => costlySchema.parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))));

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
