import { validateSpanInstant } from '../../model/span-time.ts';
import { JsonLogReader } from '../../wire/otlp/json-log.ts';
import { logLevels } from '../../wire/otlp/levels.ts';
import { LogBlock } from '../../wire/otlp/log-block.ts';
import { ProtobufLogReader } from '../../wire/otlp/protobuf-log.ts';
import type { ItemRules } from '../items/item-rules.ts';
import { deferredText } from './deferred-text.ts';
import { sampledItem } from './log-sample.ts';

export const logRules: ItemRules = {
  levels: logLevels,
  itemText: 'log record',
  jsonReader: (fields) => new JsonLogReader(fields),
  protobufReader: (fields) => new ProtobufLogReader(fields),
  slotsOf: ({ record }) => record,
  newBlock: () => new LogBlock(),
  dayField: 'timeUnixNano',
  dayVerb: 'are',
  judgeTimes: ({ record: { instant } }, arrivedAtMs, policy) =>
    validateSpanInstant(instant.millis, instant.rest, arrivedAtMs, policy),
  faultyTime: ({ record: { time, observed, instant } }) =>
    instant === time || (observed.millis === 0 && observed.rest === 0)
      ? { field: 'timeUnixNano', time }
      : { field: 'observedTimeUnixNano', time: observed },
  deferredText,
  sampledItem,
};
