// Marks of a time axis. Buckets are steps of UTC; only labels know a zone, by Intl, which knows when its clocks change.

const minute = 60;
const hour = 3_600;
const day = 86_400;
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14_400].map(
  (each) => each * minute,
);

const formatters = new Map<string, Intl.DateTimeFormat>();

const formatterOf = (zone: string | undefined): Intl.DateTimeFormat => {
  const known = formatters.get(zone ?? '');
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  formatters.set(zone ?? '', made);
  return made;
};

/** What the clock of the zone shows, as if it were UTC: Unix seconds. `zone` undefined is that of this machine. */
export const wallClock = (at: number, zone: string | undefined): number => {
  if (zone === 'UTC') return at;
  const parts = new Map(
    formatterOf(zone)
      .formatToParts(at * 1000)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const date = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'));
  return date / 1000 + part('second');
};

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const dateText = (wall: number): string => {
  const date = new Date(wall * 1000);
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]}`;
};
const clockText = (wall: number): string => new Date(wall * 1000).toISOString().slice(11, 16);

/** `UTC+2`, `UTC-03:30`. */
const offsetText = (seconds: number): string => {
  const rest = Math.abs(seconds) % hour;
  const hours = Math.floor(Math.abs(seconds) / hour);
  const sign = seconds < 0 ? '-' : '+';
  return `UTC${sign}${rest === 0 ? hours : `${String(hours).padStart(2, '0')}:${rest / minute}`}`;
};

export type TimeTick = { readonly at: number; readonly label: string };

/**
 * Walks in strides that meet each multiple of the step, also where the zone is some quarters of an hour away from UTC, and keeps the
 * places where its clock shows one.
 */
const placesOf = (since: number, until: number, step: number, zone: string | undefined): number[] => {
  const stride = [15 * minute, 5 * minute].find((each) => step % each === 0) ?? minute;
  const places: number[] = [];
  let at = Math.ceil(since / stride) * stride;
  let former = Math.floor(wallClock(at - stride, zone) / step);
  while (at <= until) {
    const wall = wallClock(at, zone);
    const isMark = step < day ? wall % step === 0 : Math.floor(wall / step) > former;
    if (isMark) places.push(at);
    former = Math.floor(wall / step);
    // Far from the next mark there is nothing to look at; clocks change by at most two hours.
    const leap = Math.floor((step - (wall % step) - 2 * hour) / stride) * stride;
    at += Math.max(stride, leap);
  }
  return places;
};

/**
 * At most `countMax` marks between two times (Unix seconds) at round times of the zone. A day begins with its date; where the clocks go
 * back, the second of two equal times names its distance to UTC; where they go forward, a day may begin after midnight.
 */
export const timeTicks = (
  since: number,
  until: number,
  { zone, countMax = 8 }: { readonly zone?: string | undefined; readonly countMax?: number } = {},
): readonly TimeTick[] => {
  const step =
    steps.find((each) => (until - since) / each <= countMax) ??
    Math.ceil((until - since) / countMax / day) * day;
  const places = placesOf(since, until, step, zone);
  const walls = places.map((at) => wallClock(at, zone));
  return places.map((at, index) => {
    const wall = walls[index] ?? at;
    const isNewDay = wall % day === 0 || step >= day;
    const isRepeated = index > 0 && walls[index - 1] !== undefined && wall <= (walls[index - 1] ?? 0);
    const text = isNewDay ? dateText(wall) : clockText(wall);
    return { at, label: isRepeated ? `${text} ${offsetText(wall - at)}` : text };
  });
};

/** A moment in words: `24 Nov 14:05`, with the distance to UTC. */
export const momentText = (at: number, zone?: string): string => {
  const wall = wallClock(at, zone);
  return `${dateText(wall)} ${clockText(wall)}${wall === at ? ' UTC' : ` ${offsetText(wall - at)}`}`;
};
