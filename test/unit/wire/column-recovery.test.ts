import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ColumnRegistry, Layout } from '../../../src/model/records.ts';
import { registerNames } from '../../../src/wire/column-naming.ts';
import { recoverNames } from '../../../src/wire/column-recovery.ts';
import { always } from '../../support/properties.ts';

const empty: ColumnRegistry = { mon_data_id: 1500001, metrics: [], dimensions: [] };
const caps = { metricsMax: 1_000, dimensionsMax: 1_000 };
const tableId = '2_mon_time_series_1500001.__default__';
const register = (from: ColumnRegistry, layout: Layout, metrics: string[], dimensions: string[]) =>
  registerNames(from, layout, tableId, caps, metrics, dimensions, 1);
const columnsOf = ({ metrics, dimensions }: ColumnRegistry) => ({
  metrics: metrics.map(({ column }) => column),
  dimensions: dimensions.map(({ column }) => column),
});
const pairs = ({ metrics, dimensions }: ColumnRegistry) =>
  [metrics, dimensions].map((entries) => entries.map(({ name, column }) => `${name} -> ${column}`));

const names = fc.array(
  fc.constantFrom(
    'a',
    'A',
    'a__2',
    'A__2',
    'a__3',
    'b',
    'B',
    'value',
    'Value',
    'metric__2',
    '__default__',
    'and',
    'and__2',
  ),
  {
    maxLength: 6,
  },
);

// A name with another name's column mixes the two for good.
describe('a registry that is older than its table', () => {
  it('takes in only names with the very columns they had', () => {
    always(
      fc.property(
        fc.constantFrom<Layout>('wide', 'narrow'),
        names,
        names,
        names,
        names,
        (layout, m, d, m2, d2) => {
          const old = register(empty, layout, m, d);
          const whole = register(old, layout, m2, d2);
          const recovered = recoverNames(old, layout, tableId, columnsOf(whole), 2);
          const [metrics = [], dimensions = []] = pairs(whole);
          const [foundMetrics = [], foundDimensions = []] = pairs(recovered);
          expect(metrics).toEqual(expect.arrayContaining(foundMetrics));
          expect(dimensions).toEqual(expect.arrayContaining(foundDimensions));
        },
      ),
      1_000,
    );
  });

  it('has every name whose column has no number, and the second of two colliding names after it occurs again', () => {
    const whole = register(empty, 'wide', ['cpu', 'CPU', 'load', 'host'], ['host', 'zone']);
    const recovered = recoverNames(
      register(empty, 'wide', ['cpu'], []),
      'wide',
      tableId,
      columnsOf(whole),
      2,
    );
    expect(pairs(recovered)).toEqual([['cpu -> cpu', 'load -> load', 'host -> host'], ['zone -> zone']]);
    // Without them a dimension that comes before the metric of its name would be given a column of numbers.
    expect(pairs(register(recovered, 'wide', ['CPU'], ['host']))).toEqual([
      ['cpu -> cpu', 'load -> load', 'host -> host', 'CPU -> CPU__2'],
      ['zone -> zone', 'host -> host__2'],
    ]);
  });

  it('takes nothing from the view of a name that was perhaps cut', () => {
    const long = `${'9'.repeat(10)}_mon_time_series_1500001.__default__`;
    const name = 'n'.repeat(100);
    const { metrics } = registerNames(empty, 'narrow', long, caps, [name], [], 1);
    expect(metrics[0]?.column.length).toBeLessThan(100);
    const found = { metrics: metrics.map(({ column }) => column), dimensions: [] };
    expect(recoverNames(empty, 'narrow', long, found, 2)).toBe(empty);
  });

  it.each(['wide', 'narrow'] as const)('knows a column `and`, which no new name is given (%s)', (layout) => {
    const found = { metrics: ['and'], dimensions: [layout === 'wide' ? 'zone' : 'and'] };
    expect(pairs(recoverNames(empty, layout, tableId, found, 2))).toEqual([
      ['and -> and'],
      found.dimensions.map((name) => `${name} -> ${name}`),
    ]);
  });

  it('stays the very object when it lacks nothing', () => {
    const whole = register(empty, 'wide', ['cpu', 'CPU'], ['host']);
    expect(recoverNames(whole, 'wide', tableId, columnsOf(whole), 2)).toBe(whole);
  });
});
