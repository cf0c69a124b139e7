-- What the two books and the stores differ in, as the looks of metadata found it: by kind, stream, owner and minute (of a difference with
-- a store: the event day). Another figure replaces the one before; `is_found` 0: it is not there any more.
CREATE TABLE IF NOT EXISTS otel.ingest_differences
(
    `kind` LowCardinality(String),
    `stream` LowCardinality(String),
    `data_id` Int64,
    `app_id` Int64,
    `minute` DateTime('UTC'),
    `items` UInt64,
    `messages` UInt64,
    `is_found` UInt8,
    `at` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(at)
PARTITION BY toYYYYMM(minute)
ORDER BY (kind, stream, data_id, app_id, minute)
TTL minute + INTERVAL 400 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 0
