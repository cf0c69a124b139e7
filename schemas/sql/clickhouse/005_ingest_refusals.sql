-- What a receiver turned away or left out, counted by minute: requests that were refused (with their items, where they were
-- counted), requests that were repeats, values that were lost from items that were stored. Best effort: a receiver that is
-- killed takes its last second with it. The receiver's boot number and its own count make a row that is written again replace itself.
CREATE TABLE IF NOT EXISTS otel.ingest_refusals
(
    `pipeline` LowCardinality(String),
    `data_id` Int64,
    `app_id` Int64,
    `minute` DateTime('UTC'),
    `kind` LowCardinality(String),
    `reason` LowCardinality(String),
    `requests` UInt64,
    `items` UInt64,
    `boot` UInt32,
    `seq` UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(minute)
ORDER BY (pipeline, data_id, app_id, minute, kind, reason, boot, seq)
TTL minute + INTERVAL 90 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 0
