-- How far the looks of metadata have seen each stream: `nats` tells one NATS from another, and a stream that became shorter begins a
-- generation, whose `began` is its last sequence when that was seen. Up to `floor` all were settled or gone at a look; `life` is the last
-- one that may have published. All but `since` only grow, so that any process may write at any time.
CREATE TABLE IF NOT EXISTS otel.ingest_stream_ends
(
    `nats` String,
    `stream` LowCardinality(String),
    `generation` UInt32,
    `began` SimpleAggregateFunction(max, UInt64),
    `last` SimpleAggregateFunction(max, UInt64),
    `floor` SimpleAggregateFunction(max, UInt64),
    `life` SimpleAggregateFunction(max, UInt32),
    `since` SimpleAggregateFunction(min, DateTime('UTC')) DEFAULT now(),
    `at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now()
)
ENGINE = AggregatingMergeTree
ORDER BY (nats, stream, generation)
TTL at + INTERVAL 30 DAY
SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 0
