import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exampleText } from '../../../../src/model/text-forms.ts';
import type { EncodedPoints } from '../../../../src/rules/points/encoded-points.ts';
import { always, trickyText, validName } from '../../../support/properties.ts';
import { encodePoints } from '../../../support/push/encode-points.ts';
import { readRows } from '../../../support/push/line-protocol-reader.ts';
import { countOrdinals } from '../../../support/push/objects/point-encoder.ts';
import { droppedPointsAt, pointsAt } from '../../../support/push/point-cases.ts';
import {
  encode,
  expectBalanced,
  layouts,
  reasonsOfPoints,
  reasonsOfTime,
  rowsOf,
} from '../../../support/push/point-encoding.ts';
import { arrivedAt, contextWith, encodeWithNames, sourceWith } from '../../../support/push/source.ts';

const droppedPoints = droppedPointsAt(arrivedAt);
const { timestamp: time, good, withMetrics, withTarget, withTime } = pointsAt(arrivedAt);

describe.each(layouts)('a point that breaks a rule (%s)', (layout) => {
  // The original refuses the whole request, or loses all of it, for one such point: its neighbours must not notice it.
  it.each(droppedPoints)('is dropped alone where $what: $reason', ({ point, reason, field, isKeyed }) => {
    const data = [good, point, good];
    const encoded = encode(data, layout, { isKeyed: isKeyed === true });
    expect(Object.fromEntries(encoded.dropped)).toEqual({ [reason]: 1 });
    expect(encoded.examples).toMatchObject([{ index: 1, reason, field }]);
    const taken = countOrdinals([point], layout);
    expect(rowsOf(encoded).map(({ uid, time: at }) => [uid, at])).toEqual([
      ['1000', time],
      [String(1001 + taken), time],
    ]);
    expectBalanced(encoded, data, layout);
  });

  it('has a case here for every reason that there is', () => {
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

  it('is shown with at most 80 characters of its value', () => {
    const { examples } = encode(
      [withTarget({ a: 'x'.repeat(10_000) }), withTime('9'.repeat(10_000)), 'y'.repeat(10_000)],
      layout,
    );
    for (const example of examples) expect(exampleText(example).length).toBeLessThan(150);
    expect(examples).toHaveLength(3);
  });
});

describe.each(layouts)('a point with an invalid time (%s)', (layout) => {
  // Architecture 6.2: transfer validates time, so every point that it may store must travel.
  it('travels as sent, with its ordinal, and only with members that the specification names', () => {
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

  it('a metric is dropped as a value, and reported, while the point stays', () => {
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

  it('a metric is validated by its name and value first', () => {
    const encoded = encodePoints([withMetrics({ a: 1, 'd.e': 2 }), withMetrics({ a: 1, d: 'x' })], context);
    expect(Object.fromEntries(encoded.dropped)).toEqual({ metric_name_invalid: 1, metric_value_invalid: 1 });
  });
});
