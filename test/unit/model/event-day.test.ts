import { expect, it } from 'vitest';
import { eventDayOf } from '../../../src/model/event-day.ts';

const now = Date.parse('2026-11-22T23:59:59Z');

it.each([
  ['1970-01-01', 0],
  ['1970-01-02', 1],
  ['2024-02-29', 19_782],
  ['2026-11-22', 20_779],
  ['2026-11-23', 20_780],
])('%s is day %d since 1970', (text, day) => {
  expect(eventDayOf(text, now)).toBe(day);
});

it.each([
  ['', 'must be a date like 2026-11-22'],
  ['2026-11-22T00:00:00Z', 'must be a date like 2026-11-22'],
  ['+02026-11-22', 'must be a date like 2026-11-22'],
  ['2026-02-30', 'is not a date of the calendar'],
  ['2026-02-29', 'is not a date of the calendar'],
  ['2026-13-01', 'is not a date of the calendar'],
  ['2026-11-00', 'is not a date of the calendar'],
  ['1960-01-01', 'must not be before 1970-01-01'],
  ['0000-01-01', 'must not be before 1970-01-01'],
  ['2026-11-24', 'must not be after 2026-11-23, tomorrow in UTC'],
  ['9999-12-31', 'must not be after 2026-11-23, tomorrow in UTC'],
])('%j names no event day: it %s', (text, why) => {
  expect(eventDayOf(text, now)).toBe(why);
});
