-- The settlers' book: a row per settled message and owner, with its place in the stream and in the publishers' book. `at` is the
-- server's own clock at the insert. A message that was settled twice may have its row twice until a merge: reads group.
CREATE TABLE IF NOT EXISTS otel.ingest_settled
(
    `stream` LowCardinality(String),
    `life` UInt32 CODEC(ZSTD(1)),
    `minute` DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    `serial` UInt64 CODEC(Delta(8), ZSTD(1)),
    `sequence` UInt64 CODEC(Delta(8), ZSTD(1)),
    `data_id` Int64 CODEC(ZSTD(1)),
    `app_id` Int64 CODEC(ZSTD(1)),
    `owners` UInt16 CODEC(ZSTD(1)),
    `items` UInt32 CODEC(ZSTD(1)),
    `redrive` UInt32 CODEC(ZSTD(1)),
    `at` DateTime('UTC') DEFAULT now() CODEC(Delta(4), ZSTD(1)),
    INDEX idx_sequence sequence TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(at)
ORDER BY (stream, life, minute, serial, sequence, data_id, app_id)
TTL at + INTERVAL 90 DAY
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 0
