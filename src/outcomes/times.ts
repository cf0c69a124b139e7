/** Last second that ClickHouse's DateTime holds. */
const timeMsMax = 4_294_967_295_000;

const text = (ms: number, characters: number): string =>
  new Date(Math.min(ms, timeMsMax)).toISOString().slice(0, characters).replace('T', ' ');

/** `YYYY-MM-DD hh:mm:00`, UTC: the minute in which this moment (ms since the epoch) lies. */
export const minuteText = (ms: number): string => `${text(ms, 16)}:00`;

/** `YYYY-MM-DD hh:mm:ss`, UTC, of a moment in ms since the epoch. */
export const secondText = (ms: number): string => text(ms, 19);

/** `YYYY-MM-DD hh:mm:ss.mmm`, UTC, of a moment in ms since the epoch. */
export const momentText = (ms: number): string => text(ms, 23);
