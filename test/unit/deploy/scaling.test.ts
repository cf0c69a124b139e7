import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createScaler,
  type Lag,
  readOverlayScaler,
  readScaler,
  runScaler,
  syncSeconds,
} from '../../support/deploy/autoscaler.ts';
import { courseOf, type ScalingCourse, stories } from '../../support/deploy/scaling-courses.ts';

const spec = readScaler();
const none: Lag = { oldestAgeSeconds: 0, bytes: 0 };
const minutes = (count: number): number => count * 60;

/** A queue with its workers: what comes, what each of them takes, and how long the oldest has waited. */
const createQueue = (bytesPerWorkerSecond: number, bytesAt: (second: number) => number) => {
  const waiting: { readonly since: number; bytes: number }[] = [];
  return (second: number, workers: number): Lag => {
    const arrived = bytesAt(second);
    if (arrived > 0) waiting.push({ since: second, bytes: arrived });
    let room = workers * bytesPerWorkerSecond;
    for (let first = waiting[0]; first !== undefined && room > 0; first = waiting[0]) {
      const taken = Math.min(first.bytes, room);
      first.bytes -= taken;
      room -= taken;
      if (first.bytes === 0) waiting.shift();
    }
    return {
      oldestAgeSeconds: second - (waiting[0]?.since ?? second),
      bytes: waiting.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  };
};

/** One worker's rate, bytes a second: 50,000 points of 200 bytes. */
const worker = 10_000_000;
const atFirst = (replicas: readonly number[], least: number): number => {
  const index = replicas.findIndex((count) => count >= least);
  return index < 0 ? Number.POSITIVE_INFINITY : index * syncSeconds;
};

describe('the autoscaler that these tests run', () => {
  // It is Kubernetes' algorithm by its documentation; a wrong one would prove nothing.
  it('waits out the window of growth, grows by the policy, and shrinks by the policy after the window of shrinking', () => {
    const { replicas } = runScaler(spec, minutes(15), (second) =>
      second < minutes(3) ? { oldestAgeSeconds: 600, bytes: 0 } : none,
    );
    const [up, down] = [spec.scaleUp.policies[0]?.value ?? 0, spec.scaleDown.policies[0]?.value ?? 0];
    expect([up, down]).toEqual([2, 1]);
    expect(replicas.slice(0, 5)).toEqual([3, 3, 3, 3, 5]);
    const last = replicas.lastIndexOf(Math.max(...replicas)) * syncSeconds;
    expect(last).toBeGreaterThanOrEqual(
      minutes(3) + spec.scaleDown.stabilizationWindowSeconds - 2 * syncSeconds,
    );
    expect(replicas.at(-1)).toBeLessThan(Math.max(...replicas));
  });

  it('leaves what is within the tolerance, and what is within its bounds', () => {
    const scaler = createScaler(spec);
    expect(scaler.sync(0, { oldestAgeSeconds: 32, bytes: 0 })).toBe(1);
    for (let second = 15; second < minutes(10); second += syncSeconds)
      expect(scaler.sync(second, { oldestAgeSeconds: 1e6, bytes: 1e12 })).toBeLessThanOrEqual(spec.max);
  });
});

describe('transfer by the manifest', () => {
  const recorded = z
    .object({
      sampleSeconds: z.number(),
      samples: z.array(z.tuple([z.number(), z.number(), z.number()])),
    })
    .parse(
      JSON.parse(readFileSync(join(import.meta.dirname, '../../support/deploy/lag-of-a-stack.json'), 'utf8')),
    ).samples;
  const recordedSeconds = recorded.at(-1)?.[0] ?? 0;
  const recordedAt = (second: number): Lag => {
    const [, oldestAgeSeconds, bytes] = recorded.findLast(([at]) => at <= second) ?? [0, 0, 0];
    return { oldestAgeSeconds, bytes };
  };

  // Workers that come and go cost redeliveries, and the guard reads more after each.
  it('grows once and shrinks once over the lag that a real stack had under a step and three bursts', () => {
    expect(Math.max(...recorded.map(([, age]) => age))).toBeGreaterThan(60);
    const { replicas, turns } = runScaler(spec, recordedSeconds + minutes(20), recordedAt);
    expect(turns).toBeLessThanOrEqual(1);
    expect(Math.max(...replicas)).toBeGreaterThan(2);
    expect(replicas.at(-1)).toBe(spec.min);
  });

  it('does so after each repetition', () => {
    const pause = minutes(20);
    const { replicas, turns } = runScaler(spec, 3 * (recordedSeconds + pause), (second) =>
      recordedAt(second % (recordedSeconds + pause)),
    );
    expect(turns).toBeLessThanOrEqual(5);
    expect(replicas.at(-1)).toBe(spec.min);
  });

  it('has enough workers for a step within five minutes, keeps the lag short while it lasts, and goes back after it', () => {
    const step = (second: number): number => (second >= 60 && second < minutes(60) ? 4.5 * worker : 0);
    const queue = createQueue(worker, step);
    let ageMax = 0;
    const { replicas, turns } = runScaler(spec, minutes(120), (second, workers) => {
      const lag = queue(second, workers);
      if (second > minutes(12)) ageMax = Math.max(ageMax, lag.oldestAgeSeconds);
      return lag;
    });
    expect(atFirst(replicas, 5)).toBeLessThanOrEqual(60 + minutes(5));
    expect(replicas.at(-1)).toBe(spec.min);
    // With the backlog gone it gives one back after another, and takes them again when the lag grows.
    expect(turns).toBeLessThanOrEqual(9);
    expect(ageMax).toBeLessThan(60);
  });

  // Teeth that one worker more would swallow are one load; of larger ones some are a growth of their own.
  it.each([
    ['two minutes', 2, 1],
    ['five minutes', 5, 7],
    ['twelve minutes', 12, 5],
  ])('turns seldom under a sawtooth of %s', (_, period, turnsMax) => {
    const total = 60;
    const sawtooth = (second: number): number => {
      if (second >= minutes(total)) return 0;
      const within = second % minutes(period);
      return within < minutes(period) / 2 ? (6 * worker * within) / (minutes(period) / 2) : 0;
    };
    const { replicas, turns } = runScaler(spec, minutes(total + 30), createQueue(worker, sawtooth));
    expect(Math.max(...replicas)).toBeGreaterThan(1);
    expect(turns).toBeLessThanOrEqual(turnsMax);
    expect(replicas.at(-1)).toBe(spec.min);
  });

  it('stays at its bounds under a lag that jumps between nothing and everything at each look', () => {
    const { turns } = runScaler(spec, minutes(60), (second) =>
      Math.floor(second / syncSeconds) % 2 === 0 ? { oldestAgeSeconds: 600, bytes: 2 ** 33 } : none,
    );
    expect(turns).toBe(0);
  });
});

// test/deploy/scaling.test.ts asks the queries of the manifests on the same courses.
describe.each([
  ['by age and bytes', spec],
  ['by messages', readOverlayScaler('nats-lag')],
])('transfer scaled %s', (_, scaler) => {
  const replicasIn = (course: ScalingCourse, from: number, until: number): number[] =>
    course.replicas.slice(minutes(from) / syncSeconds, minutes(until) / syncSeconds);

  it('stays at one worker while the store is away for half an hour at a trickle, and when it is back', () => {
    const course = courseOf(scaler, stories.storeAway);
    expect(Math.max(...course.scrapes.map(({ oldestAgeSeconds }) => oldestAgeSeconds))).toBeGreaterThan(
      1_700,
    );
    expect(new Set(course.replicas)).toEqual(new Set([1]));
  });

  it('goes out under a backlog, and in again once it is drained', () => {
    const { replicas, lags } = courseOf(scaler, { ...stories.backlog, seconds: minutes(90) });
    expect(atFirst(replicas, Math.min(3, scaler.max))).toBeLessThanOrEqual(minutes(5));
    expect(lags.at(-1)?.bytes).toBe(0);
    expect(replicas.at(-1)).toBe(scaler.min);
  });

  it('stays as it is while metadata cannot read NATS', () => {
    const course = courseOf(scaler, stories.blind);
    const [before] = replicasIn(course, 12, 13);
    expect(before).toBeGreaterThan(1);
    // What was read in the last minute still counts.
    const since = replicasIn(course, 13.25, 40);
    expect(new Set(since).size).toBe(1);
    expect(since[0]).toBeGreaterThanOrEqual(before ?? 0);
  });

  it('stays as it is while Prometheus is away, even with nothing to do', () => {
    const course = courseOf(scaler, stories.prometheusAway);
    const replicas = replicasIn(course, 12, 60);
    expect(replicas[0]).toBeGreaterThan(1);
    expect(new Set(replicas).size).toBe(1);
  });
});
