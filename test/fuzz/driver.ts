import { randomOf } from '../support/otlp/plain/mutations.ts';
import { minimised } from './minimise.ts';
import { type Finding, kindOf, type Target, whyOf } from './target.ts';

/** What came of fuzzing one decoder. */
export type Report = {
  readonly target: string;
  readonly cases: number;
  /** Cases by what the decoder made of them. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
  readonly cpuSeconds: number;
  /** Bytes that are still held after the last case beyond those after the first tenth; undefined when it could not be measured. */
  readonly heapGrowth: number | undefined;
};

export type RunOptions = {
  readonly seed: number;
  readonly count: number;
  /** Called before each case with its number, which identifies a case that never ends. */
  readonly onCase?: (index: number, bytes: Buffer) => void;
  /** Frees what can be freed, so that what is held can be measured. */
  readonly collectGarbage?: (() => void) | undefined;
};

/** A corpus serves this many cases; then another is made, so that a long run does not repeat itself. */
const casesPerCorpus = 4000;
/** Inputs whose every prefix is tried, and how long they may be. */
const sweptPerCorpus = 2;
const sweptBytesMax = 600;
const findingsMax = 5;
/** No input is larger than a few kilobytes: what takes so long is not linear. */
const caseCpuMsMax = 2000;
const heapGrowthMax = 24 * 2 ** 20;

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

const heldBytes = (collectGarbage: () => void): number => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

const mixed = (seed: number, index: number): number =>
  (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(index + 1, 0xc2b2ae35)) | 0;

/** Fuzzes one decoder: always the same cases for a seed. */
class Run {
  readonly outcomes = new Map<string, number>();
  readonly findings: Finding[] = [];
  cases = 0;
  private readonly seen = new Set<string>();
  private readonly target: Target;
  private readonly options: RunOptions;

  constructor(target: Target, options: RunOptions) {
    this.target = target;
    this.options = options;
  }

  async all(): Promise<Report> {
    const { target } = this;
    const { seed, count, collectGarbage } = this.options;
    const startedAt = cpuMs();
    let heldBefore: number | undefined;
    for (let round = 0; this.cases < count; round++) {
      const corpus = target.corpus(mixed(seed, round));
      await this.sweep(corpus, count);
      await this.mutations(corpus, Math.min(count, (round + 1) * casesPerCorpus));
      if (heldBefore === undefined && collectGarbage !== undefined && this.cases >= count / 10)
        heldBefore = heldBytes(collectGarbage);
      if (this.findings.length >= findingsMax) break;
    }
    const heapGrowth =
      heldBefore === undefined || collectGarbage === undefined
        ? undefined
        : heldBytes(collectGarbage) - heldBefore;
    if (heapGrowth !== undefined && heapGrowth > heapGrowthMax) {
      const why = `${heapGrowth} bytes more are held after ${this.cases} cases`;
      this.findings.push({ target: target.name, bytes: Buffer.alloc(0), why });
    }
    const cpuSeconds = (cpuMs() - startedAt) / 1000;
    const { cases, outcomes, findings } = this;
    return { target: target.name, cases, outcomes, findings, cpuSeconds, heapGrowth };
  }

  /** Cuts some of the corpus at every byte. */
  private async sweep(corpus: readonly Buffer[], count: number): Promise<void> {
    const { checkCut } = this.target;
    const swept = corpus
      .filter((each) => each.length > 1 && each.length <= sweptBytesMax)
      .slice(0, sweptPerCorpus);
    for (const whole of swept) {
      for (let length = 0; length <= whole.length && this.cases < count; length++) {
        const cut = Buffer.from(whole.subarray(0, length));
        await this.one(cut);
        if (checkCut === undefined || length === whole.length) continue;
        try {
          await checkCut(cut, whole);
        } catch (error) {
          this.note({ target: this.target.name, bytes: cut, why: `cut short: ${whyOf(error)}` });
        }
      }
    }
  }

  private async mutations(corpus: readonly Buffer[], upTo: number): Promise<void> {
    while (this.cases < upTo && this.findings.length < findingsMax) {
      const random = randomOf(mixed(this.options.seed, this.cases));
      const valid = corpus[random(corpus.length)] ?? Buffer.alloc(0);
      const other = corpus[random(corpus.length)] ?? valid;
      await this.one(this.target.mutate(random, valid, other));
    }
  }

  private async one(bytes: Buffer): Promise<void> {
    const { target, options, outcomes } = this;
    options.onCase?.(this.cases, bytes);
    this.cases++;
    const startedAt = cpuMs();
    const why = await problemOf(target, bytes, outcomes);
    const tookMs = cpuMs() - startedAt;
    if (why !== undefined) {
      // One defect fails many cases: the first of them is enough.
      if (this.seen.has(kindOf(why))) return;
      this.seen.add(kindOf(why));
      const small = await minimised(bytes, async (part) => {
        const other = await problemOf(target, part);
        return other !== undefined && kindOf(other) === kindOf(why);
      });
      this.note({ target: target.name, bytes: small, why: (await problemOf(target, small)) ?? why });
    } else if (tookMs > caseCpuMsMax) {
      this.note({ target: target.name, bytes, why: `it took ${Math.round(tookMs)} ms of CPU` });
    }
  }

  private note(finding: Finding): void {
    const isKnown = this.findings.some(({ why }) => kindOf(why) === kindOf(finding.why));
    if (!isKnown && this.findings.length < findingsMax) this.findings.push(finding);
  }
}

const problemOf = async (
  target: Target,
  bytes: Buffer,
  outcomes?: Map<string, number>,
): Promise<string | undefined> => {
  try {
    const outcome = await target.check(bytes);
    outcomes?.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    return undefined;
  } catch (error) {
    return whyOf(error);
  }
};

export const fuzz = (target: Target, options: RunOptions): Promise<Report> => new Run(target, options).all();
