// Searches one stage of one target in a separate thread, so that a body that exhausts the heap, or never ends, can be
// detected from outside.
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { knownRecipes } from './costly.ts';
import { judge } from './judge.ts';
import { stageNames } from './measure.ts';
import { Notes } from './notes.ts';
import { type Recipe, targetNames } from './recipe.ts';
import { search } from './search.ts';

const { target, stage, seed, count, shared } = z
  .object({
    target: z.enum(targetNames),
    stage: z.enum(stageNames),
    seed: z.number(),
    count: z.number(),
    shared: z.instanceof(SharedArrayBuffer),
  })
  .parse(workerData);

const notes = new Notes(shared);
const onTry = (recipe: Recipe): void => notes.write(recipe);

const found = await search({
  ...{ target, stage, seed, count },
  known: knownRecipes(target, stage),
  onTry,
});
const finds = [];
for (const { recipe, measured, score } of found.worst) {
  const honest = found.honest[recipe.layout ?? 'wide'];
  const retained = measured.retained / Math.max(1, measured.bytes);
  const verdict = await judge(stage, recipe, onTry);
  finds.push({
    recipe,
    outcome: measured.outcome,
    score,
    honest,
    retained,
    verdict,
  });
}
parentPort?.postMessage({ tried: found.tried, finds, defects: found.defects });
