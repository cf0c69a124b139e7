-- What became of the items of a request that was answered 2xx: a row per message and data id (or application), and one more
-- for each item that was redriven or purged from the dead letters. received = the sum of the outcomes, in every row. A row that
-- is written again replaces the one with its key, so reads use FINAL. The key is of the message, not of its delivery.
CREATE TABLE IF NOT EXISTS otel.ingest_outcomes
(
    `pipeline` LowCardinality(String),
    `data_id` Int64,
    `app_id` Int64,
    `base` UInt64,
    `first` UInt64,
    `ordinal` Int64 DEFAULT -1,
    `redrive` UInt32,
    `minute` DateTime('UTC'),
    `received` Int64,
    `outcomes` Map(LowCardinality(String), Int64),
    `at` DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(at)
PARTITION BY toYYYYMM(minute)
ORDER BY (pipeline, data_id, app_id, base, first, ordinal, redrive)
TTL minute + INTERVAL 90 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 0
