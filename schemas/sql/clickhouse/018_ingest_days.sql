-- Rows by owner and event day as the lines of transfer name them, added up: a line that is written again counts again. So it only tells
-- which days to compare with the stores in earnest; sums are modulo 2^64.
CREATE TABLE IF NOT EXISTS otel.ingest_days
(
    `pipeline` LowCardinality(String),
    `data_id` Int64,
    `app_id` Int64,
    `day` UInt16,
    `rows` UInt64,
    `sum` UInt64
)
ENGINE = SummingMergeTree
PARTITION BY intDiv(day, 32)
ORDER BY (pipeline, data_id, app_id, day)
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 0
