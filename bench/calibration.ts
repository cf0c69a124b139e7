import { performance } from 'node:perf_hooks';
import { median, rounded } from './statistics.ts';

const rounds = 5;
const stepsOfRound = 4_000_000;

/** The same arithmetic each time; returns its result, so that no compiler leaves it out. */
const work = (): number => {
  let state = 1;
  for (let step = 0; step < stepsOfRound; step++) {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + step) | 0;
    state ^= state >>> 12;
  }
  return state;
};

const expected = work();

/**
 * Milliseconds that a fixed amount of arithmetic takes on one core at this moment, the median of a few rounds: a slower machine, or
 * one whose cores are busy with other work, shows here before it shows in a figure.
 */
export const calibrate = (): number => {
  const taken = Array.from({ length: rounds }, () => {
    const startedAt = performance.now();
    if (work() !== expected) throw new Error('the same arithmetic had another result');
    return performance.now() - startedAt;
  });
  return rounded(median(taken));
};

/** Times the least of a run's calibrations from which on a measurement is slow. */
const slowFactor = 1.25;

/** The measurements of a run that were made while the machine was slower than at its best moment, with by how much. */
export const slowOf = <Row extends { readonly calibration_ms: number }>(
  rows: readonly Row[],
): readonly { readonly row: Row; readonly factor: number }[] => {
  const best = Math.min(...rows.map((row) => row.calibration_ms));
  return rows.flatMap((row) => {
    const factor = row.calibration_ms / best;
    return factor < slowFactor ? [] : [{ row, factor: rounded(factor) }];
  });
};
