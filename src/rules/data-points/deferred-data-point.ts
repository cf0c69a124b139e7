import { metricKinds } from '../../wire/otlp/data-point-slots.ts';
import { deferredItemEncoder, member } from '../items/deferred-item.ts';
import { jsonMetrics } from './json-metrics.ts';

/** The metric of a deferred data point, with the point in it. */
const metricOf = (item: unknown): object => {
  const metric = member(item, 'metric');
  const kind = metricKinds.find((name) => member(metric, name) !== undefined);
  return {
    name: member(metric, 'name'),
    description: member(metric, 'description'),
    unit: member(metric, 'unit'),
    metadata: member(metric, 'metadata'),
    ...(kind === undefined
      ? {}
      : {
          [kind]: {
            aggregationTemporality: member(member(metric, kind), 'aggregationTemporality'),
            isMonotonic: member(member(metric, kind), 'isMonotonic'),
            dataPoints: [member(item, 'dataPoint')],
          },
        }),
  };
};

/** Encodes one deferred data point. */
export const encodeDeferredDataPoint = deferredItemEncoder(jsonMetrics, (item) => ({
  resourceMetrics: [
    {
      resource: member(item, 'resource'),
      schemaUrl: member(item, 'resourceSchemaUrl'),
      scopeMetrics: [
        {
          scope: member(item, 'scope'),
          schemaUrl: member(item, 'scopeSchemaUrl'),
          metrics: [metricOf(item)],
        },
      ],
    },
  ],
}));
