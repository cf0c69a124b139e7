import { afterAll, expect, it } from 'vitest';
import { createLargeBodies, largeBytes } from '../../../../src/ingress/large-bodies/large-bodies.ts';
import { createReadItems } from '../../../../src/ingress/otlp/read.ts';
import { SeriesGate } from '../../../../src/ingress/series/series-gate.ts';
import type { ItemsContext, SeriesSeed } from '../../../../src/wire/otlp/types.ts';
import { encodeMetricsOfProtobuf, goodPoint, metricsOf } from '../../../support/otlp/metric-source.ts';
import { encodeMetricsProtobuf } from '../../../support/otlp/metrics.ts';
import { contextWith, owner } from '../../../support/otlp/trace-source.ts';

const seriesMax = 1000;
const large = createLargeBodies({ error: () => {} });
afterAll(() => large.close());

/** Some series; the description decides the length of the body and is no part of them. */
const request = (description: string) => {
  const dataPoints = Array.from({ length: 20 }, (_, index) => ({
    ...goodPoint,
    attributes: [{ key: 'host', value: { stringValue: `host-${index}` } }],
  }));
  return metricsOf({ name: 'a', description, gauge: { dataPoints } });
};

it('series of a body that a thread decodes are those that the event loop knows', async () => {
  const gate = new SeriesGate({ now: () => 0, onFull: () => {}, onHeld: () => {} });
  const read = createReadItems('otel_metrics', large, [], 1e6, gate);
  const { resolve: _, tokenKeys: __, admitsSeries: ___, seriesSeed: ____, ...context } = contextWith();
  const encode = (description: string) => {
    const bytes = encodeMetricsProtobuf(request(description));
    const all = { ...context, owners: new Map([[undefined, owner]]) };
    const bounds = new Map([[owner.appId, seriesMax]]);
    const inTime = performance.now() + 60_000;
    return read.encode({ bytes }, 'protobuf', { ...all, seriesMax: bounds }, inTime);
  };
  await encode('short');
  expect(gate.held).toBe(20);
  const { encoded } = await encode('x'.repeat(largeBytes));
  expect([encoded.accepted, gate.held]).toEqual([20, 20]);
});

it('hashes of series follow from the whole seed, so that no sender can prepare equal ones', () => {
  const seed: SeriesSeed = { low: 1, high: 2, lowFactor: 3, highFactor: 5 };
  const hashesWith = (seriesSeed: SeriesSeed): Set<string> => {
    const hashes = new Set<string>();
    const admitsSeries: ItemsContext['admitsSeries'] = (_, low, high) =>
      hashes.add(`${low} ${high}`) !== undefined;
    encodeMetricsOfProtobuf(request(''), contextWith({ seriesSeed, admitsSeries }));
    return hashes;
  };
  const hashes = hashesWith(seed);
  expect(hashes.size).toBe(20);
  expect(hashesWith(seed)).toEqual(hashes);
  for (const other of [{ low: 9 }, { high: 9 }, { lowFactor: 9 }, { highFactor: 9 }])
    expect(hashesWith({ ...seed, ...other }).isDisjointFrom(hashes)).toBe(true);
});
