import { type Random, randomOf } from '../../support/otlp/plain/mutations.ts';
import { kindOf, whyOf } from '../target.ts';
import { honestRecipe } from './honest.ts';
import { least, type Measure, type Measured, measure, type StageName } from './measure.ts';
import { type Made, make, type Recipe, type TargetName } from './recipe.ts';
import { TooLarge } from './render.ts';
import { simplified } from './simplify.ts';
import { freshRecipe, type Variation, variationOf, varied } from './vary.ts';

/** A recipe, and what a body of it has cost. */
export type Candidate = {
  readonly recipe: Recipe;
  readonly measured: Measured;
  /** Cost a byte. */
  readonly score: number;
  /** Milliseconds of CPU that measuring it took. */
  readonly tookMs: number;
};

export type Found = {
  readonly tried: number;
  /** What an honest body of the same layout costs a byte, in the same run. */
  readonly honest: Readonly<Record<'wide' | 'narrow', number>>;
  /** The most expensive of each outcome, the worst first. */
  readonly worst: readonly Candidate[];
  /** Recipes whose bodies made a reader throw an error that no sender should be able to cause. */
  readonly defects: readonly Defect[];
};

export type Defect = { readonly recipe: Recipe; readonly why: string };

export type SearchOptions = {
  readonly target: TargetName;
  readonly stage: StageName;
  readonly seed: number;
  /** Recipes that are tried. */
  readonly count: number;
  /** Recipes to begin with. */
  readonly known: readonly Recipe[];
  /** Called before each recipe is tried. */
  readonly onTry: (recipe: Recipe) => void;
  /** Measures a body. */
  readonly measure?: Measure;
};

const populationMax = 48;
/** Of one outcome: a search with one expensive way would look for no other. */
const ofOutcomeMax = 12;
const tournament = 3;
/** Tries of which all recipes are new. */
const freshShare = 0.2;
const worstShown = 3;
/** A body that takes longer than this is measured at half the size, as all others from then on: thousands are to be tried. */
const tryMsMax = 15;
/** Not below: a smaller one would measure what every request costs, and the steps of the clock. */
const searchBytesMin: Readonly<Record<StageName, number>> = {
  whose: 64 * 1024,
  encode: 16 * 1024,
  memory: 32 * 1024,
};
/** The most expensive are measured once more this often: otherwise two disturbances would keep a recipe there. */
const againEvery = 40;
const againCount = 6;
const finalTries = 5;
/** A simpler recipe may cost so much less and still be the same find. */
const worthMin = 0.92;

/** Sizes that show what a byte costs while thousands can be tried. Memory is measured where the nursery is a small part of it. */
export const searchBytes: Readonly<Record<StageName, number>> = {
  whose: 128 * 1024,
  encode: 64 * 1024,
  memory: 256 * 1024,
};

/** Looks for the recipes whose bodies cost most a byte. Always tries the same for a seed, as far as what it measures is the same. */
class Search {
  private readonly options: SearchOptions;
  private readonly random: Random;
  private readonly variation: Variation;
  private readonly measure: Measure;
  private size: number;
  private population: Candidate[] = [];
  private readonly seen = new Set<string>();
  private readonly defects: Defect[] = [];
  private tried = 0;

  constructor(options: SearchOptions) {
    const { target, stage, seed } = options;
    this.options = options;
    this.random = randomOf(seed);
    this.variation = variationOf(this.random, target);
    this.size = searchBytes[stage];
    this.measure = options.measure ?? measure;
  }

  async all(): Promise<Found> {
    const { count, known } = this.options;
    const before = await this.honest(finalTries);
    for (const recipe of known) await this.one(recipe);
    while (this.tried < count) {
      await this.one(this.next());
      if (this.tried % againEvery === 0) await this.again();
    }
    const after = await this.honest(finalTries);
    const honest = { wide: Math.min(before.wide, after.wide), narrow: Math.min(before.narrow, after.narrow) };
    return { tried: this.tried, honest, worst: await this.worst(), defects: this.defects };
  }

  private async honest(tries: number): Promise<Found['honest']> {
    const { target, stage } = this.options;
    const cost = async (layout: 'wide' | 'narrow'): Promise<number> => {
      const recipe = honestRecipe(target, stage, layout);
      const made = make(recipe, this.size);
      // Some more for the compiler.
      return this.scoreOf(await least(stage, recipe, made, 4 * tries, this.measure), made);
    };
    const wide = await cost('wide');
    return { wide, narrow: target === 'push' ? await cost('narrow') : wide };
  }

  /** Cost a byte; of a body that is smaller than it was to be, as if it were as large. */
  private scoreOf({ cost, bytes }: Measured, { wire }: Made): number {
    return cost / Math.max(bytes, wire.length, this.size);
  }

  private next(): Recipe {
    const { variation, random, population, tried, options } = this;
    if (tried < freshShare * options.count || population.length < 4 || random(12) === 0)
      return freshRecipe(variation);
    return varied(variation, this.parent(), this.parent());
  }

