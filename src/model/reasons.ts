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

const pointReasons = [
  [
    'point_not_object',
    'the point is not a JSON object',
    'send each point as an object with metrics, target, dimension and timestamp',
  ],
  [
    'metrics_missing',
    'the point has no metrics object',
    'send metrics as an object of metric names and numbers',
  ],
  ['metrics_empty', 'the metrics object is empty', 'send at least one metric per point'],
  [
    'metric_name_invalid',
    'a metric name does not match ^[a-zA-Z_][a-zA-Z0-9_]*$ or is longer than 100 characters',
    'rename the metric: letters, digits and _, at most 100 characters',
  ],
  ['metric_value_invalid', 'a metric value is not a number', 'send numbers without quotes'],
  [
    'metric_not_finite',
    'a metric value is NaN, infinite or beyond the range of a double',
    'omit the metric when it has no value',
  ],
  [
    'metric_columns_exceeded',
    'the table of the data id is at its limit of metrics, and no metric of the point has a column',
    'use fewer metric names; send the variable parts of a name as dimensions',
  ],
  [
    'dimension_invalid',
    'dimension is not an object, or one of its values is an object, an array or a text with U+0000',
    'send dimension values as strings',
  ],
  [
    'dimension_name_invalid',
    'a dimension name does not match ^[a-zA-Z_][a-zA-Z0-9_]*$ or is longer than 100 characters',
    'rename the dimension: letters, digits and _, at most 100 characters',
  ],
  [
    'target_invalid',
    'target is neither a string nor a number, or it contains U+0000',
    'send target as a string',
  ],
  [
    'timestamp_required_with_key',
    'the request has an Idempotency-Key, and the point has no timestamp',
    'send the timestamp, the same one in each retry',
  ],
  [
    'item_too_large',
    'the item alone is larger than a message may be',
    'send fewer metrics per point, or fewer and shorter attributes per span, log record or data point',
  ],
] as const;

const spanReasons = [
  ['span_not_object', 'the span is not a JSON object', 'send each span as an OTLP Span object'],
  [
    'trace_id_invalid',
    'traceId is not 16 bytes (JSON: 32 hexadecimal characters), or all zeros',
    'send the 16 bytes of the W3C trace id; in JSON as hexadecimal, not base64',
  ],
  [
    'span_id_invalid',
    'spanId is not 8 bytes (JSON: 16 hexadecimal characters), or all zeros',
    'send the 8 bytes of the W3C span id; in JSON as hexadecimal, not base64',
  ],
  [
    'parent_span_id_invalid',
    'parentSpanId is neither empty nor 8 bytes (JSON: 16 hexadecimal characters)',
    'send the id of the parent span, or nothing for a root',
  ],
  [
    'span_field_invalid',
    'a field of the span has another type than OTLP defines',
    'send the field with the type that OTLP defines',
  ],
  [
    'attribute_invalid',
    'an attribute of the item, its resource, its scope, an event, a link, an exemplar or the metadata of a metric is not an OTLP KeyValue',
    'send attributes as {"key": …, "value": {"stringValue": …}}',
  ],
  [
    'too_many_attributes',
    'the item, its resource, its scope, an event, a link, an exemplar or the metadata of a metric has more attributes than the limit',
    "lower the SDK's attribute count limit",
  ],
  ['too_many_events', 'the span has more events than the limit', "lower the SDK's event count limit"],
  ['too_many_links', 'the span has more links than the limit', "lower the SDK's link count limit"],
  [
    'too_many_days',
    'the items of the request are of too many days: the limit is 2,048 blocks, one per day, application and message',
    "send fewer items per request, ordered by time; check the sender's clock",
  ],
  [
    'token_invalid',
    'the resource attribute mon.data.token, or the credential of the request, is not a valid write token',
    'check the write token of the application',
  ],
  [
    'application_disabled',
    'the application that the token belongs to is disabled',
    'enable it, or stop sending',
  ],
] as const;

/** Reasons of spans that log records and data points have too. */
const sharedReasons = [
  'attribute_invalid',
  'too_many_attributes',
  'item_too_large',
  'too_many_days',
  'token_invalid',
  'application_disabled',
] as const;

const recordReasons = [
  [
    'record_not_object',
    'the log record is not a JSON object',
    'send each record as an OTLP LogRecord object',
  ],
  [
    'record_field_invalid',
    'a field of the log record has another type than OTLP defines, or a severity that is not 0 to 255',
    'send the field with the type that OTLP defines',
  ],
] as const;

