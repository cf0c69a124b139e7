/** Who can mend what a reason names. */
export type Mender = 'sender' | 'operator' | 'tidemark';

/** One row of the closed table: why an item (or one of its values, or a whole request) did not go the normal way. */
export type Reason = {
  readonly code: string;
  /** What the reason is said of: a whole request, one item of it, or single values of a kept item. */
  readonly of: 'request' | 'item' | 'value';
  /** Where the verdict falls. Time is judged in transfer (specification 4.2). */
  readonly stage: 'receiver' | 'transfer';
  readonly mender: Mender;
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
    'give metrics as an object of metric name to number',
  ],
  ['metrics_empty', 'the metrics object holds no metric', 'send at least one metric a point'],
  [
    'metric_name_invalid',
    'a metric name does not match ^[a-zA-Z_][a-zA-Z0-9_]*$ or is longer than 100 characters',
    'rename the metric',
  ],
  ['metric_value_invalid', 'a metric value is not a number', 'send numbers without quotes'],
  [
    'metric_not_finite',
    'a metric value is NaN, infinite or beyond the range of a double',
    'leave the value out when there is none',
  ],
  [
    'metric_columns_exceeded',
    'the data id has as many metrics as its table may hold, and none of the point is among them',
    'use fewer metric names; put what varies into dimensions',
  ],
  [
    'dimension_invalid',
    'dimension is not an object, or a value is an object, an array or holds U+0000',
    'send dimension values as strings',
  ],
  [
    'dimension_name_invalid',
    'a dimension name does not match ^[a-zA-Z_][a-zA-Z0-9_]*$ or is longer than 100 characters',
    'rename the dimension',
  ],
  ['target_invalid', 'target is neither a string nor a number, or holds U+0000', 'send target as a string'],
  [
    'timestamp_required_with_key',
    'a request with an Idempotency-Key holds a point without timestamp',
    'send the timestamp: a retry must carry the same one',
  ],
  ['item_too_large', 'one point alone exceeds what a message may hold', 'split the point'],
] as const;

const spanReasons = [
  ['span_not_object', 'the span is not a JSON object', 'send each span as an object of OTLP'],
  [
    'trace_id_invalid',
    'traceId is not 16 bytes (JSON: 32 hexadecimal characters), or all zeros',
    'send the trace id of the W3C trace context; JSON takes hexadecimal, never base64',
  ],
  [
    'span_id_invalid',
    'spanId is not 8 bytes (JSON: 16 hexadecimal characters), or all zeros',
    'send the span id of the W3C trace context; JSON takes hexadecimal, never base64',
  ],
  [
    'parent_span_id_invalid',
    'parentSpanId is neither empty nor 8 bytes (JSON: 16 hexadecimal characters)',
    'send the id of the parent span, or nothing for a root',
  ],
  [
    'span_field_invalid',
    'a field of the span has a type that OTLP does not give it',
    'send the span as OTLP describes it',
  ],
  [
    'attribute_invalid',
    'an attribute of the span, its resource, an event or a link is not a key with a value of OTLP',
    'send attributes as {"key": …, "value": {"stringValue": …}}',
  ],
  [
    'too_many_attributes',
    'the span, its resource, an event or a link has more attributes than the limit',
    "lower the SDK's attribute count limit",
  ],
  ['too_many_events', 'the span has more events than the limit', "lower the SDK's event count limit"],
  ['too_many_links', 'the span has more links than the limit', "lower the SDK's link count limit"],
  [
    'too_many_days',
    'the spans of the request start on too many different days: one block for each day, application and message, 2,048 at most',
    "send fewer spans at once, or in the order of time; check the sender's clock",
  ],
  [
    'token_invalid',
    'the resource attribute mon.data.token, or the credential of the request, is no write token',
    'check the write token of the application',
  ],
  [
    'application_disabled',
    'the application that the token belongs to is disabled',
    'enable it, or stop sending',
  ],
] as const;

const timeReasons = [
  [
    'timestamp_not_numeric',
    'the timestamp is not a whole decimal number',
    'points: integer milliseconds; spans: decimal nanoseconds as a string',
  ],
  ['timestamp_zero_or_missing', 'a span has no start or end time', 'set both times'],
  [
    'timestamp_unit_seconds',
    'the timestamp looks like seconds',
    'multiply to the unit that the endpoint takes',
  ],
  ['timestamp_unit_millis', 'the timestamp looks like milliseconds', 'multiply to nanoseconds'],
  [
    'timestamp_unit_micros',
    'the timestamp looks like microseconds',
    'convert to the unit that the endpoint takes',
  ],
  ['timestamp_unit_nanos', 'the timestamp looks like nanoseconds', 'divide to milliseconds'],
  [
    'timestamp_out_of_range',
    'the timestamp is zero, negative or beyond what the database holds',
    'send the time of the measurement',
  ],
  [
    'timestamp_too_far_ahead',
    'the timestamp is further ahead of the arrival than the window allows',
    "check the sender's clock",
  ],
  [
    'timestamp_too_old',
    'the timestamp is older than the window or the retention allows',
    'send within the window, or widen it',
  ],
  ['end_before_start', 'a span ends before it starts', 'check how the times are taken'],
] as const;

