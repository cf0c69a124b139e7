/** What the limiter says of one request; header values of the RateLimit fields (draft-ietf-httpapi-ratelimit-headers). */
export type RateVerdict = {
  readonly isAdmitted: boolean;
  /** Whole seconds, at least 1; only for a refusal. */
  readonly retryAfterSeconds: number;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Requests per second per key by GCRA: one number a key, a second's worth of burst. Keys are `d:<data id>` and
 * `a:<application id>`.
 */
export type RateLimiter = {
  /** `ratePerSecond` 0 = unlimited (undefined is answered), negative = nothing is admitted. */
  judge(key: string, ratePerSecond: number, nowMs: number): RateVerdict | undefined;
};

const refuseAll: RateVerdict = {
  isAdmitted: false,
  retryAfterSeconds: 60,
  headers: { 'RateLimit-Policy': '"max_rate";q=0;w=1', RateLimit: '"max_rate";r=0;t=60' },
};

/** Keys whose time has passed are forgotten once there are more than this. */
const keysMax = 100_000;

/** Times since the epoch leave a double a quarter of a microsecond; this is above what adds up and below any interval. */
const roundingMs = 0.01;

export const createRateLimiter = (): RateLimiter => {
  const theoreticalArrival = new Map<string, number>();
  return {
    judge: (key, ratePerSecond, nowMs) => {
      if (ratePerSecond === 0) return undefined;
      if (ratePerSecond < 0) return refuseAll;
      const intervalMs = 1000 / ratePerSecond;
      const burstMs = Math.max(1000, intervalMs);
      const arrival = Math.max(theoreticalArrival.get(key) ?? 0, nowMs);
      const next = arrival + intervalMs;
      const isAdmitted = next - nowMs <= burstMs + roundingMs;
      if (isAdmitted) {
        if (theoreticalArrival.size >= keysMax) {
          for (const [old, time] of theoreticalArrival) if (time <= nowMs) theoreticalArrival.delete(old);
        }
        theoreticalArrival.set(key, next);
      }
      const usedMs = (isAdmitted ? next : arrival) - nowMs;
      const remaining = Math.max(0, Math.floor((burstMs - usedMs + roundingMs) / intervalMs));
      const waitMs = isAdmitted ? 0 : next - nowMs - burstMs;
      const resetSeconds = Math.max(1, Math.ceil(usedMs / 1000));
      return {
        isAdmitted,
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
        headers: {
          'RateLimit-Policy': `"max_rate";q=${ratePerSecond};w=1`,
          RateLimit: `"max_rate";r=${remaining};t=${resetSeconds}`,
        },
      };
    },
  };
};

/** The rate that holds for a recorded max_rate (design section 3): -1 the default, 0 unlimited, below -1 nothing. */
export const effectiveRate = (maxRate: number, defaultRate: number): number =>
  maxRate === -1 ? defaultRate : maxRate;
