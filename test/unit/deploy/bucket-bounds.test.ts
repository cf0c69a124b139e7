import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createIngressMetrics } from '../../../src/telemetry/ingress-metrics.ts';
import { createTransferMetrics } from '../../../src/telemetry/transfer-metrics.ts';
import { alarms, queriesTo } from '../../support/deploy/dashboards.ts';

const registries = [createIngressMetrics().registry, createTransferMetrics().registry];

const boundsOf = (histogram: string): number[] => {
  const metric = registries.map((each) => each.getSingleMetric(histogram)).find((each) => each !== undefined);
  return z.array(z.number()).parse(metric === undefined ? [] : Reflect.get(metric, 'upperBounds'));
};

/** How Prometheus stores a bound: 2 as it stands in the scraped text, 3 as a float. */
const spellings = (bound: number): string[] => [
  String(bound),
  Number.isInteger(bound) ? `${bound}.0` : String(bound),
];

const selects = (operator: string, value: string, le: string): boolean =>
  // The text of PromQL has each backslash twice; a pattern has to match the whole value.
  operator === '=' ? le === value : new RegExp(`^(?:${value.replaceAll('\\\\', '\\')})$`).test(le);

const queries = [
  ...alarms().map(({ alert, expr }) => ({ place: alert, text: expr })),
  ...queriesTo('prometheus'),
];
const selected = queries.flatMap(({ place, text }) =>
  [...text.matchAll(/(\w+)_bucket\{[^}]*\ble(=~?)"([^"]*)"/g)].map(
    ([, histogram = '', operator = '', value = '']) => ({ place, histogram, operator, value }),
  ),
);

describe('the buckets that alarms and dashboards select', () => {
  it('are those of all that name a bound', () => {
    const named = queries.flatMap(({ text }) => [...text.matchAll(/\ble\s*(?:=|!)/g)]);
    expect(named.length).toBeGreaterThan(0);
    expect(selected.length).toBe(named.length);
  });

  // An alarm that selects no series never fires, and nothing says so.
  it.each(selected)(
    '$place selects one bound of $histogram, as Prometheus 2 and as 3 spell it',
    ({ histogram, operator, value }) => {
      const found = boundsOf(histogram)
        .map((bound) => spellings(bound).map((le) => selects(operator, value, le)))
        .filter((each) => each.includes(true));
      expect(found).toEqual([[true, true]]);
    },
  );
});
