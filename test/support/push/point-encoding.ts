import { expect } from 'vitest';
import type { Layout } from '../../../src/model/records.ts';
import type { EncodedPoints } from '../../../src/rules/points/encoded-points.ts';
import type { EncodeContext } from './encode-points.ts';
import { type ReadRow, readRows } from './line-protocol-reader.ts';
import { countOrdinals } from './objects/point-encoder.ts';
import { contextWith, encodeWithNames, sourceWith } from './source.ts';

// The reasons of architecture 4.3, and those of architecture 6.2 that a point can have, written down once more.
export const reasonsOfPoints: readonly string[] = [
  ...['point_not_object', 'metrics_missing', 'metrics_empty', 'metric_name_invalid', 'metric_value_invalid'],
  ...['metric_not_finite', 'dimension_invalid', 'dimension_name_invalid', 'target_invalid', 'item_too_large'],
  'timestamp_required_with_key',
];
export const reasonsOfTime: readonly string[] = [
  ...['timestamp_not_numeric', 'timestamp_unit_seconds', 'timestamp_unit_micros', 'timestamp_unit_nanos'],
  ...['timestamp_out_of_range', 'timestamp_too_far_ahead', 'timestamp_too_old'],
];

export const layouts: readonly Layout[] = ['wide', 'narrow'];

/** A request of a source with this layout, encoded. */
export const encode = (
  data: readonly unknown[],
  layout: Layout = 'wide',
  change: Partial<EncodeContext> = {},
): EncodedPoints => encodeWithNames(data, contextWith(sourceWith(layout), change));

export const rowsOf = (encoded: EncodedPoints): ReadRow[] =>
  readRows(encoded.runs.map((run) => run.text).join(''));

const total = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

/** The invariants of every encoded request, for any points (architecture 6.1). */
export const expectBalanced = (encoded: EncodedPoints, data: readonly unknown[], layout: Layout): void => {
  const { runs } = encoded;
  expect(encoded.accepted + total(encoded.dropped)).toBe(data.length);
  const sum = (of: (run: (typeof runs)[number]) => number): number =>
    runs.reduce((all, run) => all + of(run), 0);
  expect(sum((run) => run.points)).toBe(encoded.accepted);
  expect(sum((run) => total(run.dropped) + run.deferred.length)).toBe(total(encoded.dropped));
  expect(sum((run) => run.deferred.length)).toBe(total(encoded.deferred));
  for (const run of runs) {
    expect(run.deferredOrdinals.length).toBe(run.deferred.length);
    const rows = readRows(run.text);
    expect(rows.length).toBe(run.rows);
    if (rows.length === 0) continue;
    const times = rows.map((row) => row.time);
    expect([run.timeMin, run.timeMax]).toEqual([Math.min(...times), Math.max(...times)]);
  }
  // Ordinals run through all runs without a gap: nothing is in two messages, nothing in none.
  const edges = runs.map((run) => [run.first, run.last]);
  expect(edges.map(([first]) => first)).toEqual([0, ...edges.slice(0, -1).map(([, last = -1]) => last + 1)]);
  expect((edges.at(-1)?.[1] ?? -1) + 1).toBe(encoded.ordinals);
  expect(countOrdinals(data, layout)).toBe(encoded.ordinals);
  const uids = rowsOf(encoded).map((row) => row.uid);
  expect(new Set(uids).size).toBe(uids.length);
};
