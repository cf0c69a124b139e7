import type { DemandReport } from './shares.ts';

/** The requests for one key, counted in windows of about a second. */
export type Demand = {
  /** Requests in the current window. */
  count: number;
  /** Requests per second in the window before. */
  previous: number;
  /** When the first request came, and the last one (ms). */
  readonly since: number;
  last: number;
  /** Requests per second that were reported last. */
  reported: number;
};

/** A key without a request for this long has no demand. */
export const idleMsMax = 10_000;

/** A few requests in a short time are a weak measure: up to this number they count as the demand of a whole second. */
const sampleMin = 10;

const inWindow = ({ count, since }: Demand, windowStart: number, nowMs: number): number => {
  const shortestMs = Math.min(1000, Math.max(100, (sampleMin * 1000) / Math.max(1, count)));
  return (count * 1000) / Math.max(nowMs - Math.max(windowStart, since), shortestMs);
};

/**
 * Requests per second: the larger of the last two windows, so that one quiet second costs no share; or one request by the time
 * since the last one, so that a sender of one request every few seconds keeps a share between them.
 */
const estimate = (demand: Demand, current: number, nowMs: number): number => {
  const silentMs = nowMs - demand.last;
  const seldom = silentMs > idleMsMax ? 0 : Math.min(1, 1000 / silentMs);
  return Math.max(current, demand.previous, seldom);
};

/** Keys in a report of demand; about 20 bytes each. */
export const reportedKeysMax = 1000;

/** Measures every key's demand; `closesWindow` begins a new window. Returns the content of the report, without the tick. */
export const measureDemands = (
  demands: ReadonlyMap<string, Demand>,
  windowStart: number,
  nowMs: number,
  closesWindow: boolean,
): Pick<DemandReport, 'rest' | 'demand'> => {
  const measured: [string, number][] = [];
  for (const [key, demand] of demands) {
    const current = inWindow(demand, windowStart, nowMs);
    demand.reported = estimate(demand, current, nowMs);
    if (closesWindow) {
      demand.previous = current;
      demand.count = 0;
    }
    const thousandths = Math.round(demand.reported * 1000);
    if (thousandths > 0) measured.push([key, thousandths]);
  }
  if (measured.length <= reportedKeysMax) return { rest: 0, demand: Object.fromEntries(measured) };
  measured.sort(([, one], [, other]) => other - one);
  return {
    rest: measured[reportedKeysMax]?.[1] ?? 0,
    demand: Object.fromEntries(measured.slice(0, reportedKeysMax)),
  };
};
