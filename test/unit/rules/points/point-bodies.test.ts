import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pushBodies } from '../../../../bench/bodies.ts';
import type { PushTask } from '../../../../src/ingress/push/encode.ts';
import type { Layout } from '../../../../src/model/records.ts';
import { always } from '../../../support/properties.ts';
import { bodyText, knownDimensions, knownMetrics, token } from '../../../support/push/push-bodies.ts';
import { expectSamePush } from '../../../support/push/same-push.ts';
import { arrivedAt, contextWith, sourceWith } from '../../../support/push/source.ts';

// One reader goes over the bytes of every body. What it makes of them is held against the same points as objects.

const taskOf = (layout: Layout, change: Partial<PushTask> = {}): PushTask => {
  const table = sourceWith(layout, knownMetrics, knownDimensions);
  return {
    ...contextWith(table),
    ...{ pair: { dataId: table.dataId, token }, table, pointsMax: 50_000, elementsMax: 4_000_000 },
    ...change,
  };
};
const tasks: readonly PushTask[] = (['wide', 'narrow'] as const).flatMap((layout) => [
  taskOf(layout),
  taskOf(layout, { isKeyed: true }),
  // No names are left but one of each kind.
  taskOf(layout, { caps: { metricsMax: knownMetrics.length + 1, dimensionsMax: knownDimensions.length + 1 } }),
  taskOf(layout, { caps: { metricsMax: 3, dimensionsMax: 2 }, policy: { aheadMsMax: 500, ageMsMax: 500 } }),
]);

describe('the reader of bodies and the way of objects agree', () => {
  it('on bodies in every form of JSON, and in forms that are none', () => {
    const seen = new Map<string, number>();
    always(
      fc.property(bodyText, fc.constantFrom(...tasks), (text, task) => {
        const push = expectSamePush(Buffer.from(text), task);
        const outcomes =
          push.kind === 'refused'
            ? [push.reason]
            : [push.encoded.accepted > 0 ? 'kept' : 'none', ...push.encoded.dropped.keys()];
        for (const each of outcomes) seen.set(each, (seen.get(each) ?? 0) + 1);
      }),
      6000,
    );
    // What does not come proves nothing.
    expect(seen.get('kept')).toBeGreaterThan(1500);
    for (const reason of ['body_not_json', 'credentials_differ', 'metric_not_finite', 'dimension_invalid'])
      expect(seen.get(reason), reason).toBeGreaterThan(20);
  });

  it('on bodies with a byte changed, left out or put in, UTF-8 or not', () => {
    always(
      fc.property(
        bodyText,
        fc.constantFrom(...tasks),
        fc.nat(),
        fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('",:{}[]\\'), 0xc3, 0xff, 0xf0)),
        fc.constantFrom(0, 1, 2),
        (text, task, place, byte, kind) => {
          const body = Buffer.from(text);
          const at = place % body.length;
          const from = kind === 2 ? at : at + 1;
          const added = kind === 1 ? [] : [byte];
          expectSamePush(Buffer.concat([body.subarray(0, at), Buffer.from(added), body.subarray(from)]), task);
        },
      ),
      6000,
    );
  });

  it.each([
    ['of one message', 500],
    ['of several messages', 12_000],
  ])('on bodies as clients write them, %s', (_, points) => {
    const [body = Buffer.alloc(0)] = pushBodies(1, points, 1500001, token, arrivedAt);
    for (const task of [taskOf('wide'), taskOf('narrow')])
      expect(expectSamePush(body, task).kind).toBe('encoded');
  });
});
