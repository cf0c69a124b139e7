import { GCProfiler, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { reservedOf } from './bounds.ts';
import { type Encoded, encode } from './encode.ts';
import type { Made, Recipe } from './recipe.ts';
import { slowness } from './speed.ts';
import { whose } from './whose.ts';

/**
 * What is measured of a body, each for itself, because the bounds differ. `whose`: all that it costs before its sender has shown a
 * credential; `encode`: all that it costs after; `memory`: what that takes of the heap.
 */
export const stageNames = ['whose', 'encode', 'memory'] as const;
export type StageName = (typeof stageNames)[number];

export type Measured = {
  /** What came of the body, in a word. */
  readonly outcome: string;
  /** Of the body: inflated, or on the wire where that is more. */
  readonly bytes: number;
  /** The figure that is looked for: nanoseconds of CPU (`whose`, `encode`) or bytes of the heap at its fullest (`memory`). */
  readonly cost: number;
  /** Nanoseconds of CPU of the longest stretch that nothing else could come between; of `encode`. */
  readonly longestHold: number;
  /** Bytes that are still held when all is encoded; of `memory`. */
  readonly retained: number;
  /** Bytes that its receiver reserves for all of that; of `memory`. */
  readonly reserved: number;
};

const bytesOf = ({ content, wire }: Made): number => Math.max(content.length, wire.length);

/** The clocks of CPU go by steps of about a millisecond. */
const stepNanos = 1.1e6;

/**
 * Starts to measure the nanoseconds of CPU of one piece of work, by two clocks of which neither is too low: the wall
 * clock goes on while others have the processor, the CPU's is late by a step.
 */
const startClock = (cpuUsage: (from?: NodeJS.CpuUsage) => NodeJS.CpuUsage): (() => number) => {
  const from = cpuUsage();
  const startedAt = performance.now();
  return () => {
    const wall = (performance.now() - startedAt) * 1e6;
    const { user, system } = cpuUsage(from);
    return Math.min(wall, (user + system) * 1000 + stepNanos);
  };
};

/** CPU of the whole process: zlib works in threads of its own. */
const measureWhose = async (recipe: Recipe, made: Made): Promise<Measured> => {
  const clock = startClock(process.cpuUsage);
  const outcome = await whose(made.wire, recipe.packing.as, recipe.target);
  const cost = clock();
  return { outcome, bytes: bytesOf(made), cost, longestHold: 0, retained: 0, reserved: 0 };
};

const encodeOf = (
  { target, layout = 'wide' }: Recipe,
  content: Buffer,
  hold: <T>(work: () => T) => T,
): Encoded => encode(content, target, layout, hold);

/** CPU of this thread. */
const measureEncode = (recipe: Recipe, { content }: Made): Measured => {
  let cost = 0;
  let longestHold = 0;
  const { outcome } = encodeOf(recipe, content, (work) => {
    const clock = startClock(process.threadCpuUsage);
    try {
      return work();
    } finally {
      const took = clock();
      cost += took;
      longestHold = Math.max(longestHold, took);
    }
  });
  return { outcome, bytes: content.length, cost, longestHold, retained: 0, reserved: 0 };
};

let collect: (() => void) | undefined;

const collectGarbage = (): void => {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    const gc: unknown = runInNewContext('gc');
    collect = typeof gc === 'function' ? () => void gc() : () => {};
  }
  collect();
  // The first leaves the buffers that it found to a thread of its own.
  collect();
};

/** Bytes in the heap, and of buffers that it holds. */
const held = (): number => {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
};

/** At a place where the compiler cannot see that they are unused. */
const results: { kept: unknown } = { kept: undefined };

const isMajor = (gcType: string): boolean => gcType === 'MarkSweepCompact' || gcType === 'All';

type Fullest = {
  readonly outcome: string;
  readonly reserved: number;
  readonly added: number;
  readonly isSure: boolean;
};

/** What encoding adds to the heap at its fullest; not sure when what was there before may have been collected meanwhile. */
const fullestOf = (recipe: Recipe, content: Buffer): Fullest => {
  const before = held();
  const profiler = new GCProfiler();
  profiler.start();
  const { outcome, kept, encodedBytes } = encodeOf(recipe, content, (work) => work());
  results.kept = kept;
  const collections = profiler.stop()?.statistics ?? [];
  let fullest = held();
  for (const { beforeGC } of collections) {
    const { usedHeapSize, externalMemory } = beforeGC.heapStatistics;
    fullest = Math.max(fullest, usedHeapSize + externalMemory);
  }
  const isSure = !collections.some(({ gcType }) => isMajor(gcType));
  const reserved = reservedOf(content.length, encodedBytes);
  return { outcome, reserved, added: Math.max(0, fullest - before), isSure };
};

const measuredOf = ({ outcome, reserved, added }: Fullest, content: Buffer, retained: number): Measured => {
  results.kept = undefined;
  return { outcome, bytes: content.length, cost: added, longestHold: 0, retained, reserved };
};

/**
 * The heap at its fullest, garbage included: between two collections it only grows, so that it was fullest before one of them or at the
 * end. How often V8 collects depends on the size of its nursery: in a small one garbage plays a small part.
 */
const measureMemory = (recipe: Recipe, { content }: Made, isThorough: boolean): Measured => {
  const quick = isThorough ? undefined : fullestOf(recipe, content);
  if (quick?.isSure === true) return measuredOf(quick, content, 0);
  results.kept = undefined;
  collectGarbage();
  const before = held();
  const fullest = fullestOf(recipe, content);
  collectGarbage();
  return measuredOf(fullest, content, Math.max(0, held() - before));
};

/** The cost of a body, once. The retained memory is measured only on request. */
export const measure = async (
  stage: StageName,
  recipe: Recipe,
  made: Made,
  isThorough = false,
): Promise<Measured> => {
  if (stage === 'whose') return measureWhose(recipe, made);
  return stage === 'encode' ? measureEncode(recipe, made) : measureMemory(recipe, made, isThorough);
};

export type Measure = typeof measure;

/** The least of some tries: a disturbance makes one more expensive, and never cheaper. */
export const least = async (
  stage: StageName,
  recipe: Recipe,
  made: Made,
  tries: number,
  by: Measure = measure,
): Promise<Measured> => {
  let best = await by(stage, recipe, made, true);
  // Memory is the same each time.
  for (let again = 1; again < (stage === 'memory' ? 2 : tries); again++) {
    const other = await by(stage, recipe, made, true);
    if (other.cost < best.cost) best = other;
  }
  return best;
};

/** The least of some tries, each as it would have been on a machine that is left alone; of three times as many while none is enough. */
export const leastUndisturbed = async (
  stage: 'whose' | 'encode',
  recipe: Recipe,
  made: Made,
  tries: number,
  isEnough: (measured: Measured) => boolean = () => true,
): Promise<Measured> => {
  let best: Measured | undefined;
  for (let times = 0; times < (best === undefined || isEnough(best) ? 1 : 3) * tries; times++) {
    const before = slowness();
    const measured = await measure(stage, recipe, made);
    const slow = Math.min(before, slowness());
    const { cost, longestHold } = measured;
    if (best === undefined || cost / slow < best.cost)
      best = { ...measured, cost: cost / slow, longestHold: longestHold / slow };
  }
  return best ?? measure(stage, recipe, made);
};
