import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { holdNanosMax, loopBytesMax, podBytesMax, whoseNanosMax } from './bounds.ts';
import { bodyLimitsOf } from './limits.ts';
import { least, type StageName } from './measure.ts';
import { bodyOf, type Made, make, type Recipe } from './recipe.ts';
import { TooLarge } from './render.ts';

/** What a recipe comes to at the sizes that the promises speak of, and what is promised there. */
export type Verdict = {
  readonly what: string;
  readonly value: number;
  readonly bound: number;
  readonly unit: 'ms' | 'MiB';
  /** What came of the body. */
  readonly outcome: string;
};

export const isBroken = ({ value, bound }: Verdict): boolean => value > bound;
export const isNear = ({ value, bound }: Verdict): boolean => 2 * value > bound;

const mebibyte = 2 ** 20;
const milli = 1e6;
const tries = 3;

const madeAt = (recipe: Recipe, size: number): Made | undefined => {
  try {
    return make(recipe, size);
  } catch (error) {
    if (error instanceof TooLarge) return undefined;
    throw error;
  }
};

/** The body at a size that is not passed, or as near to it as the recipe gets. */
const upTo = (recipe: Recipe, bytesMax: number): Buffer => {
  let size = bytesMax;
  for (;;) {
    const body = bodyOf(recipe, size);
    if (body.length <= bytesMax || size < bytesMax / 4) return body;
    size -= Math.max(64, body.length - bytesMax);
  }
};

/** Parts of the largest size: what is refused there as too much may be taken at a smaller one. */
const parts = [1, 2, 4, 8];

const whoseBytesMax = 16 * mebibyte;

const whoseAt = async (recipe: Recipe, size: number): Promise<Verdict | undefined> => {
  const made = madeAt(recipe, size);
  if (made === undefined) return undefined;
  const { cost, bytes, outcome } = await least('whose', recipe, made, tries);
  const sizes = `${(made.content.length / mebibyte).toFixed(1)} MiB, ${(made.wire.length / mebibyte).toFixed(1)} on the wire`;
  const what = `without a credential, ${sizes}`;
  return { what, value: cost / milli, bound: whoseNanosMax(bytes) / milli, unit: 'ms', outcome };
};

const encodeAt = async (recipe: Recipe, bytesMax: number): Promise<Verdict> => {
  const content = upTo(recipe, bytesMax);
  const { longestHold, outcome } = await least('encode', recipe, { content, wire: content }, tries);
  const what = `the event loop is held by ${Math.round(content.length / 1024)} KiB`;
  return { what, value: longestHold / milli, bound: holdNanosMax / milli, unit: 'ms', outcome };
};

const answer = z.object({
  outcome: z.string(),
  died: z.string(),
  peakBytes: z.number(),
  cpuMs: z.number(),
});

/** A process of its own takes a body of so many bytes. */
const memoryAt = async (recipe: Recipe, size: number): Promise<Verdict> => {
  const { target, packing, layout } = recipe;
  const packed: Recipe =
    packing.as === 'identity' && size > bodyLimitsOf(target).bodyBytesMax
      ? { ...recipe, packing: { as: 'gzip', level: 1 } }
      : recipe;
  const content = upTo(packed, size);
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
    const { outcome, died, peakBytes, cpuMs } = answer.parse(JSON.parse(stdout));
    const what = `${(content.length / mebibyte).toFixed(0)} MiB in a process of its own (${Math.round(cpuMs)} ms of CPU)${died === '' ? '' : `, its thread has ended: ${died}`}`;
    const bound = died === '' ? podBytesMax / mebibyte : 0;
    return { what, value: peakBytes / mebibyte, bound, unit: 'MiB', outcome };
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const judgeAt = (stage: StageName, recipe: Recipe, part: number): Promise<Verdict | undefined> => {
  if (stage === 'whose') return whoseAt(recipe, whoseBytesMax / part);
  return stage === 'encode'
    ? encodeAt(recipe, loopBytesMax[recipe.layout ?? 'wide'] / part)
    : memoryAt(recipe, bodyLimitsOf(recipe.target).inflatedBytesMax / part);
};

/** Holds a recipe against what is promised for a stage, at the size at which it comes nearest to that. */
export const judge = async (stage: StageName, recipe: Recipe): Promise<Verdict | undefined> => {
  const verdicts: Verdict[] = [];
  for (const part of parts) {
    const verdict = await judgeAt(stage, recipe, part);
    if (verdict !== undefined) verdicts.push(verdict);
  }
  return verdicts.toSorted((a, b) => b.value / b.bound - a.value / a.bound)[0];
};
