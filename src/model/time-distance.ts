import type { TimeReason } from './reasons.ts';
import type { TimePolicy } from './time.ts';

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** The two largest units of a distance: `9 d 4 h`, `61 ms`. */
const inUnits = (distanceMs: number): string => {
  const at = units.findIndex(([, unitMs]) => distanceMs >= unitMs);
  if (at < 0) return '0 ms';
  let rest = distanceMs;
  return units
    .slice(at, at + 2)
    .map(([unit, unitMs]) => {
      const whole = Math.floor(rest / unitMs);
      rest -= whole * unitMs;
      return whole === 0 ? '' : `${whole} ${unit}`;
    })
    .filter((text) => text !== '')
    .join(' ');
};

/**
 * For a time outside its window: the server's time, how far away the time is, and the window, so that a sender can tell a wrong
 * clock from a wrong unit. Empty for every other reason. `timeMs`, as it was sent, and `arrivedAtMs` are Unix milliseconds.
 */
export const timeDistance = (
  reason: TimeReason,
  timeMs: unknown,
  arrivedAtMs: number,
  { aheadMsMax, ageMsMax }: TimePolicy,
): string => {
  const isAhead = reason === 'timestamp_too_far_ahead';
  const windowMs = isAhead ? aheadMsMax : ageMsMax;
  if (!isAhead && reason !== 'timestamp_too_old') return '';
  if (typeof timeMs !== 'number' || windowMs === undefined) return '';
  const distance = inUnits(Math.abs(timeMs - arrivedAtMs));
  const server = new Date(arrivedAtMs).toISOString();
  return `${distance} ${isAhead ? 'after' : 'before'} the server's time ${server}; the window is ${inUnits(windowMs)}`;
};
