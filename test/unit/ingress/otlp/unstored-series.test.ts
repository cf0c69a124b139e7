import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { notStored } from '../../../../src/ingress/refused.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { openOtlpDoor } from '../../../support/otlp/door.ts';
import { goodMetric, metricsOf } from '../../../support/otlp/metric-source.ts';

const seriesMax = 100;

let failure: unknown;
let door: Awaited<ReturnType<typeof openOtlpDoor>>;
beforeAll(async () => {
  door = await openOtlpDoor({
    seriesMax,
    publish: async () => {
      if (failure !== undefined) throw failure;
      return false;
    },
  });
});
beforeEach(() => {
  failure = undefined;
});
afterAll(() => door.close());

/** As many new series as the bound; `filler` makes it a large body, which a thread reads. */
const series = (name: string, filler: string): string => {
  const dataPoints = Array.from({ length: seriesMax }, (_, index) => ({
    timeUnixNano: String(BigInt(Date.now()) * 1_000_000n),
    asDouble: 1,
    attributes: [{ key: 'id', value: { stringValue: `${name}-${index}` } }],
  }));
  return JSON.stringify(metricsOf({ ...goodMetric, description: filler, gauge: { dataPoints } }));
};

// Series are held for an hour: a sender with a broken exporter would shut out its own good data points.
describe.each([
  ['a small body', ''],
  ['a large body', 'x'.repeat(600_000)],
])('new series of %s of which nothing is stored take no place', (_, filler) => {
  it('when it is malformed at its end', async () => {
    expect((await door.post('otel_metrics', `${series('malformed', filler)}x`)).status).toBe(400);
    expect(door.gate.held).toBe(0);
  });

  it.each([
    ['not stored', new Fault('transient', 'not_stored', 'away')],
    ['refused', notStored('full')],
  ])('when it is %s', async (_name, error) => {
    failure = error;
    expect((await door.post('otel_metrics', series('away', filler))).status).toBe(503);
    expect(door.gate.held).toBe(0);
  });
});

it('new series of a request that may be stored are held, like those of one that is', async () => {
  failure = new Fault('transient', 'unconfirmed', 'no answer');
  expect((await door.post('otel_metrics', series('unconfirmed', ''))).status).toBe(503);
  expect(door.gate.held).toBe(seriesMax);
  failure = undefined;
  expect(await (await door.post('otel_metrics', series('unconfirmed', ''))).text()).toBe('{}');
  expect(await (await door.post('otel_metrics', series('other', ''))).text()).toContain('too_many_series');
  expect(door.gate.held).toBe(seriesMax);
});
