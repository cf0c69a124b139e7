/** Last second that ClickHouse's DateTime holds: a larger parameter begins again at 0. */
export const secondsMax = 4_294_967_295;
const timeMsMax = secondsMax * 1_000;
const minuteMs = 60_000;

const text = (ms: number, characters: number): string =>
  new Date(Math.min(ms, timeMsMax)).toISOString().slice(0, characters).replace('T', ' ');

/** Nearly all lines of a while have the same minute and moment, and a date costs as much to write as the rest of a line. */
const last = { minute: Number.NaN, minuteText: '', ms: Number.NaN, momentText: '' };

/** `YYYY-MM-DD hh:mm:00`, UTC: the minute in which this moment (ms since the epoch) lies. */
export const minuteText = (ms: number): string => {
  const minute = Math.floor(ms / minuteMs);
  if (minute !== last.minute) {
    last.minuteText = `${text(ms, 16)}:00`;
    last.minute = minute;
  }
  return last.minuteText;
};

/** `YYYY-MM-DD hh:mm:ss`, UTC, of a moment in ms since the epoch. */
export const secondText = (ms: number): string => text(ms, 19);

/** `YYYY-MM-DD hh:mm:ss.mmm`, UTC, of a moment in ms since the epoch. */
export const momentText = (ms: number): string => {
  if (ms !== last.ms) {
    last.momentText = text(ms, 23);
    last.ms = ms;
  }
  return last.momentText;
};
