-- Messages whose publish ended without an answer, by owner: each may be stored. A settled one is in ingest_settled under its serial.
CREATE TABLE IF NOT EXISTS otel.ingest_doubtful
(
    `stream` LowCardinality(String),
    `life` UInt32,
    `serial` UInt64,
    `minute` DateTime('UTC'),
    `data_id` Int64,
    `app_id` Int64,
    `items` UInt64,
    `base` UInt64,
    `first` UInt64,
    `told` UInt8,
    `at` DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(at)
ORDER BY (stream, life, serial, data_id, app_id)
TTL at + INTERVAL 90 DAY
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 0
