-- The lines of transfer as they come from LEDGER. It keeps nothing: two views divide each line between ingest_outcomes and ingest_settled.
CREATE TABLE IF NOT EXISTS otel.ingest_lines
(
    `pipeline` LowCardinality(String),
    `data_id` Int64,
    `app_id` Int64,
    `base` UInt64,
    `first` UInt64,
    `ordinal` Int64,
    `redrive` UInt32,
    `minute` DateTime('UTC'),
    `received` Int64,
    `outcomes` Map(LowCardinality(String), Int64),
    `at` DateTime64(3, 'UTC'),
    `stream` LowCardinality(String),
    `life` UInt32,
    `serial` UInt64,
    `sent` DateTime('UTC'),
    `sequence` UInt64,
    `owners` UInt16,
    `items` UInt32,
    `letters` Array(Int64),
    `letter_items` Array(UInt32),
    `days` Array(UInt16),
    `day_rows` Array(UInt32),
    `day_sums` Array(UInt64)
)
ENGINE = Null
