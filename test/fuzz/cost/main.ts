// Searches for bodies that cost too much: `make fuzz MODE=cost SEED=1 COUNT=20000 [TARGET=push]`. Prints the most
// expensive of each stage; ends non-zero when one breaks the promise. With COUNT=0 it checks only the kept ones.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { knownTimes, readCostly, timesHonestNow, writeCostly } from './costly.ts';
import { isBroken, judge, timesPromised, type Verdict } from './judge.ts';
import { type StageName, stageNames } from './measure.ts';
import { Notes } from './notes.ts';
import { type Recipe, recipeSchema, type TargetName, targetNames } from './recipe.ts';

const settings = z
  .object({
    SEED: z.coerce.number().int().default(20_261_121),
    COUNT: z.coerce.number().int().nonnegative().default(10_000),
    TARGET: z.string().default(''),
  })
  .parse({
    SEED: process.env['SEED'] || undefined,
    COUNT: process.env['COUNT'] || undefined,
    TARGET: process.env['TARGET'],
  });

type Find = {
  readonly recipe: Recipe;
  readonly outcome: string;
  readonly score: number;
  readonly honest: number;
  readonly retained: number;
  readonly verdict: Verdict | undefined;
};

/** What a search has come to. A defect without a recipe is one of the search. */
type Ended = {
  readonly tried: number;
  readonly finds: readonly Find[];
  readonly defects: readonly { readonly recipe: Recipe | undefined; readonly why: string }[];
};

/** A body of these sizes is read within a second; one that has not been after so long never will be. */
const stuckMs = 120_000;
/** Garbage is to play a small part in what a heap holds at its fullest. */
const nurseryMiBMax = 3;

const run = (target: TargetName, stage: StageName, count: number): Promise<Ended> =>
  new Promise((resolve) => {
    const notes = new Notes();
    const worker = new Worker(new URL('worker.ts', import.meta.url), {
      workerData: { target, stage, seed: settings.SEED, count, shared: notes.shared },
      resourceLimits: stage === 'memory' ? { maxYoungGenerationSizeMb: nurseryMiBMax } : {},
    });
    let before = -1;
    const end = (ended: Ended): void => {
      clearInterval(watch);
      resolve(ended);
    };
    const failed = (why: string): void => {
      void worker.terminate();
      end({ tried: notes.count, finds: [], defects: [{ recipe: notes.last, why }] });
    };
    const watch = setInterval(() => {
      if (notes.count === before) failed(`it has not ended after ${stuckMs / 1000} s`);
      before = notes.count;
    }, stuckMs);
    worker.on('message', end);
    worker.on('error', (error) => failed(String(error)));
  });

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const folder = join(tmpdir(), 'tidemark-fuzz', 'cost');
const units: Readonly<Record<StageName, string>> = {
  whose: 'ns a byte',
  encode: 'ns a byte',
  memory: 'bytes a byte',
};

const stagesOf = (target: TargetName): readonly StageName[] =>
  target === 'inflate' ? ['whose'] : stageNames;

/** A figure, and how it stands to what is promised; `known` times that is known. */
const shown = (verdict: Verdict, known: number): string => {
  const { what, value, bound, unit, outcome } = verdict;
  const times = timesPromised(verdict);
  const judged = isBroken(verdict, known) ? 'BROKEN' : times > 1 ? 'over' : times > 0.5 ? 'near' : 'kept';
  return `${judged}: ${what}: ${value.toFixed(value < 10 ? 1 : 0)} of ${bound.toFixed(0)} ${unit} (${outcome})`;
};

const printFind = (stage: StageName, find: Find): number => {
  const { recipe, outcome, score, honest, retained, verdict } = find;
  const timesHonest = score / honest;
  const name = `${outcome}, seed ${settings.SEED}`;
  const file = writeCostly(folder, {
    name,
    stage,
    timesHonest: Number(timesHonest.toPrecision(3)),
    size: verdict?.size ?? 1,
    timesPromised: verdict === undefined ? 0 : Number(timesPromised(verdict).toPrecision(3)),
    recipe: recipeSchema.parse(recipe),
  });
  const held = stage === 'memory' ? `, ${retained.toFixed(1)} held at the end` : '';
  print(
    `  ${score.toFixed(1)} ${units[stage]}, × ${timesHonest.toFixed(1)} honest${held} (${outcome}): ${file}`,
  );
  if (verdict === undefined) return 0;
  const known = knownTimes(recipe.target, stage);
  print(`    ${shown(verdict, known)}`);
  return isBroken(verdict, known) ? 1 : 0;
};

/** Searches every stage; answers how many promises were broken. */
const searchAll = async (): Promise<number> => {
  const searches = targetNames
    .filter((target) => target.includes(settings.TARGET))
    .flatMap((target) => stagesOf(target).map((stage) => ({ target, stage })));
  let tried = 0;
  let broken = 0;
  for (const { target, stage } of searches) {
    const startedAt = performance.now();
    const ended = await run(target, stage, Math.ceil(settings.COUNT / searches.length));
    tried += ended.tried;
    const seconds = (performance.now() - startedAt) / 1000;
    print(`${target}, ${stage}: seed ${settings.SEED}, ${ended.tried} recipes, ${seconds.toFixed(0)} s`);
    for (const { why, recipe } of ended.defects) print(`  BROKEN: ${why}: ${JSON.stringify(recipe)}`);
    broken += ended.defects.length;
    for (const find of ended.finds) broken += printFind(stage, find);
  }
  print(`total: seed ${settings.SEED}, ${tried} recipes, ${broken} promises broken`);
  return broken;
};

/** Measures what was kept before; answers how many promises were broken. */
const measureKept = async (): Promise<number> => {
  let broken = 0;
  for (const kept of readCostly().filter(({ recipe }) => recipe.target.includes(settings.TARGET))) {
    const { name, stage, recipe, timesHonest } = kept;
    const now = await timesHonestNow(kept);
    const verdict = await judge(stage, recipe);
    const known = kept.timesPromised;
    print(`${name} (${stage}): × ${now.toFixed(1)} honest, × ${timesHonest} when it was kept`);
    if (verdict === undefined) continue;
    print(`  ${shown(verdict, known)}`);
    if (isBroken(verdict, known)) broken++;
  }
  print(`total: ${broken} promises broken`);
  return broken;
};

process.exitCode = (settings.COUNT === 0 ? await measureKept() : await searchAll()) === 0 ? 0 : 1;
