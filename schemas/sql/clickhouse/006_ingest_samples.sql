-- Examples of what was dropped, refused or set aside: bounded in number and size, secrets taken out, kept for 30 days.
CREATE TABLE IF NOT EXISTS otel.ingest_samples
(
    `at` DateTime64(3, 'UTC'),
    `pipeline` LowCardinality(String),
    `data_id` Int64,
    `app_id` Int64,
    `stage` LowCardinality(String),
    `reason` LowCardinality(String),
    `ordinal` Int64 DEFAULT -1,
    `field` String CODEC(ZSTD(1)),
    `value` String CODEC(ZSTD(1)),
    `detail` String CODEC(ZSTD(1)),
    `payload` String CODEC(ZSTD(1)),
    `sender` String CODEC(ZSTD(1)),
    `sdk` String CODEC(ZSTD(1)),
    `boot` UInt32,
    `seq` UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(at)
ORDER BY (pipeline, data_id, app_id, reason, at, boot, seq)
TTL toDateTime(at) + INTERVAL 30 DAY
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 0