const requestReasons = [
  ['body_empty', 'the request has no body', 'send the JSON object of the push'],
  ['body_not_json', 'the body is not JSON', 'check the body; NaN and Infinity alone are tolerated'],
  ['body_not_object', 'the body is not a JSON object', 'send one object with data_id, access_token and data'],
  ['data_id_invalid', 'data_id is not an integer', 'send the data id as a number'],
  ['data_missing', 'there is no data', 'send data as an array of points'],
  ['data_not_array', 'data is not an array', 'send data as an array of points'],
  ['data_empty', 'data holds no point', 'send at least one point'],
  ['unsupported_type', 'the data id is not of type time_series', 'push to a data id for custom time series'],
  [
    'unauthorized',
    'the token is missing or wrong, or the data id is unknown',
    'check data_id and access_token',
  ],
  ['data_source_disabled', 'the data id is disabled', 'enable it, or stop sending'],
  ['path_unknown', 'there is nothing at this path', 'push to /v2/push/'],
  ['method_not_allowed', 'the path takes POST alone', 'use POST'],
  [
    'protocol_error',
    'this is no HTTP request that can be read',
    'check Host, Content-Length, Expect and the size of the header fields',
  ],
  [
    'aborted',
    'the connection ended before the body was complete',
    "check the sender's time-out and the network",
  ],
  [
    'credentials_differ',
    'data_id or access_token comes twice in the body, and the later one is another',
    'send each of them once',
  ],
  [
    'too_many_failures',
    'the address sends more requests without a valid credential than the limit',
    'check data_id and token, and wait as Retry-After says',
  ],
  ['body_too_large', 'the body is larger than the limit', 'send smaller requests'],
  [
    'inflate_ratio_exceeded',
    'the body inflates to more times its size than the limit',
    'send smaller requests, or without compression',
  ],
  [
    'too_many_elements',
    'the body holds more objects, arrays, members and elements than the limit',
    'send smaller requests',
  ],
  ['too_many_points', 'the request holds more points than the limit', 'send smaller requests'],
  ['encoding_unsupported', 'the Content-Encoding is not identity, gzip, deflate or zstd', 'use one of these'],
  ['encoding_corrupt', 'the body does not decompress', 'check the compression'],
  [
    'rate_limited',
    'the source sends more requests than its max_rate',
    'wait as Retry-After says; send fewer, larger requests',
  ],
  [
    'not_stored',
    'nothing was stored: the service is overloaded or not ready',
    'send the same request again after Retry-After',
  ],
  [
    'unconfirmed',
    'the request was published and no confirmation came in time',
    'send again with the same Idempotency-Key; without one it may be stored twice',
  ],
] as const;

/** Refusals that only the trace receiver knows. */
const traceRequestReasons = [
  [
    'body_malformed',
    'the body is not an ExportTraceServiceRequest in the encoding that its Content-Type names',
    'check the Content-Type and the exporter; the answer says where reading stopped',
  ],
  [
    'content_type_unsupported',
    'the Content-Type is neither JSON nor protobuf',
    'send application/json or application/x-protobuf',
  ],
  ['too_many_spans', 'the request holds more spans than the limit', "lower the exporter's batch size"],
  [
    'too_many_tokens',
    'the resources of the request name more different tokens than the limit',
    'send the spans of fewer applications at once',
  ],
  [
    'application_disabled',
    'every application that the request brings spans for is disabled',
    'enable it, or stop sending',
  ],
  ['internal', 'the receiver failed', 'report it with the log of ingress'],
] as const;

