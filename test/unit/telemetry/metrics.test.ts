import { describe, expect, it } from 'vitest';
import { labelBounds } from '../../../src/telemetry/label-bounds.ts';
import { processRemedies } from '../../../src/telemetry/meters.ts';
import { definedMetrics, roles } from '../../../tools/docs/metrics.ts';

const isOurs = (name: string): boolean => name.startsWith('tidemark_');

describe('the figures of the three roles', () => {
  // A metric without a remedy helps no operator at night.
  it.each(roles)('each has a remedy, and every remedy has its metric (%s)', async (role) => {
    const defined = await definedMetrics(role);
    const names = defined.map(({ name }) => name);
    const without = defined.filter(({ name, remedy }) => isOurs(name) && remedy === undefined);
    expect(without.map(({ name }) => name)).toEqual([]);
    expect(Object.keys(processRemedies).filter((name) => !names.includes(name))).toEqual([]);
  });

  // An unbounded label fills the memory of Prometheus.
  it.each(roles)('every label has a bound (%s)', async (role) => {
    const labels = (await definedMetrics(role))
      .filter(({ name }) => isOurs(name))
      .flatMap((each) => each.labels);
    expect(labels.filter((label) => !Object.hasOwn(labelBounds, label))).toEqual([]);
  });
});
