import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ColumnRegistry, Layout } from '../../../src/model/records.ts';
import { isValidName, nameLengthMax, registerNames, viewPrefix } from '../../../src/wire/column-naming.ts';
import { always, validName } from '../../support/properties.ts';

const tableId = '2_mon_time_series_1500001.__default__';
const longTableId = '-2147483648_mon_time_series_2097151.__default__';
const caps = { metricsMax: 512, dimensionsMax: 64 };
const empty: ColumnRegistry = { mon_data_id: 1500001, metrics: [], dimensions: [] };

const register = (
  layout: Layout,
  metrics: readonly string[],
  dimensions: readonly string[] = [],
  registry = empty,
): ColumnRegistry => registerNames(registry, layout, tableId, caps, metrics, dimensions, 1_700_000_000);

const columns = (entries: ColumnRegistry['metrics']): Record<string, string> =>
  Object.fromEntries(entries.map(({ name, column }) => [name, column]));

describe('a name', () => {
  it.each([
    ['a', true],
    ['_', true],
    ['CPU_1', true],
    ['__proto__', true],
    ['', false],
    ['1a', false],
    ['a.b', false],
    ['a-b', false],
    ['a b', false],
    ['a\n', false],
    ['ä', false],
    ['a'.repeat(nameLengthMax), true],
    ['a'.repeat(nameLengthMax + 1), false],
  ])('%j is valid: %s', (name, valid) => {
    expect(isValidName(name)).toBe(valid);
  });
});

type Case = {
  what: string;
  layout: Layout;
  metrics: string[];
  dimensions?: string[];
  metricColumns: Record<string, string>;
  dimensionColumns?: Record<string, string>;
};

// QuestDB folds case and has one name space for each table: two sources in one column would mix their values for good.
const cases: Case[] = [
  {
    what: 'of their own',
    layout: 'wide',
    metrics: ['cpu', 'mem'],
    dimensions: ['host'],
    metricColumns: { cpu: 'cpu', mem: 'mem' },
    dimensionColumns: { host: 'host' },
  },
  {
    what: 'that fold to one: the first comer keeps its name',
    layout: 'wide',
    metrics: ['CPU', 'cpu', 'Cpu'],
    metricColumns: { CPU: 'CPU', cpu: 'cpu__2', Cpu: 'Cpu__3' },
  },
  {
    what: 'of a metric and a dimension of one name',
    layout: 'wide',
    metrics: ['cpu'],
    dimensions: ['cpu', 'CPU'],
    metricColumns: { cpu: 'cpu' },
    dimensionColumns: { cpu: 'cpu__2', CPU: 'CPU__3' },
  },
  {
    what: 'that the table has already',
    layout: 'wide',
    metrics: ['timestamp', 'uid', 'Target', 'metric', 'value', 'more_dimensions'],
    dimensions: ['target', 'UID'],
    metricColumns: {
      timestamp: 'timestamp__2',
      uid: 'uid__2',
      Target: 'Target__2',
      metric: 'metric__2',
      value: 'value__2',
      more_dimensions: 'more_dimensions__2',
    },
    dimensionColumns: { target: 'target__3', UID: 'UID__3' },
  },
  {
    // QuestDB takes the column for the operator in every WHERE, also in quotes, and in other letters.
    what: 'that QuestDB cannot compare',
    layout: 'wide',
    metrics: ['and', 'AND'],
    dimensions: ['And'],
    metricColumns: { and: 'and__2', AND: 'AND__3' },
    dimensionColumns: { And: 'And__4' },
  },
  {
    what: 'that QuestDB cannot compare: a view of a split table may be called so',
    layout: 'narrow',
    metrics: ['and'],
    dimensions: ['and'],
    metricColumns: { and: 'and' },
    dimensionColumns: { and: 'and__2' },
  },
  {
    what: 'like the placeholder measurement',
    layout: 'wide',
    metrics: ['__default__'],
    dimensions: ['__DEFAULT__'],
    metricColumns: { __default__: '__default____2' },
    dimensionColumns: { __DEFAULT__: '__DEFAULT__' },
  },
  {
    what: 'that look like ours',
    layout: 'wide',
    metrics: ['a__2', 'a', 'A', 'a__3'],
    metricColumns: { a__2: 'a__2', a: 'a', A: 'A__3', a__3: 'a__3__2' },
  },
  {
    what: 'of a split table: metrics name views, dimensions columns',
    layout: 'narrow',
    metrics: ['cpu', 'CPU', 'value', 'timestamp', '__default__'],
    dimensions: ['cpu', 'value', 'metric'],
    metricColumns: {
      cpu: 'cpu',
      CPU: 'CPU__2',
      value: 'value',
      timestamp: 'timestamp',
      __default__: '__default____2',
    },
    dimensionColumns: { cpu: 'cpu', value: 'value__2', metric: 'metric__2' },
  },
];

