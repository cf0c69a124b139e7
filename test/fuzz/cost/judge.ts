import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { freeHeldBytes, holdNanosMax, loopBytesMax, memoryBytesMax, whoseNanosMax } from './bounds.ts';
import { bodyLimitsOf } from './limits.ts';
import { leastUndisturbed, type Measured, measure, type StageName } from './measure.ts';
import { type Made, make, type Recipe } from './recipe.ts';
import { TooLarge } from './render.ts';

/** What a recipe comes to at the sizes that the promises speak of, and what is promised there. */
export type Verdict = {
  readonly what: string;
  readonly value: number;
  readonly bound: number;
  readonly unit: 'ms' | 'MiB';
  /** What came of the body. */
  readonly outcome: string;
  /** The size at which it was made; see `judgeAt`. */
  readonly size: number;
};

/** What a machine that others use too adds to a figure: a search calls a promise broken from there on. */
const slack = 2;

/** How many times what is promised it comes to. */
export const timesPromised = ({ value, bound }: Verdict): number => value / Math.max(bound, 1e-9);
/** `known`: this multiple of the promise is known, and listed in docs/receivers/fuzzing.md. */
export const isBroken = (verdict: Verdict, known = 1): boolean =>
  timesPromised(verdict) > slack * Math.max(1, known);

const worse = (one: Verdict | undefined, other: Verdict | undefined): Verdict | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  return timesPromised(other) > timesPromised(one) ? other : one;
};

const mebibyte = 2 ** 20;
const milli = 1e6;
const triesUsual = 5;

const madeAt = (recipe: Recipe, size: number): Made | undefined => {
  try {
    return make(recipe, size);
  } catch (error) {
    if (error instanceof TooLarge) return undefined;
    throw error;
  }
};

/** The body at a size that is not passed, or as near to it as the recipe gets; undefined where it becomes far larger. */
const upTo = (recipe: Recipe, bytesMax: number): Buffer | undefined => {
  let size = bytesMax;
  for (;;) {
    const body = madeAt({ ...recipe, packing: { as: 'identity' } }, size)?.content;
    if (body === undefined || body.length <= bytesMax || size < bytesMax / 4) return body;
    size -= Math.max(64, body.length - bytesMax);
  }
};

/** The largest body is tried, then one of half the size and so on, until one is not refused for its size. */
const halvingsMax = 7;
/** What is refused and what is not are brought so often nearer to one another: it is just before the limit that a body costs most. */
const nearings = 3;
const isTooMuch = (outcome: string): boolean => /too_?many|too_?large|exceeded/i.test(outcome);

const whoseBytesMax = 16 * mebibyte;

const whoseAs = async (recipe: Recipe, size: number, tries: number): Promise<Verdict | undefined> => {
  const made = madeAt(recipe, size);
  if (made === undefined) return undefined;
  const isEnough = ({ cost, bytes }: Measured): boolean => cost <= whoseNanosMax(bytes);
  const { cost, bytes, outcome } = await leastUndisturbed('whose', recipe, made, tries, isEnough);
  const sizes = `${(made.content.length / mebibyte).toFixed(1)} MiB, ${(made.wire.length / mebibyte).toFixed(1)} on the wire`;
  const what = `without a credential, ${sizes}`;
  return { what, value: cost / milli, bound: whoseNanosMax(bytes) / milli, unit: 'ms', outcome, size };
};

/** Content of about this many bytes as it is read or as it travels, by the larger of the two. */
const contentOf = (recipe: Recipe, size: number): number => {
  const sample = madeAt(recipe, sampleBytes);
  const growth = (sample?.wire.length ?? 0) / Math.max(1, sample?.content.length ?? 0);
  return Math.floor(size / Math.max(1, growth));
};

const sampleBytes = 64 * 1024;

/** A body that is not packed is so once as it is and once packed. */
const whoseAt = async (recipe: Recipe, size: number, tries: number): Promise<Verdict | undefined> => {
  const bare = await whoseAs(recipe, contentOf(recipe, size), tries);
  if (recipe.packing.as !== 'identity') return bare;
  return worse(bare, await whoseAs({ ...recipe, packing: { as: 'gzip', level: 1 } }, size, tries));
};

const encodeAt = async (recipe: Recipe, size: number, tries: number): Promise<Verdict | undefined> => {
  const content = upTo(recipe, size);
  if (content === undefined) return undefined;
  const { longestHold, outcome } = await leastUndisturbed(
    'encode',
    recipe,
    { content, wire: content },
    tries,
  );
  const what = `the event loop is held by ${Math.round(content.length / 1024)} KiB`;
  return { what, value: longestHold / milli, bound: holdNanosMax / milli, unit: 'ms', outcome, size };
};

