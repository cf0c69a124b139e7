import { validateSpanInstant } from '../../model/span-time.ts';
import { newDataPointBlock } from '../../wire/otlp/data-point-blocks.ts';
import { JsonMetricReader } from '../../wire/otlp/json-metric.ts';
import { metricLevels } from '../../wire/otlp/levels.ts';
import { ProtobufMetricReader } from '../../wire/otlp/protobuf-metric.ts';
import type { ItemRules } from '../items/item-rules.ts';
import { sampledItem } from './data-point-sample.ts';
import { deferredText } from './deferred-text.ts';
import { DataPointSeries } from './series-hash.ts';

export const dataPointRules: ItemRules = {
  levels: metricLevels,
  itemText: 'data point',
  jsonReader: (fields) => new JsonMetricReader(fields),
  protobufReader: (fields) => new ProtobufMetricReader(fields),
  slotsOf: ({ point }) => point,
  newBlock: newDataPointBlock,
  newSeries: (row, seed) => new DataPointSeries(row, seed),
  dayField: 'timeUnixNano',
  dayVerb: 'are',
  judgeTimes: ({ point: { time } }, arrivedAtMs, policy) =>
    validateSpanInstant(time.millis, time.rest, arrivedAtMs, policy),
  faultyTime: ({ point: { time } }) => ({ field: 'timeUnixNano', time }),
  deferredText,
  sampledItem,
};
