/** Why the time of a point or another item was rejected: code, meaning, remedy. Transfer applies them. */
export const timeReasons = [
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

export type TimeReason = (typeof timeReasons)[number][0];
