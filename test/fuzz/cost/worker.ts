// Searches one stage of one target in a thread of its own, so that a body that ends the heap, or never ends, can be told from outside.
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { knownRecipes } from './costly.ts';
import { judge } from './judge.ts';
import { stageNames } from './measure.ts';
import { targetNames } from './recipe.ts';
import { search } from './search.ts';

const { target, stage, seed, count } = z
  .object({ target: z.enum(targetNames), stage: z.enum(stageNames), seed: z.number(), count: z.number() })
  .parse(workerData);

const found = await search({
  ...{ target, stage, seed, count },
  known: knownRecipes(target, stage),
  onTry: (recipe) => parentPort?.postMessage({ kind: 'tries', recipe }),
});
const finds = [];
for (const { recipe, measured, score } of found.worst) {
  const honest = found.honest[recipe.layout ?? 'wide'];
  const retained = measured.retained / Math.max(1, measured.bytes);
  const verdict = await judge(stage, recipe);
  finds.push({
    recipe,
    outcome: measured.outcome,
    score,
    honest,
    retained,
    verdict,
  });
}
parentPort?.postMessage({ kind: 'ends', tried: found.tried, finds });
