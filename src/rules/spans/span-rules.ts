import { endsBeforeStart, validateSpanInstant } from '../../model/span-time.ts';
import { JsonSpanReader } from '../../wire/otlp/json-span.ts';
import { spanLevels } from '../../wire/otlp/levels.ts';
import { ProtobufSpanReader } from '../../wire/otlp/protobuf-span.ts';
import { SpanBlock } from '../../wire/otlp/span-block.ts';
import type { ItemRules } from '../items/item-rules.ts';
import { deferredText } from './deferred-text.ts';
import { sampledItem } from './span-sample.ts';

export const spanRules: ItemRules = {
  levels: spanLevels,
  itemText: 'span',
  jsonReader: (fields) => new JsonSpanReader(fields),
  protobufReader: (fields) => new ProtobufSpanReader(fields),
  slotsOf: ({ span }) => span,
  newBlock: () => new SpanBlock(),
  dayField: 'startTimeUnixNano',
  dayVerb: 'start',
  judgeTimes: ({ span: { start, end } }, arrivedAtMs, policy) =>
    validateSpanInstant(start.millis, start.rest, arrivedAtMs, policy) ??
    validateSpanInstant(end.millis, end.rest, arrivedAtMs, policy) ??
    (endsBeforeStart(start.millis, start.rest, end.millis, end.rest) ? 'end_before_start' : undefined),
  faultyTime: ({ span: { start, end } }, arrivedAtMs, policy) =>
    validateSpanInstant(start.millis, start.rest, arrivedAtMs, policy) === undefined
      ? { field: 'endTimeUnixNano', time: end }
      : { field: 'startTimeUnixNano', time: start },
  deferredText,
  sampledItem,
};
