import { expect, test } from 'vitest';
import { calibrate, slowOf } from '../../../bench/calibration.ts';

test('a calibration takes measurable time', () => {
  expect(calibrate()).toBeGreaterThan(0);
});

test('measurements on a machine a quarter slower than at its best moment are named, with how much slower', () => {
  const rows = [{ calibration_ms: 20 }, { calibration_ms: 24 }, { calibration_ms: 30 }];
  expect(slowOf(rows)).toEqual([{ row: { calibration_ms: 30 }, factor: 1.5 }]);
  expect(slowOf([])).toEqual([]);
});
