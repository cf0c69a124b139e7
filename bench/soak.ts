import { setTimeout as delay } from 'node:timers/promises';
import { withStack } from './line.ts';
import { runLoad } from './load.ts';
import { usualPoints } from './point-loads.ts';
import { peakMiB, residentMiB } from './processes.ts';
import type { MeasureOptions } from './rate.ts';
import { rounded, slopeOf } from './statistics.ts';
import { pushSubject, spansSubject } from './subjects.ts';

/** Memory of one role under full load for a long time. */
export type Soak = {
  readonly soak: string;
  readonly seconds: number;
  readonly rss_mib_first: number;
  readonly rss_mib_last: number;
  readonly rss_peak_mib: number;
  /** The slope of the straight line through all samples after the first fifth, in which a young process still grows to its size. */
  readonly growth_mib_per_minute: number;
  readonly points: number;
  readonly spans: number;
  readonly failed_requests: number;
};

const samplesEveryMs = 5_000;
const settlingShare = 0.2;
const sayEvery = 12;

/** Full load of points and of spans at the same time; samples the memory of ingress, transfer and nats-server meanwhile. */
export const measureSoak = (
  { seconds, durability }: MeasureOptions,
  say: (line: string) => void,
): Promise<Soak[]> =>
  withStack({ durability }, async (stack) => {
    const push = await pushSubject(stack, 'soak', usualPoints);
    const spans = await spansSubject(stack, 'soak', 'protobuf', 100, 8);
    const { ingress = 0, transfer = 0, nats = 0 } = push.processes();
    const roles = Object.entries({ ingress, transfer, nats });
    const samples = new Map<string, [minute: number, mebibytes: number][]>(roles.map(([role]) => [role, []]));
    const start = performance.now();
    const stop = new AbortController();
    const sample = async (): Promise<void> => {
      for (let count = 1; !stop.signal.aborted; count++) {
        const minute = (performance.now() - start) / 60_000;
        const held = roles.map(([role, pid]): [string, number] => [role, residentMiB(pid)]);
        for (const [role, mebibytes] of held) samples.get(role)?.push([minute, mebibytes]);
        const shown = { soak_minute: rounded(minute), ...Object.fromEntries(held) };
        if (count % sayEvery === 0) say(JSON.stringify(shown));
        await delay(samplesEveryMs, undefined, { signal: stop.signal }).catch(() => undefined);
      }
    };
    const sampling = sample();
    const [points, exported] = await Promise.all([
      runLoad(push.load(), seconds),
      runLoad(spans.load(), seconds),
    ]);
    stop.abort();
    await sampling;
    return roles.map(([role, pid]): Soak => {
      const all = samples.get(role) ?? [];
      const settled = all.slice(Math.floor(all.length * settlingShare));
      return {
        soak: role,
        seconds,
        rss_mib_first: settled[0]?.[1] ?? 0,
        rss_mib_last: settled.at(-1)?.[1] ?? 0,
        rss_peak_mib: peakMiB(pid),
        growth_mib_per_minute: rounded(slopeOf(settled)),
        points: points.acknowledged,
        spans: exported.acknowledged,
        failed_requests: points.failed + exported.failed,
      };
    });
  });
