import { describe, expect, it } from 'vitest';
import { outcomeMessage } from '../../../../src/ingress/otlp/outcome-message.ts';
import { otlpSignals } from '../../../../src/ingress/otlp/signals.ts';
import { jsonMetrics } from '../../../../src/rules/data-points/json-metrics.ts';
import { protobufMetrics } from '../../../../src/rules/data-points/protobuf-metrics.ts';
import { Message } from '../../../support/otlp/protobuf.ts';
import { contextWith } from '../../../support/otlp/trace-source.ts';

const { otel_metrics: metrics } = otlpSignals;

/** A request of metrics, each these fields. */
const protobufOf = (...fields: Message[]): Buffer =>
  new Message()
    .messages(1, [fields], (all) =>
      new Message().messages(2, [all], (each) => new Message().messages(2, each, (one) => one)),
    )
    .end();

const jsonOf = (...all: object[]): Buffer =>
  Buffer.from(JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: all }] }] }));

const toldOf = (encoded: ReturnType<typeof jsonMetrics.encode>): string =>
  outcomeMessage(metrics, encoded).message;

// Data of these kinds is not read: a plain success would be read as stored points.
describe('a request whose only data points are of kinds that OTLP had before 0.9', () => {
  it.each([
    ['intGauge', 'gauge'],
    ['double_sum', 'sum'],
    ['doubleHistogram', 'histogram'],
    ['doubleSummary', 'summary'],
  ])('gets a warning that names %s and the kind of today, in JSON', (kind, today) => {
    const told = toldOf(
      jsonMetrics.encode(jsonOf({ name: 'a', [kind]: { dataPoints: [{}] } }), contextWith()),
    );
    expect(told).toBe(
      `the body has no data point; unknown above the data points: metrics[].${kind} (OTLP before 0.9; send ${today})`,
    );
  });

  it.each([
    [4, 'int_gauge', 'gauge, field 5'],
    [6, 'int_sum', 'sum, field 7'],
    [8, 'int_histogram', 'histogram, field 9'],
  ])('gets a warning that names field %d, in protobuf', (field, kind, today) => {
    const metric = new Message()
      .text(1, 'a')
      .messages(field, [1], () => new Message().messages(1, [1], () => new Message()));
    const told = toldOf(protobufMetrics.encode(protobufOf(metric), contextWith()));
    expect(told).toContain(`metrics[].${field} (${kind} of OTLP before 0.9; send ${today})`);
  });

  it('names ten of them at most, each in 80 characters', () => {
    const strange = Array.from({ length: 50 }, (_, index) => ({
      name: 'a',
      [`${index}${'x'.repeat(500)}`]: {},
    }));
    const { misplacedKeys } = jsonMetrics.encode(jsonOf(...strange), contextWith());
    expect(misplacedKeys.length).toBe(10);
    expect(Math.max(...misplacedKeys.map(({ length }) => length))).toBeLessThan(100);
    // The next request has none of them.
    expect(jsonMetrics.encode(jsonOf(), contextWith()).misplacedKeys).toEqual([]);
  });

  it('is not there beside a data point that is read', () => {
    const gauge = { dataPoints: [{ timeUnixNano: '1764000000000000000', asDouble: 1 }] };
    const { misplacedKeys } = jsonMetrics.encode(jsonOf({ name: 'a', gauge, more: 1 }), contextWith());
    expect(misplacedKeys).toEqual([]);
  });
});
