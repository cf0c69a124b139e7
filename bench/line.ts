import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Stack, startStack } from '../test/support/stack/stack.ts';
import { type Latency, measureLatency, type Probe, pointsProbe, spansProbe } from './latency.ts';
import { usualPoints } from './point-loads.ts';
import { cpuPerMillion, type MeasureOptions, measureRate, type Rate, type Subject } from './rate.ts';
import type { Row } from './report.ts';
import { median, rounded, spreadOf } from './statistics.ts';
import { type Encoding, ownRoles, pushSubject, spansSubject } from './subjects.ts';

export type LineOptions = MeasureOptions & {
  readonly repeats: number;
  /** Measures the latency at half the reached rate, too. */
  readonly hasLatency?: boolean;
  /** Processes of each role; default 1. */
  readonly ingress?: number;
  readonly transfer?: number;
  /** More variables for every role. */
  readonly env?: Record<string, string>;
};

const warmSecondsMax = 5;
const spansPerRequest = 100;
const connections = 8;

/** The machine during these measurements, which tells how far to trust them: `calibrate`, and stores that were still at work. */
export const machineOf = (rates: readonly Rate[]) => ({
  calibration_ms: rounded(median(rates.flatMap(({ calibrationMs }) => calibrationMs))),
  calibration_ms_max: Math.max(...rates.flatMap(({ calibrationMs }) => calibrationMs)),
  unsettled: rates.filter(({ isSettled }) => !isSettled).length,
});

/** The result of repeated runs of a line: the median of each figure, for the two main ones also the least and the greatest. */
export const lineRow = (stage: string, rates: readonly Rate[]): Row => {
  const spread = (value: (rate: Rate) => number) => spreadOf(rates.map(value));
  const middle = (value: (rate: Rate) => number): number => rounded(spread(value).median, 4);
  const stored = spread((rate) => rate.storedPerSecond);
  const own = spread((rate) => cpuPerMillion(rate, ownRoles(rate.usage.cpu)));
  const roles = Object.keys(rates[0]?.usage.cpu ?? {});
  return {
    stage,
    items_per_second: Math.round(stored.median),
    cpu_seconds_per_million: rounded(own.median),
    repeats: rates.length,
    items_per_second_min: Math.round(stored.min),
    items_per_second_max: Math.round(stored.max),
    cpu_seconds_per_million_min: rounded(own.min),
    cpu_seconds_per_million_max: rounded(own.max),
    acknowledged_per_second: Math.round(middle((rate) => rate.acknowledgedPerSecond)),
    requests_per_second: Math.round(middle((rate) => rate.requestsPerSecond)),
    stored: rates.reduce((sum, { acknowledged, missing }) => sum + acknowledged - missing, 0),
    missing: rates.reduce((sum, { missing }) => sum + missing, 0),
    failed_requests: rates.reduce((sum, { failedRequests }) => sum + failedRequests, 0),
    p50_ms: middle((rate) => rate.p50Ms),
    p99_ms: middle((rate) => rate.p99Ms),
    ...Object.fromEntries(
      roles.map((role) => [`cpu_${role}`, middle((rate) => cpuPerMillion(rate, [role]))]),
    ),
    ...machineOf(rates),
    cpu_generator: middle((rate) => (rate.generatorCpu / rate.acknowledged) * 1e6),
    ...Object.fromEntries(
      roles.map((role) => [
        `rss_peak_mib_${role}`,
        Math.max(...rates.map(({ usage }) => usage.peak[role] ?? 0)),
      ]),
    ),
  };
};

/** One warm run, then this many measured ones on the same stack. */
export const repeatLine = async (
  subject: Subject,
  { seconds, repeats }: Pick<LineOptions, 'seconds' | 'repeats'>,
): Promise<Rate[]> => {
  const rates: Rate[] = [];
  const warmSeconds = Math.min(warmSecondsMax, seconds / 2);
  for (let turn = 0; turn < repeats; turn++)
    rates.push(await measureRate(subject, seconds, turn === 0 ? warmSeconds : 0));
  return rates;
};

/** A line's row, and on request its latency at half the rate that it reached. */
export type LineResult = { readonly row: Row; readonly latency: Latency | undefined };

const interval = /write_interval_ms: \d+\n(?: *write_interval_ms_max: \d+\n)?/;

/** Tests write outcomes at once; what is measured writes them as the shipped pipeline does. */
export const asShipped = (file: string, text: string): string => {
  if (file !== 'ledger.yaml') return text;
  const shipped = readFileSync(join(import.meta.dirname, '../pipelines/ledger.yaml'), 'utf8');
  return text.replace(interval, interval.exec(shipped)?.[0] ?? '');
};

/** A stack of its own for one line, everything on this machine. */
export const withStack = async <T>(
  {
    durability,
    ingress = 1,
    transfer = 1,
    env = {},
  }: Pick<LineOptions, 'durability' | 'ingress' | 'transfer' | 'env'>,
  use: (stack: Stack) => Promise<T>,
  isGuarded = true,
): Promise<T> => {
  // The guard of spans is on for a duplicate window after a start. For a run without it, as in a process that has run for a while,
  // that window is short.
  const windows = isGuarded ? {} : { duplicateWindowSeconds: 10 };
  const counts = { ingress, transfer };
  const stack = await startStack({
    traces: true,
    durability,
    ackWaitSeconds: 20,
    pipelines: asShipped,
    env,
    ...counts,
    ...windows,
  });
  try {
    return await use(stack);
  } finally {
    await stack.stop();
  }
};

const latencyAtHalf = async (
  subject: Subject,
  probe: () => Probe,
  row: Row,
  { hasLatency, seconds }: LineOptions,
): Promise<Latency | undefined> => {
  if (!hasLatency) return undefined;
  await measureLatency('warm', subject.load(), probe(), row.items_per_second / 2, warmSecondsMax);
  return measureLatency(row.stage, subject.load(), probe(), row.items_per_second / 2, seconds);
};

/** Push to visible in QuestDB. */
export const measurePush = (
  stage: string,
  points: number,
  connections: number,
  options: LineOptions,
): Promise<LineResult> =>
  withStack(options, async (stack) => {
    const subject = await pushSubject(stack, 'bench', { ...usualPoints, points, connections });
    const row = lineRow(stage, await repeatLine(subject, options));
    const probe = (): Probe => pointsProbe(stack, subject.source);
    return { row, latency: await latencyAtHalf(subject, probe, row, options) };
  });

/** The guard that follows a start has ended by then: its window, and a little. */
const guardSeconds = 12;

/** Export to visible in ClickHouse; `isGuarded`: as right after a start, each insert compared with what is stored. */
export const measureSpans = (
  stage: string,
  encoding: Encoding,
  isGuarded: boolean,
  options: LineOptions,
): Promise<LineResult> =>
  withStack(
    options,
    async (stack) => {
      const subject = await spansSubject(stack, 'bench', encoding, spansPerRequest, connections);
      if (!isGuarded) await measureRate(subject, guardSeconds, 0);
      const row = lineRow(stage, await repeatLine(subject, options));
      const probe = (): Probe => spansProbe(stack, subject.token);
      return { row, latency: await latencyAtHalf(subject, probe, row, options) };
    },
    isGuarded,
  );
