-- Differences that an operator has closed, with the figure and the reason. A larger figure opens the difference again.
CREATE TABLE IF NOT EXISTS otel.ingest_closings
(
    `kind` LowCardinality(String),
    `stream` LowCardinality(String),
    `data_id` Int64,
    `app_id` Int64,
    `minute` DateTime('UTC'),
    `items` UInt64,
    `messages` UInt64,
    `reason` String,
    `closed_by` String,
    `at` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(at)
PARTITION BY toYYYYMM(minute)
ORDER BY (kind, stream, data_id, app_id, minute)
TTL minute + INTERVAL 400 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 0
