-- The publishers' book: what one life of a receiver published to a stream in messages of one minute, by owner; owner 0 (data_id and
-- app_id 0) counts messages. Counts are cumulative: of the rows with one key the highest version stands.
CREATE TABLE IF NOT EXISTS otel.ingest_published
(
    `stream` LowCardinality(String),
    `life` UInt32,
    `minute` DateTime('UTC'),
    `data_id` Int64,
    `app_id` Int64,
    `messages` UInt64,
    `items` UInt64,
    `rows` UInt64,
    `bytes` UInt64,
    `dropped` Map(LowCardinality(String), UInt64),
    `sequence_first` UInt64,
    `sequence_last` UInt64,
    `closed` UInt64,
    `ended` UInt8,
    `version` UInt64,
    `at` DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toDate(at)
ORDER BY (stream, life, minute, data_id, app_id)
TTL at + INTERVAL 90 DAY
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 0
