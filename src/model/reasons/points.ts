/** Why a point was rejected: code, meaning, remedy. */
export const pointReasons = [
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

export type PointReason = (typeof pointReasons)[number][0];
/** Why single values of a kept point were dropped. */
export type ValueReason = 'metric_columns_exceeded';
