import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DropReason } from '../../src/model/reasons.ts';
import type { Layout } from '../../src/model/records.ts';
import { pointCost, runBudget } from '../../src/wire/points/cutting.ts';
import type { EncodedPoints } from '../../src/wire/points/encoded-points.ts';
import { countOrdinals, encodePoints, type PointContext } from '../../src/wire/points/point-encoder.ts';
import { type ReadRow, readRows } from '../support/line-protocol-reader.ts';
import { droppedPointsAt, pointsAt } from '../support/point-cases.ts';
import { always, trickyText, validName } from '../support/properties.ts';
import { arrivedAt, contextWith, encodeWithNames, sourceWith } from '../support/push-source.ts';

// Copied from design section 4, and the rules of section 6 that a point can break.
const reasonsOfPoints = [
  ...['point_not_object', 'metrics_missing', 'metrics_empty', 'metric_name_invalid', 'metric_value_invalid'],
  ...['metric_not_finite', 'dimension_invalid', 'dimension_name_invalid', 'target_invalid', 'item_too_large'],
  'timestamp_required_with_key',
];
const reasonsOfTime = [
  ...['timestamp_not_numeric', 'timestamp_unit_seconds', 'timestamp_unit_micros', 'timestamp_unit_nanos'],
  ...['timestamp_out_of_range', 'timestamp_too_far_ahead', 'timestamp_too_old'],
];

const layouts: Layout[] = ['wide', 'narrow'];
const droppedPoints = droppedPointsAt(arrivedAt);
const { timestamp: time, good, withMetrics, withTarget, withTime } = pointsAt(arrivedAt);

/** Arrays in arrays, so many deep. */
const nested = (depth: number, core: unknown = 1): unknown => {
  let value = core;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
};

const encode = (
  data: readonly unknown[],
  layout: Layout = 'wide',
  change: Partial<PointContext> = {},
): EncodedPoints => encodeWithNames(data, contextWith(sourceWith(layout), change));

const rowsOf = (encoded: EncodedPoints): ReadRow[] => readRows(encoded.runs.map((run) => run.text).join(''));

const total = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

