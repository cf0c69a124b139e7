import { type Demand, idleMsMax, measureDemands } from './demand.ts';
import type { DemandReport, RateShares } from './shares.ts';

/**
 * The limiter's result for one request; header values of the RateLimit fields (draft-ietf-httpapi-ratelimit-headers). The policy
 * names the rate of all processes together; the remaining number and its reset time are those of this process's share.
 */
export type RateVerdict = {
  readonly isAdmitted: boolean;
  /** Whole seconds, at least 1; only for a refusal. */
  readonly retryAfterSeconds: number;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Requests per second per key by GCRA, of this process's share. A key may bring half a second's worth of its share at once, or one
 * request, at each process. Keys are `d:<data id>` and `a:<application id>`. The caller passes the time, in ms.
 */
export type RateLimiter = {
  /** `ratePerSecond` 0 = unlimited (returns undefined), negative = nothing is admitted. */
  admit(key: string, ratePerSecond: number, nowMs: number): RateVerdict | undefined;
  /** The demand of every limited key. `closesWindow`, about once a second, begins a new count and forgets keys without requests whose burst is free again. */
  takeDemand(nowMs: number, closesWindow: boolean): Pick<DemandReport, 'rest' | 'demand'>;
};

const refuseAll: RateVerdict = {
  isAdmitted: false,
  retryAfterSeconds: 60,
  headers: { 'RateLimit-Policy': '"max_rate";q=0;w=1', RateLimit: '"max_rate";r=0;t=60' },
};

/** A single process has the whole rate. */
const alone: Pick<RateShares, 'fraction' | 'version' | 'processes'> = {
  fraction: () => 1,
  version: 0,
  processes: 1,
};

const burstSeconds = 0.5;
/** One request, and a quarter as much tolerance for senders that keep to a low rate with a few ms more or less. */
const burstRequestsMin = 1.25;
const secondsMax = 60;
/** A share that is 0 frees no burst: its key is forgotten all the same, so that memory is bounded. */
const filledMsMax = 300_000;
/** Above the rounding errors of sums of doubles, below any request. */
const rounding = 1e-6;

type Bucket = Demand & {
  /**
   * The filled part of its capacity, 0 to 1. As a ratio, because capacity and drain change with the share and the rate: a sender
   * that has used up its burst has still done so when the burst grows.
   */
  fill: number;
  /** Up to when `fill` has drained, ms. */
  drainedAt: number;
  rate: number;
  version: number;
  capacity: number;
  drainPerMs: number;
};

const secondsOf = (ms: number): number => Math.min(secondsMax, Math.max(1, Math.ceil(ms / 1000)));

const verdictOf = (bucket: Bucket, isAdmitted: boolean): RateVerdict => {
  const { fill, rate, capacity, drainPerMs } = bucket;
  const remaining = Math.max(0, Math.floor((1 - fill) * capacity + rounding));
  // A share that other processes do not know yet is no measure of the wait: the next report changes it.
  const isKnown = bucket.reported > 0 && drainPerMs > 0;
  const waitMs = isAdmitted || !isKnown ? 0 : (fill + 1 / capacity - 1 - rounding) / drainPerMs;
  return {
    isAdmitted,
    retryAfterSeconds: secondsOf(waitMs),
    headers: {
      'RateLimit-Policy': `"max_rate";q=${rate};w=1`,
      RateLimit: `"max_rate";r=${remaining};t=${secondsOf(fill === 0 ? 0 : fill / drainPerMs)}`,
    },
  };
};

/**
 * A limiter that uses the fraction of each rate that `shares` allows it. Calls `onSurge` while a key that has used half of its
 * burst has half as much demand again as its last report.
 */
export const createRateLimiter = (
  shares: Pick<RateShares, 'fraction' | 'version' | 'processes'> = alone,
  onSurge: () => void = () => {},
): RateLimiter => {
  const keys = new Map<string, Bucket>();
  let windowStart = 0;

  const bucketOf = (key: string, nowMs: number): Bucket => {
    const known = keys.get(key);
    if (known !== undefined) return known;
    const demand: Demand = { count: 0, previous: 0, since: nowMs, last: nowMs, reported: 0 };
    const unknown = { rate: 0, version: -1, capacity: 1, drainPerMs: 0 };
    const bucket: Bucket = { ...demand, ...unknown, fill: 0, drainedAt: nowMs };
    keys.set(key, bucket);
    return bucket;
  };

  const share = (bucket: Bucket, key: string, rate: number): void => {
    const own = rate * shares.fraction(key, rate);
    bucket.rate = rate;
    bucket.version = shares.version;
    bucket.capacity = Math.max(burstRequestsMin, burstSeconds * own);
    bucket.drainPerMs = own / 1000 / bucket.capacity;
  };

  const drain = (bucket: Bucket, key: string, rate: number, nowMs: number): void => {
    if (bucket.version !== shares.version || bucket.rate !== rate) share(bucket, key, rate);
    const drained = Math.max(0, nowMs - bucket.drainedAt) * bucket.drainPerMs;
    bucket.fill = Math.max(0, bucket.fill - drained);
    bucket.drainedAt = nowMs;
  };

  const drainIdle = (bucket: Bucket, idleMs: number): void => {
    const drainPerMs = bucket.rate / shares.processes / 1000 / bucket.capacity;
    bucket.fill = Math.max(0, bucket.fill - idleMs * Math.max(0, drainPerMs - bucket.drainPerMs));
  };

  /** Drains each second by the share of that second: the share of a key that comes seldom is 0 when it comes again. */
  const drainAll = (nowMs: number): void => {
    for (const [key, bucket] of keys) {
      const idleMs = nowMs - bucket.last > idleMsMax ? nowMs - bucket.drainedAt : 0;
      drain(bucket, key, bucket.rate, nowMs);
      // The share of an idle key may be 0 for good: of all processes together, its bursts drain by the rate at most.
      if (idleMs > 0) drainIdle(bucket, idleMs);
      if (nowMs - bucket.last > (bucket.fill > 0 ? filledMsMax : idleMsMax)) keys.delete(key);
    }
  };

  return {
    admit: (key, ratePerSecond, nowMs) => {
      if (ratePerSecond === 0) return undefined;
      if (ratePerSecond < 0) return refuseAll;
      const bucket = bucketOf(key, nowMs);
      drain(bucket, key, ratePerSecond, nowMs);
      bucket.last = nowMs;
      bucket.count++;
      const filled = bucket.fill + 1 / bucket.capacity;
      const isAdmitted = filled <= 1 + rounding;
      if (isAdmitted) bucket.fill = filled;
      if (bucket.fill > 0.5 && bucket.count > 1.5 * bucket.reported) onSurge();
      return verdictOf(bucket, isAdmitted);
    },
    takeDemand: (nowMs, closesWindow) => {
      const report = measureDemands(keys, windowStart, nowMs, closesWindow);
      if (closesWindow) {
        windowStart = nowMs;
        drainAll(nowMs);
      }
      return report;
    },
  };
};

/** The effective rate for a recorded max_rate (architecture 11.2): -1 the default, 0 unlimited, below -1 nothing. */
export const effectiveRate = (maxRate: number, defaultRate: number): number =>
  maxRate === -1 ? defaultRate : maxRate;
