import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  agoText,
  axisText,
  bytesText,
  durationText,
  exactText,
  numberText,
  percentText,
} from '../../../../console/src/parts/figures.ts';
import { always } from '../../../support/properties.ts';

it('numbers have separators, and three digits that count where they are small', () => {
  expect([0, 7, 1234567, 1234.5, 0.01234, 12.345].map(numberText)).toEqual([
    '0',
    '7',
    '1,234,567',
    '1,235',
    '0.0123',
    '12.3',
  ]);
});

it('values of senders are exact: different ones are never the same text, and the longest has 26 characters', () => {
  const values = [99.96, 99.97, 1000.4, 1000.1, 1_234_567, 0.1 + 0.2, 2 ** 53 - 1, 1e308, 5e-324, -1.5e-7, 0];
  expect(values.map(exactText)).toEqual([
    ...['99.96', '99.97', '1,000.4', '1,000.1', '1,234,567', '0.30000000000000004', '9,007,199,254,740,991'],
    ...['1E308', '5E-324', '-1.5E-7', '0'],
  ]);
  always(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(Number(exactText(value).replaceAll(',', ''))).toBe(value);
      expect(exactText(value).length).toBeLessThanOrEqual(26);
    }),
  );
});

it('sizes are in binary units, up to the largest', () => {
  expect([0, 1, 1023, 1024, 1536, 5 * 1024 ** 3, 3 * 1024 ** 6].map(bytesText)).toEqual([
    ...['0 B', '1 B', '1,020 B', '1 KiB', '1.5 KiB', '5 GiB', '3,070 PiB'],
  ]);
});

it('durations have at most two units', () => {
  expect([0, 0.5, 12, 1500, 59_000, 60_000, 3_725_000, 90_000_000, 172_800_000].map(durationText)).toEqual([
    ...['0 s', '500 µs', '12 ms', '1.5 s', '59 s', '1 min', '1 h 2 min', '1 d 1 h', '2 d'],
  ]);
});

it('a time is said relative to now in one unit', () => {
  expect(agoText(0, 500)).toBe('now');
  expect(agoText(0, 125_000)).toBe('2 min ago');
  expect(agoText(7_200_000, 0)).toBe('in 2 h');
});

it('shares have one digit behind the point', () => {
  expect(percentText(0.98765)).toBe('98.8%');
});

it('a share that is neither nothing nor all is never said to be, and below 1 % two digits count', () => {
  expect(
    [0, 1, 0.00034, 0.0001, 0.00015, 0.0049, 1e-9, 0.99996, 0.9996, 1 - 2 ** -53].map(percentText),
  ).toEqual([
    ...['0%', '100%', '0.034%', '0.01%', '0.015%', '0.49%', '0.0000001%', '99.996%', '99.96%'],
    '99.99999999999999%',
  ]);
  expect([1.5, -0.25, 12].map(percentText)).toEqual(['150%', '-25%', '1,200%']);
});

it('labels of an axis are short at every size, and those of neighbours differ', () => {
  const ticks = [0, -250_000, 750, 0.025, 20_000_000_000, 1_250_000, -999_500_000, 2.5e20, 1e300, 5e-9];
  expect(ticks.map(axisText)).toEqual([
    ...['0', '-250,000', '750', '0.025', '20B', '1.25M', '-999.5M', '2.5E20', '1E300', '5E-9'],
  ]);
});