  private parent(): Recipe {
    const { population, random } = this;
    let best = population[random(population.length)];
    for (let round = 1; round < tournament; round++) {
      const other = population[random(population.length)];
      if (other !== undefined && (best === undefined || other.score > best.score)) best = other;
    }
    return best?.recipe ?? freshRecipe(this.variation);
  }

  private async one(recipe: Recipe): Promise<void> {
    this.tried++;
    const text = JSON.stringify(recipe);
    if (this.seen.has(text)) return;
    this.seen.add(text);
    this.options.onTry(recipe);
    const made = this.made(recipe);
    if (made === undefined) return;
    const first = await this.firstOf(recipe, made);
    if (first === undefined) return;
    if (!this.isDear(first)) return;
    // An expensive result may have been a disturbance.
    const again = await this.once(recipe, made);
    this.take(again.score < first.score ? again : first);
    if (Math.min(first.tookMs, again.tookMs) > tryMsMax && this.size > searchBytesMin[this.options.stage])
      await this.halve();
  }

  private async firstOf(recipe: Recipe, made: Made): Promise<Candidate | undefined> {
    try {
      return await this.once(recipe, made);
    } catch (error) {
      const why = whyOf(error);
      if (!this.defects.some((known) => kindOf(known.why) === kindOf(why)))
        this.defects.push({ recipe, why });
      return undefined;
    }
  }

  private async again(): Promise<void> {
    const dearest = this.population.toSorted((a, b) => b.score - a.score).slice(0, againCount);
    for (const before of dearest) {
      const made = this.made(before.recipe);
      if (made === undefined) continue;
      const now = await this.once(before.recipe, made);
      if (now.score < before.score) this.population[this.population.indexOf(before)] = now;
    }
  }

  private async halve(): Promise<void> {
    this.size /= 2;
    const population: Candidate[] = [];
    for (const { recipe } of this.population) {
      const made = this.made(recipe);
      if (made !== undefined) population.push(await this.once(recipe, made));
    }
    this.population = population;
  }

  private made(recipe: Recipe): Made | undefined {
    try {
      return make(recipe, this.size);
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
      return undefined;
    }
  }

  private async once(recipe: Recipe, made: Made): Promise<Candidate> {
    const from = process.cpuUsage();
    const measured = await this.measure(this.options.stage, recipe, made);
    const { user, system } = process.cpuUsage(from);
    const tookMs = (user + system) / 1000;
    return { recipe, measured, score: this.scoreOf(measured, made), tookMs };
  }

  private async thoroughly(recipe: Recipe): Promise<Candidate> {
    const made = make(recipe, this.size);
    const measured = await least(this.options.stage, recipe, made, finalTries, this.measure);
    return { recipe, measured, score: this.scoreOf(measured, made), tookMs: 0 };
  }

  private isDear({ score, measured }: Candidate): boolean {
    const alike = this.alike(measured.outcome);
    const rivals = alike.length >= ofOutcomeMax ? alike : this.population;
    return this.population.length < populationMax || rivals.some((rival) => rival.score < score);
  }

  private alike(outcome: string): Candidate[] {
    return this.population.filter(({ measured }) => measured.outcome === outcome);
  }

  private take(candidate: Candidate): void {
    const { population } = this;
    population.push(candidate);
    const alike = this.alike(candidate.measured.outcome);
    if (alike.length > ofOutcomeMax) this.dropLeast(alike);
    else if (population.length > populationMax) this.dropLeast(population);
  }

  private dropLeast(among: readonly Candidate[]): void {
    const least = among.reduce((cheap, each) => (each.score < cheap.score ? each : cheap));
    this.population.splice(this.population.indexOf(least), 1);
  }

  /** The most expensive of each outcome, simplified and measured once more. */
  private async worst(): Promise<Candidate[]> {
    const dearest = this.population.toSorted((a, b) => b.score - a.score);
    const outcomes = new Map<string, Candidate>();
    for (const each of dearest)
      if (!outcomes.has(each.measured.outcome)) outcomes.set(each.measured.outcome, each);
    const worst: Candidate[] = [];
    for (const { recipe, measured } of [...outcomes.values()].slice(0, worstShown)) {
      const isAsDear = async (other: Recipe, scoreMin: number): Promise<boolean> => {
        const made = this.made(other);
        if (made === undefined) return false;
        this.options.onTry(other);
        const isSo = async (): Promise<boolean> => {
          const candidate = await this.once(other, made);
          return candidate.score >= scoreMin && candidate.measured.outcome === measured.outcome;
        };
        return (await isSo()) && (await isSo());
      };
      const { score } = await this.thoroughly(recipe);
      worst.push(
        await this.thoroughly(await simplified(recipe, (other) => isAsDear(other, worthMin * score))),
      );
    }
    return worst.sort((a, b) => b.score - a.score);
  }
}

export const search = (options: SearchOptions): Promise<Found> => new Search(options).all();
