/** Why a span was rejected: code, meaning, remedy. Some hold for every item of an application. */
export const spanReasons = [
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
    'the application that the token belongs to is disabled or deleted',
    'enable it, or stop sending; a deleted one stays refused',
  ],
] as const;

/** Reasons of spans that log records and data points have too. */
export const sharedReasons = [
  'attribute_invalid',
  'too_many_attributes',
  'item_too_large',
  'too_many_days',
  'token_invalid',
  'application_disabled',
] as const;

/** Why a log record was rejected, beside the shared reasons. */
export const recordReasons = [
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

/** Why a data point was rejected, beside the shared reasons. */
export const dataPointReasons = [
  [
    'data_point_not_object',
    'the data point is not a JSON object',
    'send each data point as an object of OTLP, of the kind of its metric',
  ],
  ['metric_name_missing', 'the metric of the data point has no name', 'send the name of the metric'],
  [
    'data_point_field_invalid',
    'a field of the data point or its metric has another type than OTLP defines, the buckets and bounds of a histogram do not fit, a quantile of a summary is not from 0 to 1, or the metric has data points of two kinds (JSON)',
    'send the field with the type that OTLP defines; bounds that increase, and one bucket more than there are bounds; quantiles from 0 to 1',
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
