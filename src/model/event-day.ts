import { dayMs, dayText } from './time.ts';

/** The form of an event day. */
export const eventDayForm = /^\d{4}-\d{2}-\d{2}$/;
/** Why a text of another form is none. */
export const eventDayFormText = 'must be a date like 2026-11-22';

/** Whether the text is a day of the calendar: Date takes February 30 as a day of March. */
export const isCalendarDate = (text: string): boolean => {
  const ms = Date.parse(`${text}T00:00:00Z`);
  return eventDayForm.test(text) && !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
};

/**
 * The event day that a text like 2026-11-22 names, in days since 1970-01-01, or why it names none. Later ones than tomorrow (UTC) are
 * refused: a comparison of a mistyped day would find nothing and look like a good one.
 */
export const eventDayOf = (text: string, nowMs: number): number | string => {
  if (!eventDayForm.test(text)) return eventDayFormText;
  if (!isCalendarDate(text)) return 'is not a date of the calendar';
  const ms = Date.parse(`${text}T00:00:00Z`);
  if (ms < 0) return 'must not be before 1970-01-01';
  const tomorrow = Math.floor(nowMs / dayMs) + 1;
  const day = ms / dayMs;
  if (day <= tomorrow) return day;
  return `must not be after ${dayText(tomorrow)}, tomorrow in UTC`;
};
