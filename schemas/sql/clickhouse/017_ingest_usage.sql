-- Who used the receivers: requests of one owner that were answered with success and had something to store, as one life of a receiver
-- counted them in one minute of arrival. Counts are cumulative: of the rows with one key the highest version stands. `line` tells
-- apart lines of one minute that the receiver no longer had in memory.
CREATE TABLE IF NOT EXISTS otel.ingest_usage
(
    `data_id` Int64,
    `app_id` Int64,
    `minute` DateTime('UTC'),
    `life` UInt32,
    `line` UInt64,
    `requests` UInt64,
    `wire_bytes` UInt64,
    `inflated_bytes` UInt64,
    `second_max` UInt32,
    `last_at` DateTime64(3, 'UTC'),
    `sender` String CODEC(ZSTD(1)),
    `sdk` String CODEC(ZSTD(1)),
    `version` UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(minute)
ORDER BY (data_id, app_id, minute, life, line)
TTL minute + INTERVAL 90 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 0