const dataPointReasons = [
  [
    'data_point_not_object',
    'the data point is not a JSON object',
    'send each data point as an object of OTLP, of the kind of its metric',
  ],
  ['metric_name_missing', 'the metric of the data point has no name', 'send the name of the metric'],
  [
    'data_point_field_invalid',
    'a field of the data point or its metric has another type than OTLP defines, or the buckets and bounds of a histogram do not fit',
    'send the field with the type that OTLP defines; bounds that increase, and one bucket more than there are bounds',
  ],
  [
    'too_many_buckets',
    'the data point has more buckets or quantiles than the limit',
    'use fewer buckets, or a smaller maximum size of exponential histograms',
  ],
  [
    'too_many_exemplars',
    'the data point has more exemplars than the limit',
    "use a smaller exemplar reservoir in the SDK's views",
  ],
  [
    'too_many_series',
    'the application has as many series as the limit within an hour, and this is a further one',
    'remove attributes with many different values, or raise series_max in the policy of the application',
  ],
] as const;

const timeReasons = [
  [
    'timestamp_not_numeric',
    'the timestamp is not a whole decimal number',
    'send integer milliseconds (points) or decimal nanoseconds as a string (spans, log records, data points)',
  ],
  [
    'timestamp_zero_or_missing',
    'the span has no start time or no end time, the log record has neither a time nor an observed time, or the data point has no time',
    'set startTimeUnixNano and endTimeUnixNano of a span, or timeUnixNano of a log record or a data point',
  ],
  [
    'timestamp_unit_seconds',
    'the timestamp looks like seconds',
    'send milliseconds (points) or nanoseconds (spans, log records, data points)',
  ],
  ['timestamp_unit_millis', 'the timestamp looks like milliseconds', 'send nanoseconds'],
  [
    'timestamp_unit_micros',
    'the timestamp looks like microseconds',
    'send milliseconds (points) or nanoseconds (spans, log records, data points)',
  ],
  ['timestamp_unit_nanos', 'the timestamp looks like nanoseconds', 'send milliseconds'],
  [
    'timestamp_out_of_range',
    'the timestamp is zero, negative or beyond the range of the database',
    'send the time of the measurement',
  ],
  [
    'timestamp_too_far_ahead',
    'the timestamp is after the arrival by more than the window allows',
    "check the sender's clock",
  ],
  [
    'timestamp_too_old',
    'the timestamp is older than the window or the retention allows',
    'send items sooner, or widen the window in the policy',
  ],
  ['end_before_start', 'the span ends before it starts', 'read both times from the same clock'],
] as const;

const requestReasons = [
  ['body_empty', 'the request has no body', 'send the JSON object of the push'],
  ['body_not_json', 'the body is not JSON', 'send valid JSON (NaN and Infinity are accepted, too)'],
  ['body_not_object', 'the body is not a JSON object', 'send one object with data_id, access_token and data'],
  ['data_id_invalid', 'data_id is not an integer', 'send the data id as a number'],
  ['data_missing', 'data is missing', 'send data as an array of points'],
  ['data_not_array', 'data is not an array', 'send data as an array of points'],
  ['data_empty', 'data is empty', 'send at least one point'],
  ['unsupported_type', 'the data id is not of type time_series', 'use a data id of type time_series'],
  [
    'unauthorized',
    'the token is missing or wrong, or the data id is unknown',
    'check data_id and access_token',
  ],
  ['data_source_disabled', 'the data id is disabled', 'enable it, or stop sending'],
  ['path_unknown', 'unknown path', 'send to /v2/push/ (push), /v1/traces, /v1/logs or /v1/metrics (OTLP)'],
  ['method_not_allowed', 'the path accepts only POST', 'use POST'],
  [
    'protocol_error',
    'malformed HTTP request',
    'check Host, Content-Length, Expect and the size of the header fields',
  ],
  [
    'aborted',
    'the connection ended before the body was complete',
    "check the sender's timeout and the network",
  ],
  [
    'credentials_differ',
    'the body has data_id or access_token twice, with different values',
    'send each field once',
  ],
  [
    'too_many_failures',
    'the address sends more requests without a valid token than the limit',
    'check data_id and token, and wait for the seconds in Retry-After',
  ],
  ['body_too_large', 'the body is larger than the limit', 'send smaller requests'],
  [
    'inflate_ratio_exceeded',
    'the body inflates by a larger factor than the limit',
    'send smaller requests, or no compression',
  ],
  [
    'too_many_elements',
    'the body holds more objects, arrays, members and elements than the limit',
    'send smaller requests',
  ],
  ['too_many_points', 'the request holds more points than the limit', 'send fewer points per request'],
  [
    'encoding_unsupported',
    'the Content-Encoding is not identity, gzip, deflate or zstd',
    'send one of these encodings',
  ],
  ['encoding_corrupt', 'the body cannot be decompressed', 'send a body that matches its Content-Encoding'],
  [
    'rate_limited',
    'the source sends more requests than its max_rate',
    'wait for the seconds in Retry-After, and send fewer, larger requests',
  ],
  [
    'not_stored',
    'nothing was stored because the service is overloaded or not ready',
    'send the same request again after Retry-After',
  ],
  [
    'unconfirmed',
    'the request was published, but its storage was not confirmed in time',
    'send again with the same Idempotency-Key; without one it may be stored twice',
  ],
] as const;