describe('columns', () => {
  it.each(cases)('$what ($layout)', ({ layout, metrics, dimensions = [], ...expected }) => {
    const registry = register(layout, metrics, dimensions);
    expect(columns(registry.metrics)).toEqual(expected.metricColumns);
    expect(columns(registry.dimensions)).toEqual(expected.dimensionColumns ?? {});
  });

  it('are the same whether names come one by one or together', () => {
    const together = register('wide', ['cpu', 'CPU', 'timestamp'], ['cpu']);
    const names = ['cpu', 'CPU', 'timestamp'];
    const oneByOne = names.reduce((registry, name) => register('wide', [name], [], registry), empty);
    expect(register('wide', [], ['cpu'], oneByOne)).toEqual(together);
  });

  it('never change: a column `and` that a table has keeps its name', () => {
    const and = { name: 'and', column: 'and', first_seen: 1, last_seen: 1 };
    const registry = register('wide', ['and', 'AND'], ['and'], { ...empty, metrics: [and] });
    expect(columns(registry.metrics)).toEqual({ and: 'and', AND: 'AND__2' });
    expect(columns(registry.dimensions)).toEqual({ and: 'and__3' });
  });

  it('never change: a later entry changes no earlier one', () => {
    const first = register('wide', ['cpu'], ['host']);
    const later = registerNames(first, 'wide', tableId, caps, ['CPU', 'cpu'], ['HOST'], 1_800_000_000);
    expect(later.metrics[0]).toBe(first.metrics[0]);
    expect(later.dimensions[0]).toBe(first.dimensions[0]);
    expect(later.metrics[1]).toEqual({
      name: 'CPU',
      column: 'CPU__2',
      first_seen: 1_800_000_000,
      last_seen: 1_800_000_000,
    });
    expect(first).toEqual(register('wide', ['cpu'], ['host']));
  });

  // The same object means: nothing to write. Without it every push with a full registry would be a write to KV.
  it('come as the same object when nothing is new', () => {
    const registry = register('wide', ['cpu', 'CPU'], ['host']);
    expect(register('wide', ['CPU', 'cpu', 'cpu'], ['host'], registry)).toBe(registry);
    expect(register('wide', [], [], registry)).toBe(registry);
    expect(
      registerNames(registry, 'wide', tableId, { metricsMax: 2, dimensionsMax: 1 }, ['x'], ['y'], 1),
    ).toBe(registry);
  });

  it('are given in the order of the names until the cap, metrics and dimensions apart', () => {
    const names = Array.from({ length: 600 }, (_, index) => `m${index}`);
    const registry = register(
      'wide',
      names,
      names.map((name) => `d${name}`),
    );
    expect(registry.metrics.map(({ name }) => name)).toEqual(names.slice(0, 512));
    expect(registry.dimensions.map(({ name }) => name)).toEqual(names.slice(0, 64).map((name) => `d${name}`));
  });

  it('are unique after folding, and every registered name has one', () => {
    const names = fc.array(
      fc.oneof(
        validName(3),
        fc.constantFrom('timestamp', 'UID', 'value', '__default__', 'a__2', 'A__2', 'target', 'and'),
      ),
      { maxLength: 30 },
    );
    const layouts = fc.constantFrom<Layout>('wide', 'narrow');
    always(
      fc.property(layouts, fc.array(fc.tuple(names, names), { maxLength: 3 }), (layout, rounds) => {
        const registry = rounds.reduce(
          (known, [metrics, dimensions]) => register(layout, metrics, dimensions, known),
          empty,
        );
        const fixed = ['timestamp', 'uid', 'target', 'more_dimensions', 'metric', 'value'];
        const metricColumns = registry.metrics.map(({ column }) => column.toLowerCase());
        const dimensionColumns = registry.dimensions.map(({ column }) => column.toLowerCase());
        const spaces =
          layout === 'wide'
            ? [[...fixed, ...metricColumns, ...dimensionColumns]]
            : [
                ['__default__', ...metricColumns],
                [...fixed, ...dimensionColumns],
              ];
        for (const space of spaces) expect(new Set(space).size).toBe(space.length);
        const wanted = new Set(rounds.flatMap(([metrics]) => metrics));
        expect(new Set(registry.metrics.map(({ name }) => name))).toEqual(wanted);
      }),
    );
  });
});

describe('a view of a split metric', () => {
  it('is called by the table id with the metric in the place of __default__', () => {
    expect(viewPrefix(tableId)).toBe('2_mon_time_series_1500001.');
  });

  // QuestDB refuses longer names: the view would never be made, and its metric have no table id of its own.
  it('has a unique name of at most 127 bytes, for any length of business and metric', () => {
    const common = 'm'.repeat(95);
    const metrics = ['aaaaa', 'aaaab', 'AAAAA', 'bbbbb'].map((end) => common + end);
    const registry = registerNames(empty, 'narrow', longTableId, caps, metrics, [], 1);
    const views = registry.metrics.map(({ column }) => viewPrefix(longTableId) + column);
    for (const view of views) expect(Buffer.byteLength(view)).toBeLessThanOrEqual(127);
    expect(new Set(views.map((view) => view.toLowerCase())).size).toBe(metrics.length);
    expect(registry.metrics.map(({ name }) => name)).toEqual(metrics);
  });
});
