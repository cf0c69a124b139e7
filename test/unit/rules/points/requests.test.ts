import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DropReason } from '../../../../src/model/reasons.ts';
import { pointCost, runBudget } from '../../../../src/rules/points/cutting.ts';
import type { EncodedPoints } from '../../../../src/rules/points/encoded-points.ts';
import { always, validName } from '../../../support/properties.ts';
import type { EncodeContext } from '../../../support/push/encode-points.ts';
import { countOrdinals } from '../../../support/push/objects/point-encoder.ts';
import { droppedPointsAt, pointsAt } from '../../../support/push/point-cases.ts';
import {
  encode,
  expectBalanced,
  layouts,
  reasonsOfTime,
  rowsOf,
} from '../../../support/push/point-encoding.ts';
import { arrivedAt, sourceWith } from '../../../support/push/source.ts';

const droppedPoints = droppedPointsAt(arrivedAt);
const { timestamp: time, good } = pointsAt(arrivedAt);

/** Arrays in arrays, this many deep. */
const nested = (depth: number, core: unknown = 1): unknown => {
  let value = core;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
};

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
  it('gives a point its uid by its place as sent, for any outcome of the points before it', () => {
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

  const changes: [string, Partial<EncodeContext>][] = [
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
  const anyChange = fc.constantFrom(...changes.map(([, change]) => change));
  const edges = (encoded: EncodedPoints): number[][] => encoded.runs.map(({ first, last }) => [first, last]);

  // Retries are recognised by first and last ordinal of each message: cut otherwise, they are stored as other messages.
  it('is cut at the budget, by its points alone', () => {
    const tried = new Set<Partial<EncodeContext>>();
    always(
      fc.property(fc.array(large, { minLength: 1, maxLength: 6 }), anyChange, (data, change) => {
        tried.add(change);
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
        expect(edges(encode(data, layout, change))).toEqual(expected);
        expectBalanced(first, data, layout);
      }),
      // Megabytes each, so only as many as try every change.
      16,
    );
    expect(tried.size).toBe(changes.length);
  });
});

// In the first push of a data id every name is new: a registration in between must not change why a point is dropped.
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

  it('leaves the check of time to transfer', () => {
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