const answer = z.object({
  outcome: z.string(),
  died: z.string(),
  reservedBytes: z.number(),
  peakBytes: z.number(),
  holdMs: z.number(),
});

/** A separate process takes a body of this many bytes: its memory, and how long its event loop is held. */
const podAt = async (recipe: Recipe, size: number): Promise<Verdict | undefined> => {
  const { target, packing, layout } = recipe;
  const packed: Recipe =
    packing.as === 'identity' && size > bodyLimitsOf(target).bodyBytesMax
      ? { ...recipe, packing: { as: 'gzip', level: 1 } }
      : recipe;
  const content = upTo(packed, size);
  if (content === undefined) return undefined;
  const { wire } = { wire: content, ...(packed === recipe ? {} : make(packed, content.length)) };
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-cost-'));
  try {
    const file = join(folder, 'body');
    writeFileSync(file, wire);
    const described = JSON.stringify({ target, packing: packed.packing, ...(layout ? { layout } : {}) });
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(import.meta.dirname, 'pod.ts'),
      file,
      described,
    ]);
    const { outcome, died, reservedBytes, peakBytes, holdMs } = answer.parse(JSON.parse(stdout));
    const mebibytes = (content.length / mebibyte).toFixed(1);
    const ended = died === '' ? '' : `, its thread has ended: ${died}`;
    const held: Verdict = {
      what: `${mebibytes} MiB in a process of its own${ended}`,
      value: peakBytes / mebibyte,
      bound: died === '' ? memoryBytesMax(reservedBytes) / mebibyte : 0,
      ...{ unit: 'MiB', outcome, size },
    };
    const what = `the event loop is held while ${mebibytes} MiB are read elsewhere`;
    return worse(held, { ...held, what, value: holdMs, bound: holdNanosMax / milli, unit: 'ms' }) ?? held;
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** What a body that is read on the event loop leaves there until it is published, against what is reserved for it. */
const heldAt = async (recipe: Recipe, size: number): Promise<Verdict | undefined> => {
  const content = upTo(recipe, Math.min(size, loopBytesMax[recipe.layout ?? 'wide']));
  if (content === undefined) return undefined;
  const { retained, reserved, outcome } = await measure('memory', recipe, { content, wire: content }, true);
  return {
    what: `${Math.round(content.length / 1024)} KiB, and what is held of them until it is published`,
    value: (content.length + retained) / mebibyte,
    bound: (freeHeldBytes + reserved) / mebibyte,
    ...{ unit: 'MiB', outcome, size },
  };
};

const memoryAt = async (recipe: Recipe, size: number): Promise<Verdict | undefined> =>
  size > loopBytesMax[recipe.layout ?? 'wide'] ? podAt(recipe, size) : heldAt(recipe, size);

const largestOf = (stage: StageName, { target, layout = 'wide' }: Recipe): number => {
  if (stage === 'whose') return whoseBytesMax;
  return stage === 'encode' ? loopBytesMax[layout] : bodyLimitsOf(target).inflatedBytesMax;
};

const judges = { whose: whoseAt, encode: encodeAt, memory: memoryAt } as const;

/**
 * Holds the body of a recipe against what is promised for a stage, at one size, by the least of some tries; undefined where there is none
 * of that size.
 */
export const judgeAt = (
  stage: StageName,
  recipe: Recipe,
  size: number,
  tries = triesUsual,
): Promise<Verdict | undefined> => judges[stage](recipe, size, tries);

/** Holds a recipe against what is promised for a stage, at the size at which it comes nearest to that. Calls `onTry` before each size. */
export const judge = async (
  stage: StageName,
  recipe: Recipe,
  onTry: (recipe: Recipe) => void = () => {},
): Promise<Verdict | undefined> => {
  let worst: Verdict | undefined;
  const isTaken = async (size: number): Promise<boolean> => {
    onTry(recipe);
    const verdict = await judgeAt(stage, recipe, Math.floor(size));
    worst = worse(worst, verdict);
    return verdict !== undefined && !isTooMuch(verdict.outcome);
  };
  const largest = largestOf(stage, recipe);
  let taken = largest;
  for (let times = 0; times < halvingsMax && !(await isTaken(taken)); times++) taken /= 2;
  let refused = 2 * taken;
  for (let times = 0; taken < largest && times < nearings; times++) {
    const middle = (taken + refused) / 2;
    if (await isTaken(middle)) taken = middle;
    else refused = middle;
  }
  if (stage === 'memory') await isTaken(loopBytesMax[recipe.layout ?? 'wide']);
  return worst;
};
