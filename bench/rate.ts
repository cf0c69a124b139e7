import { setTimeout as delay } from 'node:timers/promises';
import type { Durability } from '../src/config/settings.ts';
import { calibrate } from './calibration.ts';
import { type Load, runLoad } from './load.ts';
import { type Processes, startUsage, type Usage } from './processes.ts';

/** How long each figure is measured, and the failure that a 2xx has to survive meanwhile. */
export type MeasureOptions = { readonly seconds: number; readonly durability: Durability };

/** A program that accepts items over HTTP and writes them into a store. */
export type Subject = {
  /** A new load, times of now. */
  readonly load: () => Load;
  /** Items that its store shows now; undefined for a program that stores nothing, so that only answers can be awaited. */
  readonly visible?: () => Promise<number>;
  /** Every process that takes part in it. */
  readonly processes: () => Processes;
  /**
   * Resolves when its stores have no work left in the background: true; or false where they did not end it in time. At the end also
   * what is written seconds after the items.
   */
  readonly settled?: (when: 'before' | 'end') => Promise<boolean>;
};

export type Rate = {
  /** Items acknowledged in the measured time. */
  readonly acknowledged: number;
  /** Acknowledged and still not visible in the store at the end. */
  readonly missing: number;
  readonly acknowledgedPerSecond: number;
  /** Over the time until the last one was visible. */
  readonly storedPerSecond: number;
  readonly requestsPerSecond: number;
  readonly failedRequests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the measured items alone: until their store has no work left, with none of that of earlier items. */
  readonly usage: Usage;
  /** Milliseconds of a fixed calculation before the measurement and after it. */
  readonly calibrationMs: readonly [before: number, after: number];
  /** False where a store was still at work when the measurement began or ended, so that CPU is billed to the wrong one. */
  readonly isSettled: boolean;
  readonly generatorCpu: number;
};

const pollMs = 50;
/** A store that shows nothing new for this long will show no more. */
const quietMsMax = 15_000;

/** Waits until the store shows this many items, or nothing new any more. Returns the number of visible items. */
export const untilVisible = async (visible: () => Promise<number>, items: number): Promise<number> => {
  let seen = await visible();
  let changedAt = performance.now();
  while (seen < items && performance.now() - changedAt < quietMsMax) {
    await delay(pollMs);
    const now = await visible();
    if (now === seen) continue;
    seen = now;
    changedAt = performance.now();
  }
  return seen;
};

/**
 * Sends for a while, waits until everything is visible and the store at rest, then measures the same for `seconds`. The rate ends
 * with the last visible item, the CPU with the store's work in the background.
 */
export const measureRate = async (subject: Subject, seconds: number, warmSeconds: number): Promise<Rate> => {
  const { visible, settled = async () => true } = subject;
  const shown = visible === undefined ? 0 : await visible();
  const warm = warmSeconds > 0 ? (await runLoad(subject.load(), warmSeconds)).acknowledged : 0;
  const before = visible === undefined ? 0 : await untilVisible(visible, shown + warm);
  const load = subject.load();
  const wasSettled = await settled('before');
  const calibratedBefore = calibrate();
  const usageSince = startUsage(subject.processes());
  const ownBefore = process.cpuUsage();
  const start = performance.now();
  const result = await runLoad(load, seconds);
  const own = process.cpuUsage(ownBefore);
  const owed = before + result.acknowledged;
  const missing = visible === undefined ? 0 : Math.max(0, owed - (await untilVisible(visible, owed)));
  // The wait for missing items was in vain: that time counts for no rate.
  const elapsed = performance.now() - start - (missing > 0 ? quietMsMax : 0);
  const isSettled = await settled('end');
  const usage = usageSince();
  return {
    acknowledged: result.acknowledged,
    missing,
    acknowledgedPerSecond: result.acknowledged / result.seconds,
    storedPerSecond: ((result.acknowledged - missing) / elapsed) * 1000,
    requestsPerSecond: result.requests / result.seconds,
    failedRequests: result.failed,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    usage,
    calibrationMs: [calibratedBefore, calibrate()],
    isSettled: wasSettled && isSettled,
    generatorCpu: (own.user + own.system) / 1e6,
  };
};

/** CPU seconds of these roles for a million items. */
export const cpuPerMillion = (rate: Pick<Rate, 'usage' | 'acknowledged'>, roles: readonly string[]): number =>
  (roles.reduce((sum, role) => sum + (rate.usage.cpu[role] ?? 0), 0) / rate.acknowledged) * 1e6;