/** What transfer sets aside with its bytes instead of dropping it. */
const deadLetterReasons = [
  [
    'unreadable_message',
    'a message of the stream cannot be read',
    'report it with the dead letter, which has the bytes',
  ],
  [
    'row_refused',
    'QuestDB refuses the row of a point for good',
    'read the error in the dead letter, mend its cause and redrive it',
  ],
  [
    'span_refused',
    'ClickHouse refuses a span for good',
    'read the error in the dead letter, mend its cause and redrive it',
  ],
  [
    'block_refused',
    'ClickHouse refuses a block of spans for good and it cannot be told which of them',
    'read the error in the dead letter, mend its cause and redrive it',
  ],
  [
    'table_unavailable',
    'the table of the points in QuestDB failed for longer than table_wait_seconds while others took rows',
    'mend or make the table, then redrive its dead letters',
  ],
  [
    'deferred_item_valid',
    'the receiver held the time of an item to be wrong, and transfer finds it valid: two versions disagree',
    'bring all processes to one version, then redrive it',
  ],
  [
    'ledger_line_refused',
    'ClickHouse refuses a record of outcomes, refusals or samples for good; the items themselves are not concerned',
    'read the error in the dead letter: the tables may be older than the program (tidemark migrate)',
  ],
] as const;

export type PointReason = (typeof pointReasons)[number][0];
export type SpanReason = (typeof spanReasons)[number][0] | 'item_too_large';
export type TimeReason = (typeof timeReasons)[number][0];
export type RequestReason = (typeof requestReasons)[number][0];
/** Why the trace receiver refused a request. */
export type TraceRequestReason = (typeof traceRequestReasons)[number][0] | RequestReason;
export type DeadLetterReason = (typeof deadLetterReasons)[number][0];
/** Why an item was dropped. */
export type DropReason = PointReason | TimeReason | 'data_source_purged' | 'purged_by_operator';
/** Why single values of a kept point were dropped. */
export type ValueReason = 'metric_columns_exceeded';
/** Why an event or a link of a kept span was left out. */
export type SpanPartReason = 'event_time_invalid' | 'link_id_invalid';

const rows = (
  list: readonly (readonly [string, string, string])[],
  of: Reason['of'],
  stage: Reason['stage'],
  mender: Mender = 'sender',
): Reason[] =>
  list.map(([code, meaning, remedy]) => ({
    code,
    of,
    stage,
    mender: menders[code] ?? mender,
    meaning,
    remedy,
  }));

/** Where it is not who the kind of reason suggests. */
const menders: Readonly<Record<string, Mender>> = {
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
  ...rows(timeReasons, 'item', 'transfer'),
  {
    code: 'data_source_purged',
    of: 'item',
    stage: 'transfer',
    mender: 'operator',
    meaning: 'the data source was purged while the item was on its way',
    remedy: 'none: purging was asked for',
  },
  {
    code: 'purged_by_operator',
    of: 'item',
    stage: 'transfer',
    mender: 'operator',
    meaning: 'the item was in the dead letters and an operator purged it there',
    remedy: 'none: purging was asked for',
  },
  {
    code: 'metric_columns_exceeded',
    of: 'value',
    stage: 'receiver',
    mender: 'sender',
    meaning: 'the data id has as many metrics as its table may hold; the other values of the point are kept',
    remedy: 'use fewer metric names; put what varies into dimensions',
  },
  {
    code: 'event_time_invalid',
    of: 'value',
    stage: 'receiver',
    mender: 'sender',
    meaning: "the time of a span's event is no time in nanoseconds; the span and its other events are kept",
    remedy: 'send timeUnixNano as decimal nanoseconds',
  },
  {
    code: 'link_id_invalid',
    of: 'value',
    stage: 'receiver',
    mender: 'sender',
    meaning: 'a trace or span id of a link is not of the right form; the span and its other links are kept',
    remedy: 'send the ids of the linked span, in JSON as hexadecimal',
  },
  {
    code: 'value_cut',
    of: 'value',
    stage: 'receiver',
    mender: 'sender',
    meaning: 'a text of a span is longer than value_bytes_max and was cut there; the span is kept',
    remedy: 'send shorter values, or raise the limit in the policy of the application',
  },
  {
    code: 'duplicate_request',
    of: 'request',
    stage: 'receiver',
    mender: 'sender',
    meaning:
      'the same bytes, or the same Idempotency-Key with them, were stored before; nothing was stored again',
    remedy:
      'none after a retry; where repeats are meant, set deduplicate: false in the policy of the application',
  },
  ...rows(requestReasons, 'request', 'receiver'),
  ...rows(traceRequestReasons, 'request', 'receiver'),
  ...rows(deadLetterReasons, 'item', 'transfer', 'operator'),
];

/** Meaning of a code, for replies; of one that is said of several things the first. Undefined for a code that does not exist. */
export const explain = (code: string): Reason | undefined => reasons.find((reason) => reason.code === code);

/** Every row of a code, for `tidemark explain`. */
export const explainAll = (code: string): Reason[] => reasons.filter((reason) => reason.code === code);
