import { type Rounds, startRounds } from '../../runtime/rounds.ts';
import { whenStopped } from '../../runtime/stop-signal.ts';
import type { UpkeepMetrics } from '../../telemetry/upkeep-metrics.ts';
import type { DiskReads } from './disk-use.ts';

const everyMs = 600_000;
/** A look at all tables and spans takes at most this share of the time. */
const shareMax = 0.05;
/** The wait where a forecast is missing. */
const retryMs = 60_000;

type DiskWatchDeps = {
  readonly disk: DiskReads;
  /** The records were read: retention is known from then on. */
  readonly ready: Promise<unknown>;
  readonly metrics: Pick<UpkeepMetrics, 'diskDaysLeft'>;
};

/** Feeds the forecasts of the disks into the metrics until it is stopped. A disk without a forecast has no figure. */
export const startDiskWatch = ({ disk, ready, metrics }: DiskWatchDeps): Rounds => {
  let isFirst = true;
  return startRounds(async (signal) => {
    if (isFirst) await Promise.race([ready, whenStopped(signal)]);
    isFirst = false;
    if (signal.aborted) return 0;
    const startedAt = performance.now();
    const { volumes, stores } = await disk.read();
    metrics.diskDaysLeft.reset();
    for (const { disk: name, daysLeft } of volumes)
      if (daysLeft !== undefined) metrics.diskDaysLeft.set({ disk: name }, daysLeft);
    const isAnyAway = stores.some(({ why }) => why !== '');
    return Math.max(isAnyAway ? retryMs : everyMs, (performance.now() - startedAt) / shareMax);
  });
};
