import { deadLetterReasons } from './reasons/dead-letters.ts';
import { dataPointReasons, recordReasons, sharedReasons, spanReasons } from './reasons/items.ts';
import { type PointReason, pointReasons } from './reasons/points.ts';
import { requestReasons, traceRequestReasons } from './reasons/requests.ts';
import { type TimeReason, timeReasons } from './reasons/times.ts';

export type { DeadLetterReason } from './reasons/dead-letters.ts';
export type {
  DataPointReason,
  ItemReason,
  RecordReason,
  SpanReason,
} from './reasons/items.ts';
export type { PointReason, ValueReason } from './reasons/points.ts';
export type { RequestReason, TraceRequestReason } from './reasons/requests.ts';
export type { TimeReason } from './reasons/times.ts';

/** Who can fix the cause of a reason. */
export type FixableBy = 'sender' | 'operator' | 'tidemark';

/** One row of the closed table: why an item (or one of its values, or a whole request) did not go the normal way. */
export type Reason = {
  readonly code: string;
  /** The reason applies to a whole request, to one item of it, or to single values of a kept item. */
  readonly of: 'request' | 'item' | 'value';
  /** The stage that applies the rule. Transfer validates time (specification 4.2). */
  readonly stage: 'receiver' | 'transfer';
  readonly fixableBy: FixableBy;
  readonly meaning: string;
  readonly remedy: string;
};

/** Why an item was dropped. */
export type DropReason = PointReason | TimeReason | 'data_source_purged' | 'purged_by_operator';

const rows = (
  list: readonly (readonly [string, string, string])[],
  of: Reason['of'],
  stage: Reason['stage'],
  fixableBy: FixableBy = 'sender',
): Reason[] =>
  list.map(([code, meaning, remedy]) => ({
    code,
    of,
    stage,
    fixableBy: fixableByNames[code] ?? fixableBy,
    meaning,
    remedy,
  }));

/** Where it is not who the kind of reason suggests. */
const fixableByNames: Readonly<Record<string, FixableBy>> = {
  data_source_disabled: 'operator',
  application_disabled: 'operator',
  not_stored: 'operator',
  unconfirmed: 'operator',
  internal: 'tidemark',
  unreadable_message: 'tidemark',
};

/** The closed table of reasons: labels of metrics, texts of replies and the documentation come from here. */
export const reasons: readonly Reason[] = [
  ...rows(pointReasons, 'item', 'receiver'),
  ...rows(spanReasons, 'item', 'receiver'),
  ...rows(recordReasons, 'item', 'receiver'),
  ...rows(dataPointReasons, 'item', 'receiver'),
  ...rows(timeReasons, 'item', 'transfer'),
  {
    code: 'data_source_purged',
    of: 'item',
    stage: 'transfer',
    fixableBy: 'operator',
    meaning: 'the data source was purged before the item was stored',
    remedy: 'nothing: an operator asked for the purge',
  },
  {
    code: 'purged_by_operator',
    of: 'item',
    stage: 'transfer',
    fixableBy: 'operator',
    meaning: 'an operator purged the dead letter of the item',
    remedy: 'nothing: an operator asked for the purge',
  },
  {
    code: 'metric_columns_exceeded',
    of: 'value',
    stage: 'receiver',
    fixableBy: 'sender',
    meaning: 'the table of the data id is at its limit of metrics; the other values of the point are kept',
    remedy: 'use fewer metric names; send the variable parts of a name as dimensions',
  },
  {
    code: 'event_time_invalid',
    of: 'value',
    stage: 'receiver',
    fixableBy: 'sender',
    meaning: 'the time of an event is not a number of nanoseconds; the span and its other events are kept',
    remedy: 'send timeUnixNano as decimal nanoseconds',
  },
  {
    code: 'link_id_invalid',
    of: 'value',
    stage: 'receiver',
    fixableBy: 'sender',
    meaning: 'the trace id or span id of a link is malformed; the span and its other links are kept',
    remedy: 'send the ids of the linked span; in JSON as hexadecimal',
  },
  {
    code: 'value_cut',
    of: 'value',
    stage: 'receiver',
    fixableBy: 'sender',
    meaning:
      'a value of a span, a log record or a data point is longer than value_bytes_max and was truncated to it; the item is kept',
    remedy: 'send shorter values, or raise value_bytes_max in the policy of the application',
  },
  {
    code: 'duplicate_request',
    of: 'request',
    stage: 'receiver',
    fixableBy: 'sender',
    meaning:
      'the same request (same bytes, same Idempotency-Key) was stored before; nothing was stored twice',
    remedy:
      'nothing after a retry; to store identical requests, set deduplicate: false in the policy of the application',
  },
  ...rows(requestReasons, 'request', 'receiver'),
  ...rows(traceRequestReasons, 'request', 'receiver'),
  ...rows(deadLetterReasons, 'item', 'transfer', 'operator'),
];

const codesOf = (list: readonly (readonly [string, string, string])[]): readonly string[] =>
  list.map(([code]) => code);

/** The codes of the table by where they are counted: the values that the label `reason` of a metric can have. */
export const reasonCodes = {
  points: codesOf([...pointReasons, ...timeReasons]),
  spans: [...codesOf([...spanReasons, ...timeReasons]), 'item_too_large'],
  records: [
    ...codesOf([...recordReasons, ...timeReasons.filter(([code]) => code !== 'end_before_start')]),
    ...sharedReasons,
  ],
  dataPoints: [
    ...codesOf([...dataPointReasons, ...timeReasons.filter(([code]) => code !== 'end_before_start')]),
    ...sharedReasons,
  ],
  times: codesOf(timeReasons),
  purges: ['data_source_purged', 'purged_by_operator'],
  pointValues: ['metric_columns_exceeded'],
  spanValues: ['event_time_invalid', 'link_id_invalid', 'value_cut'],
  recordValues: ['value_cut'],
  dataPointValues: ['value_cut'],
  pushes: codesOf(requestReasons),
  exports: codesOf([...requestReasons, ...traceRequestReasons]),
  deadLetters: codesOf(deadLetterReasons),
} as const;

/** Meaning of a code, for replies; the first row of a code with several rows. Undefined for an unknown code. */
export const explain = (code: string): Reason | undefined => reasons.find((reason) => reason.code === code);

/** Every row of a code, for `tidemark explain`. */
export const explainAll = (code: string): Reason[] => reasons.filter((reason) => reason.code === code);
