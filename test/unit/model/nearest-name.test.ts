import { expect, it } from 'vitest';
import { nearestName } from '../../../src/model/nearest-name.ts';

const names = ['timestamp_unit_seconds', 'timestamp_too_old', 'metrics_empty', 'port'];

// A wrong suggestion sends its reader further away than none.
it.each([
  ['timestamp_unit_secs', 'timestamp_unit_seconds'],
  ['metrics_emtpy', 'metrics_empty'],
  ['timestamp_', 'timestamp_unit_seconds'],
  ['prot', 'port'],
  ['BOGUS', undefined],
  ['', undefined],
  ['x'.repeat(10_000), undefined],
])('the name that is meant by %j is %j', (given, meant) => {
  expect(nearestName(given, names)).toBe(meant);
});