/** Refusals that only the OTLP receivers have. */
const traceRequestReasons = [
  [
    'body_malformed',
    'the body is not the export request of its path in the encoding of its Content-Type',
    'check the Content-Type and the exporter; the answer names the field',
  ],
  [
    'content_type_unsupported',
    'the Content-Type is neither JSON nor protobuf',
    'send application/json or application/x-protobuf',
  ],
  [
    'too_many_spans',
    'the request holds more spans than the limit',
    'send fewer spans per request: lower the batch size of the exporter',
  ],
  [
    'too_many_records',
    'the request holds more log records than the limit',
    'send fewer log records per request: lower the batch size of the exporter',
  ],
  [
    'too_many_data_points',
    'the request holds more data points than the limit',
    'send fewer data points per request: lower the batch size of the exporter',
  ],
  [
    'too_many_tokens',
    'the resources of the request have more different tokens than the limit',
    'send the items of fewer applications per request',
  ],
  ['application_disabled', 'all applications of the request are disabled', 'enable it, or stop sending'],
  ['internal', 'internal error of the receiver', 'report the error with the log of ingress'],
] as const;

/** Reasons for a dead letter: transfer keeps the bytes instead of dropping the item. */
const deadLetterReasons = [
  [
    'unreadable_message',
    'a message of the stream is malformed',
    'report it with the dead letter, which has the bytes of the message',
  ],
  [
    'row_refused',
    'QuestDB refuses the row of a point, also in a retry',
    'read the error in the dead letter, fix its cause, then redrive it',
  ],
  [
    'span_refused',
    'ClickHouse refuses a span, also in a retry',
    'read the error in the dead letter, fix its cause, then redrive it',
  ],
  [
    'record_refused',
    'ClickHouse refuses a log record, also in a retry',
    'read the error in the dead letter, fix its cause, then redrive it',
  ],
  [
    'data_point_refused',
    'ClickHouse refuses a data point, also in a retry',
    'read the error in the dead letter, fix its cause, then redrive it',
  ],
  [
    'block_refused',
    'ClickHouse refuses a block of spans, log records or data points, also in a retry, and the one at fault is unknown',
    'read the error in the dead letter, fix its cause, then redrive it',
  ],
  [
    'table_unavailable',
    'the QuestDB table of the points failed for longer than table_wait_seconds while other tables accepted rows',
    'repair or create the table, then redrive its dead letters',
  ],
  [
    'deferred_item_valid',
    'the receiver deferred the item for its time, and transfer finds the time valid: their versions differ',
    'run one version in all processes, then redrive it',
  ],
  [
    'ledger_line_refused',
    'ClickHouse refuses a line of outcomes, refusals or samples, also in a retry; the items themselves are not affected',
    'read the error in the dead letter: the tables may be older than the program (tidemark migrate)',
  ],
] as const;

export type PointReason = (typeof pointReasons)[number][0];
export type SpanReason = (typeof spanReasons)[number][0] | 'item_too_large';
/** Why a log record was rejected: reasons of its own, and some that spans have too. */
export type RecordReason =
  | (typeof recordReasons)[number][0]
  | Extract<SpanReason, (typeof sharedReasons)[number]>;
/** Why a data point was rejected: reasons of its own, and some that spans have too. */
export type DataPointReason =
  | (typeof dataPointReasons)[number][0]
  | Extract<SpanReason, (typeof sharedReasons)[number]>;
/** Why an item of an application was rejected. */
export type ItemReason = SpanReason | RecordReason | DataPointReason;
export type TimeReason = (typeof timeReasons)[number][0];
export type RequestReason = (typeof requestReasons)[number][0];
/** Why an OTLP receiver refused a request. */
export type TraceRequestReason = (typeof traceRequestReasons)[number][0] | RequestReason;
export type DeadLetterReason = (typeof deadLetterReasons)[number][0];
/** Why an item was dropped. */
export type DropReason = PointReason | TimeReason | 'data_source_purged' | 'purged_by_operator';
/** Why single values of a kept point were dropped. */
export type ValueReason = 'metric_columns_exceeded';
/** Why an event or a link of a kept span was dropped. */
export type SpanPartReason = 'event_time_invalid' | 'link_id_invalid';

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