/** What holds of every encoded request, whatever its points were (design decision D3). */
const expectBalanced = (encoded: EncodedPoints, data: readonly unknown[], layout: Layout): void => {
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

describe.each(layouts)('a point that breaks a rule (%s)', (layout) => {
  // The original refuses the whole request, or loses all of it, for one such point: its neighbours must not notice it.
  it.each(droppedPoints)('is dropped alone where $what: $reason', ({ point, reason, field, isKeyed }) => {
    const data = [good, point, good];
    const encoded = encode(data, layout, { isKeyed: isKeyed === true });
    expect(Object.fromEntries(encoded.dropped)).toEqual({ [reason]: 1 });
    expect(encoded.examples).toEqual([{ index: 1, reason, field, detail: expect.any(String) }]);
    const taken = countOrdinals([point], layout);
    expect(rowsOf(encoded).map(({ uid, time: at }) => [uid, at])).toEqual([
      ['1000', time],
      [String(1001 + taken), time],
    ]);
    expectBalanced(encoded, data, layout);
  });

  it('has a case here for every reason that the design names', () => {
    const covered = new Set<string>(droppedPoints.map(({ reason }) => reason));
    expect([...covered].toSorted()).toEqual([...reasonsOfPoints, ...reasonsOfTime].toSorted());
  });

  it('is shown among the first twenty with its place, and counted beyond', () => {
    const data = Array.from({ length: 30 }, () => withMetrics({}));
    const encoded = encode([good, ...data], layout);
    expect(encoded.examples.map(({ index }) => index)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    expect(encoded.dropped.get('metrics_empty')).toBe(30);
  });

  it('is shown with at most 80 characters of what it holds', () => {
    const { examples } = encode(
      [withTarget({ a: 'x'.repeat(10_000) }), withTime('9'.repeat(10_000)), 'y'.repeat(10_000)],
      layout,
    );
    for (const { detail } of examples) expect(detail.length).toBeLessThan(150);
    expect(examples).toHaveLength(3);
  });
});

describe.each(layouts)('a point whose time fails (%s)', (layout) => {
  // Design decision D2: the verdict is passed in transfer, so everything that may be stored there has to travel.
  it('travels as sent, with its ordinal, and without what the specification does not name', () => {
    const late = {
      metrics: { cpu: 1, mem: 2 },
      target: 't',
      dimensions: { a: 1 },
      timestamp: 'N',
      access_token: 'x',
    };
    const encoded = encode([good, late, good, withTime(5)], layout);
    const [run] = encoded.runs;
    expect(run?.deferred.map((text) => JSON.parse(text))).toEqual([
      { metrics: { cpu: 1, mem: 2 }, target: 't', dimension: { a: 1 }, timestamp: 'N' },
      { metrics: { cpu: 1 }, timestamp: 5 },
    ]);
    expect(run?.deferredOrdinals).toEqual(layout === 'wide' ? [1, 3] : [1, 4]);
    expect(Object.fromEntries(encoded.deferred)).toEqual({
      timestamp_not_numeric: 1,
      timestamp_unit_seconds: 1,
    });
    expect(run?.dropped.size).toBe(0);
  });

  it('is dropped for its other fault where it has one', () => {
    const encoded = encode([good, { metrics: {}, timestamp: 'N' }], layout);
    expect(Object.fromEntries(encoded.dropped)).toEqual({ metrics_empty: 1 });
    expect(encoded.deferred.size).toBe(0);
  });

  it('registers no names', () => {
    const context = contextWith(sourceWith(layout));
    const late = { metrics: { never: 1 }, dimension: { nowhere: 'x' }, timestamp: 'N' };
    const { unknownMetrics, unknownDimensions } = encodePoints([late, good], context);
    expect([[...unknownMetrics], [...unknownDimensions]]).toEqual([['cpu'], []]);
  });
});

describe('a kept point', () => {
  const point = {
    metrics: { cpu: 1.5, mem: -0 },
    target: '10.0.0.1',
    dimension: { module: 'db', b: 2 },
    timestamp: time,
  };
  const table = '2_mon_time_series_1500001.__default__';

  it('is one row of a wide table', () => {
    expect(encode([point]).runs.map(({ text }) => text)).toEqual([
      `${table},target=10.0.0.1,module=db,b=2 cpu=1.5,mem=-0,uid=1000i ${time}\n`,
    ]);
  });

  it('is a row a metric of a narrow table', () => {
    expect(encode([point], 'narrow').runs.map(({ text }) => text)).toEqual([
      `${table},metric=cpu,target=10.0.0.1,module=db,b=2 value=1.5,uid=1000i ${time}\n` +
        `${table},metric=mem,target=10.0.0.1,module=db,b=2 value=-0,uid=1001i ${time}\n`,
    ]);
  });

  it('uses the columns of the registry, and in a narrow table the metric as it is called', () => {
    const clash = {
      metrics: { CPU: 1, cpu: 2, timestamp: 3 },
      dimension: { cpu: 'x', Metric: 'y' },
      timestamp: time,
    };
    expect(rowsOf(encode([clash]))).toEqual([
      {
        table,
        tags: { target: '', cpu__3: 'x', Metric__2: 'y' },
        fields: { CPU: 1, cpu__2: 2, timestamp__2: 3 },
        uid: '1000',
        time,
      },
    ]);
    expect(rowsOf(encode([clash], 'narrow')).map(({ tags, fields }) => [tags, fields])).toEqual([
      [{ metric: 'CPU', target: '', cpu: 'x', Metric__2: 'y' }, { value: 1 }],
      [{ metric: 'cpu', target: '', cpu: 'x', Metric__2: 'y' }, { value: 2 }],
      [{ metric: 'timestamp', target: '', cpu: 'x', Metric__2: 'y' }, { value: 3 }],
    ]);
  });

  it.each([
    ['a number', 5, '5'],
    ['a fraction', 1.5, '1.5'],
    ['a large number', 1e21, '1e+21'],
    ['true', true, 'true'],
    ['false', false, 'false'],
    ['an empty string', '', ''],
    ['what needs escaping', ' a,b=c\\"\n\r\t漢😀', ' a,b=c\\"\n\r\t漢😀'],
  ])('has a dimension of %s as text', (_, value, text) => {
    const rows = rowsOf(encode([{ metrics: { cpu: 1 }, dimension: { a: value }, timestamp: time }]));
    expect(rows.map(({ tags }) => tags)).toEqual([{ target: '', a: text }]);
  });

  it.each([
    ['a dimension that is null', { dimension: { a: null, b: 'x' } }, { target: '', b: 'x' }],
    ['no dimensions', {}, { target: '' }],
    ['dimension null', { dimension: null }, { target: '' }],
    ['the alias dimensions', { dimensions: { a: 'x' } }, { target: '', a: 'x' }],
    ['both: dimension counts', { dimension: { a: 'x' }, dimensions: { a: 'y' } }, { target: '', a: 'x' }],
    ['a target', { target: 'a b' }, { target: 'a b' }],
    ['a target that is a number', { target: 7 }, { target: '7' }],
    ['a target that is null', { target: null }, { target: '' }],
    [
      'a dimension called target',
      { target: 't', dimension: { target: 'd' } },
      { target: 't', target__2: 'd' },
    ],
    [
      'a dimension called __proto__',
      JSON.parse('{"dimension":{"__proto__":"x"}}'),
      JSON.parse('{"target":"","__proto__":"x"}'),
    ],
  ])('may have %s', (_, fields, tags) => {
    const encoded = encode([{ metrics: { cpu: 1 }, timestamp: time, ...Object(fields) }]);
    expect(rowsOf(encoded).map((row) => Object.entries(row.tags))).toEqual([Object.entries(tags)]);
  });

  it.each([undefined, null])('without timestamp (%s) has the time of its arrival', (timestamp) => {
    for (const layout of layouts) {
      expect(rowsOf(encode([withTime(timestamp)], layout)).map((row) => row.time)).toEqual([arrivedAt]);
    }
  });

  it('keeps every double to the bit', () => {
    const value = fc.double({ noNaN: true, noDefaultInfinity: true });
    always(
      fc.property(fc.dictionary(validName(8), value, { minKeys: 1, maxKeys: 8 }), (metrics) => {
        const rows = rowsOf(encode([withMetrics(metrics)], 'narrow'));
        expect(rows.map(({ tags, fields }) => [tags['metric'], fields['value']])).toEqual(
          Object.entries(metrics),
        );
      }),
    );
  });

  it('keeps every text to the character', () => {
    const text = trickyText(' ,=\\\n\r\t"a漢').filter((value) => !value.includes('\u0000'));
    always(
      fc.property(text, fc.dictionary(validName(6), text, { maxKeys: 5 }), (target, dimension) => {
        const source = sourceWith('wide', ['cpu'], Object.keys(dimension));
        const { runs } = encodePoints(
          [{ metrics: { cpu: 1 }, target, dimension, timestamp: time }],
          contextWith(source),
        );
        const [row] = readRows(runs[0]?.text ?? '');
        const expected = [
          ['target', target],
          ...Object.entries(dimension).map(([name, value]) => [source.dimensions.get(name), value]),
        ];
        expect(Object.entries(row?.tags ?? {})).toEqual(expected);
      }),
    );
  });
});

describe.each(layouts)('beyond the caps (%s)', (layout) => {
  const caps = { metricsMax: 3, dimensionsMax: 2 };
  const named = sourceWith(layout, ['a', 'b', 'c'], ['x', 'y']);
  const context = contextWith(named, { caps });

  const values = (encoded: EncodedPoints): Record<string, string | number>[] =>
    layout === 'wide'
      ? rowsOf(encoded).map(({ fields }) => ({ ...fields }))
      : rowsOf(encoded).map(({ tags, fields }) => ({ [tags['metric'] ?? '']: fields['value'] ?? '' }));

  it('a metric is dropped as a value, and said so, while the point stays', () => {
    const data = [withMetrics({ d: 4, a: 1, e: 5, b: 2 })];
    const encoded = encodePoints(data, context);
    expect(encoded.accepted).toBe(1);
    expect(Object.fromEntries(encoded.valuesDropped)).toEqual({ metric_columns_exceeded: 2 });
    expect(values(encoded)).toEqual(layout === 'wide' ? [{ a: 1, b: 2 }] : [{ a: 1 }, { b: 2 }]);
    // In a narrow table the uid counts the metrics as sent, those that were dropped among them.
    expect(rowsOf(encoded).map(({ uid }) => uid)).toEqual(layout === 'wide' ? ['1000'] : ['1001', '1003']);
    expectBalanced(encoded, data, layout);
  });

  it('a point with no other metric is dropped, and its values are not counted beside it', () => {
    const encoded = encodePoints([good, withMetrics({ d: 1, e: 2 }), withMetrics({ a: 1 })], context);
    expect(Object.fromEntries(encoded.dropped)).toEqual({ metric_columns_exceeded: 2 });
    expect(encoded.valuesDropped.size).toBe(0);
    expect(encoded.accepted).toBe(1);
  });

  it('further dimensions go as JSON into more_dimensions, and nothing is dropped', () => {
    const dimension = JSON.parse('{"x":"1","z":"a\\"b\\\\\\n","y":"2","w":3,"v":null}');
    const encoded = encodePoints([{ metrics: { a: 1 }, dimension, timestamp: time }], context);
    const [row] = rowsOf(encoded);
    expect(row?.tags).toMatchObject({ x: '1', y: '2' });
    expect(Object.entries(JSON.parse(String(row?.fields['more_dimensions'])))).toEqual([
      ['z', 'a"b\\\n'],
      ['w', '3'],
    ]);
    expect([encoded.accepted, encoded.dropped.size, encoded.valuesDropped.size]).toEqual([1, 0, 0]);
  });

  it('a further dimension may be called __proto__', () => {
    const point = JSON.parse('{"metrics":{"a":1},"dimension":{"__proto__":"p"}}');
    const [row] = rowsOf(encodePoints([point], context));
    expect(row?.fields['more_dimensions']).toBe('{"__proto__":"p"}');
  });

  it('the names that come first get the columns that are left', () => {
    const source = sourceWith(layout, ['a'], []);
    const data = [withMetrics({ b: 1, c: 2, d: 3, a: 4 }), withMetrics({ d: 5 })];
    const encoded = encodeWithNames(data, contextWith(source, { caps }));
    expect(values(encoded)).toEqual(
      layout === 'wide' ? [{ b: 1, c: 2, a: 4 }] : [{ b: 1 }, { c: 2 }, { a: 4 }],
    );
    expect(Object.fromEntries(encoded.valuesDropped)).toEqual({ metric_columns_exceeded: 1 });
    expect(Object.fromEntries(encoded.dropped)).toEqual({ metric_columns_exceeded: 1 });
  });

  it('a metric is judged by its name and value first', () => {
    const encoded = encodePoints([withMetrics({ a: 1, 'd.e': 2 }), withMetrics({ a: 1, d: 'x' })], context);
    expect(Object.fromEntries(encoded.dropped)).toEqual({ metric_name_invalid: 1, metric_value_invalid: 1 });
  });
});

const badKinds = droppedPoints.filter(
  ({ isKeyed, reason }) => isKeyed !== true && reason !== 'item_too_large',
);

/** A point whose first metric's value is its mark; good, or broken in one of the ways above, or anything at all. */
const anyPoint = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      metrics: fc.dictionary(validName(3), fc.double({ noNaN: true, noDefaultInfinity: true }), {
        minKeys: 1,
        maxKeys: 4,
      }),
      target: fc.constantFrom('t', '', 7),
      timestamp: fc.constantFrom(time, time + 1, null),
    }),
  },
  { weight: 3, arbitrary: fc.constantFrom(...badKinds.map(({ point }) => point)) },
  { weight: 1, arbitrary: fc.jsonValue() },
  {
    weight: 2,
    arbitrary: fc.record(
      {
        metrics: fc.jsonValue(),
        target: fc.jsonValue(),
        dimension: fc.jsonValue(),
        timestamp: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  },
);

describe.each(layouts)('a request (%s)', (layout) => {
  it('of any mixture has every point accepted or dropped, once', () => {
    always(
      fc.property(fc.array(anyPoint, { minLength: 1, maxLength: 25 }), (data) => {
        expectBalanced(encode(data, layout), data, layout);
      }),
      1000,
    );
  });

  /** The uids under which a point's mark is stored: a metric called `mark` whose value nothing else has. */
  const uidsOfMark = (encoded: EncodedPoints, mark: number): string[] =>
    rowsOf(encoded)
      .filter(({ fields }) => fields['mark'] === mark || fields['value'] === mark)
      .map(({ uid }) => uid);

  const marked = { metrics: { a: 1, mark: 4711, b: 2 }, timestamp: time };

  // A retry after a rule, a window or a cap has changed must write the same rows again, and not new ones beside them.
  it('gives a point its uid by what stands before it as sent, whatever becomes of that', () => {
    const sameOrdinals = (point: unknown): unknown[] => {
      const taken = countOrdinals([point], layout);
      if (taken === 1)
        return badKinds
          .map(({ point: other }) => other)
          .filter((other) => countOrdinals([other], layout) === 1);
      return [
        { metrics: Object.fromEntries(Array.from({ length: taken }, (_, index) => [`m ${index}`, 0])) },
        { metrics: Object.fromEntries(Array.from({ length: taken }, (_, index) => [`m${index}`, 'x'])) },
        {
          metrics: Object.fromEntries(Array.from({ length: taken }, (_, index) => [`m${index}`, 0])),
          timestamp: 'N',
        },
      ];
    };
    always(
      fc.property(
        fc.array(anyPoint, { maxLength: 8 }),
        fc.array(anyPoint, { maxLength: 3 }),
        fc.nat(),
        (before, after, pick) => {
          const uids = uidsOfMark(encode([...before, marked, ...after], layout), 4711);
          expect(uids).toHaveLength(1);
          const others = before.map((point) => {
            const candidates = sameOrdinals(point);
            return candidates[pick % candidates.length];
          });
          expect(uidsOfMark(encode([...others, marked], layout), 4711)).toEqual(uids);
        },
      ),
    );
  });

  const changes: [string, Partial<PointContext>][] = [
    ['the arrival', { arrivedAt: arrivedAt + 86_400_000 }],
    ['the windows', { policy: { aheadMsMax: 0, ageMsMax: 30_000 } }],
    ['the caps', { caps: { metricsMax: 1, dimensionsMax: 1 } }],
    ['the registry', { source: sourceWith(layout, ['zz', 'A', 'b'], ['a']) }],
    ['the key', { isKeyed: true }],
  ];

  it.each(changes)('keeps uids when %s changes between two tries', (_, change) => {
    always(
      fc.property(fc.array(anyPoint, { maxLength: 12 }), (points) => {
        const data = points.map((point, index) =>
          typeof point === 'object' &&
          point !== null &&
          'metrics' in point &&
          typeof point.metrics === 'object'
            ? { ...point, metrics: { ...point.metrics, mark: 1_000_000 + index } }
            : point,
        );
        const first = encode(data, layout);
        const second = encode(data, layout, change);
        for (let index = 0; index < data.length; index++) {
          const uids = uidsOfMark(second, 1_000_000 + index);
          const known = uidsOfMark(first, 1_000_000 + index);
          if (uids.length > 0 && known.length > 0) expect(uids).toEqual(known);
        }
      }),
      200,
    );
  });

  const large = fc
    .tuple(fc.integer({ min: 0, max: 1_300_000 }), fc.constantFrom<unknown>(time, 'N', null, 5), fc.boolean())
    .map(([size, timestamp, isGood]) => ({
      metrics: isGood ? { a: 1, b: 2 } : {},
      target: 'x'.repeat(size),
      timestamp,
    }));
  const edges = (encoded: EncodedPoints): number[][] => encoded.runs.map(({ first, last }) => [first, last]);

  // Retries are recognised by first and last ordinal of each message: cut otherwise, they are stored as other messages.
  it('is cut at the budget, by its points alone', () => {
    always(
      fc.property(fc.array(large, { minLength: 1, maxLength: 8 }), (data) => {
        const expected: number[][] = [];
        let spent = Number.POSITIVE_INFINITY;
        let ordinal = 0;
        for (const point of data) {
          const cost = pointCost(point, layout === 'narrow');
          const taken = countOrdinals([point], layout);
          if (spent + cost > runBudget) {
            expected.push([ordinal, ordinal]);
            spent = 0;
          }
          spent += cost;
          ordinal += taken;
          expected[expected.length - 1]?.splice(1, 1, ordinal - 1);
        }
        const first = encode(data, layout);
        expect(edges(first)).toEqual(expected);
        for (const [, change] of changes) expect(edges(encode(data, layout, change))).toEqual(edges(first));
        expectBalanced(first, data, layout);
      }),
      30,
    );
  });
});

// The first push of a data id brings every name anew: what is registered in between must not change why a point is dropped.
describe.each(layouts)('a request that brings new names (%s)', (layout) => {
  const newcomer = { metrics: { new_name: 1 }, timestamp: time };
  const inItsCompany = droppedPoints.map(({ what, point, isKeyed }) => ({
    what,
    encoded: encode([newcomer, point], layout, { isKeyed: isKeyed === true }),
  }));

  it('drops every point for the reason that it has without them', () => {
    expect(inItsCompany.map(({ what, encoded }) => [what, ...encoded.dropped.keys()])).toEqual(
      droppedPoints.map(({ what, reason }) => [what, reason]),
    );
  });

  it('leaves the verdict on time to transfer', () => {
    const deferred = inItsCompany.filter(({ encoded }) => encoded.deferred.size > 0);
    const timed = droppedPoints.filter(({ reason }) => reasonsOfTime.includes(reason));
    expect(deferred.map(({ what }) => what)).toEqual(timed.map(({ what }) => what));
  });
});

describe.each(layouts)('a hostile point (%s)', (layout) => {
  const deepObjects = JSON.parse(`${'{"0":'.repeat(50_000)}1${'}'.repeat(50_000)}`);
  const places: [string, (deep: unknown) => unknown, DropReason][] = [
    ['the metrics', (deep) => ({ metrics: [deep] }), 'metrics_missing'],
    ['a value', (deep) => ({ metrics: { cpu: deep } }), 'metric_value_invalid'],
    ['a dimension', (deep) => ({ metrics: { cpu: 1 }, dimension: { a: deep } }), 'dimension_invalid'],
    ['the target', (deep) => ({ metrics: { cpu: 1 }, target: deep }), 'target_invalid'],
    ['the timestamp', (deep) => ({ metrics: { cpu: 1 }, timestamp: deep }), 'timestamp_not_numeric'],
    ['the point', (deep) => [deep], 'point_not_object'],
  ];
  const cases = places.flatMap(([place, point, reason]) => [
    { place, kind: 'arrays', point: point(nested(50_000)), reason },
    { place, kind: 'objects', point: point(deepObjects), reason },
  ]);

  // A body of some kilobytes can be nested so deep that recursing over it ends the call: the whole request would be lost.
  it.each(cases)('is dropped alone where $place holds $kind nested 50,000 deep', ({ point, reason }) => {
    const encoded = encode([good, point], layout);
    expect(Object.fromEntries(encoded.dropped)).toEqual({ [reason]: 1 });
    expect(encoded.accepted).toBe(1);
  });
});
