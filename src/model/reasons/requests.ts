/** Why a receiver refused a whole request: code, meaning, remedy. */
export const requestReasons = [
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
  [
    'data_source_disabled',
    'the data id is disabled, deleted or purged',
    'enable it, or stop sending; a deleted or purged one stays refused',
  ],
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
  [
    'message_too_large',
    'the request makes a message that is larger than the limit of NATS',
    'send smaller requests, or raise max_payload of NATS to 8 MB',
  ],
  ['too_many_points', 'the request holds more points than the limit', 'send fewer points per request'],
  ['encoding_unsupported', 'the Content-Encoding is not supported', 'send identity, gzip, deflate or zstd'],
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
    'the request was published, but not all of it was confirmed in time',
    'send again with the same Idempotency-Key; without one it may be stored twice',
  ],
] as const;

/** Refusals that only the OTLP receivers have. */
export const traceRequestReasons = [
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
  [
    'application_disabled',
    'all applications of the request are disabled or deleted',
    'enable them, or stop sending; a deleted one stays refused',
  ],
  ['internal', 'internal error of the receiver', 'report the error with the log of ingress'],
] as const;

export type RequestReason = (typeof requestReasons)[number][0];
/** Why an OTLP receiver refused a request. */
export type TraceRequestReason = (typeof traceRequestReasons)[number][0] | RequestReason;
