-- Sums. Columns and indexes of the OpenTelemetry ClickHouse exporter, in its order, with times to the nanosecond; ours come after
-- them: ValueInt has a 64-bit integer as it was sent, HasValue is false for a point without a value. The metric's name stands first in the order, for queries name it.
-- The rest is as in otel_traces: rows with the same uid are the same data point, delivered more than once, and collapse.
CREATE TABLE IF NOT EXISTS otel.otel_metrics_sum
(
    `ResourceAttributes` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `ResourceSchemaUrl` LowCardinality(String) CODEC(ZSTD(1)),
    `ScopeName` String CODEC(ZSTD(1)),
    `ScopeVersion` LowCardinality(String) CODEC(ZSTD(1)),
    `ScopeAttributes` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `ScopeDroppedAttrCount` UInt32 CODEC(ZSTD(1)),
    `ScopeSchemaUrl` LowCardinality(String) CODEC(ZSTD(1)),
    `ServiceName` LowCardinality(String) CODEC(ZSTD(1)),
    `MetricName` LowCardinality(String) CODEC(ZSTD(1)),
    `MetricDescription` LowCardinality(String) CODEC(ZSTD(1)),
    `MetricUnit` LowCardinality(String) CODEC(ZSTD(1)),
    `Attributes` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `StartTimeUnix` DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    `TimeUnix` DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    `Value` Float64 CODEC(ZSTD(1)),
    `Flags` UInt32 CODEC(ZSTD(1)),
    `Exemplars.FilteredAttributes` Array(Map(LowCardinality(String), String)) CODEC(ZSTD(1)),
    `Exemplars.TimeUnix` Array(DateTime64(9)) CODEC(ZSTD(1)),
    `Exemplars.Value` Array(Float64) CODEC(ZSTD(1)),
    `Exemplars.SpanId` Array(String) CODEC(ZSTD(1)),
    `Exemplars.TraceId` Array(String) CODEC(ZSTD(1)),
    `AggregationTemporality` Int32 CODEC(ZSTD(1)),
    `IsMonotonic` Bool,
    `ValueInt` Nullable(Int64) CODEC(ZSTD(1)),
    `HasValue` Bool,
    `Exemplars.ValueInt` Array(Nullable(Int64)) CODEC(ZSTD(1)),
    `MetricMetadata` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `uid` UInt64 CODEC(Delta(8), ZSTD(1)),
    `AppId` Int64 CODEC(ZSTD(1)),
    `BizId` Int64 CODEC(ZSTD(1)),
    `ArrivedAt` DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    INDEX idx_res_attr_key mapKeys(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_res_attr_value mapValues(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_scope_attr_key mapKeys(ScopeAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_scope_attr_value mapValues(ScopeAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_attr_key mapKeys(Attributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_attr_value mapValues(Attributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_time_minmax TimeUnix TYPE minmax GRANULARITY 1,
    INDEX idx_uid uid TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(TimeUnix)
PRIMARY KEY (MetricName, ServiceName, toStartOfHour(TimeUnix), cityHash64(Attributes))
ORDER BY (MetricName, ServiceName, toStartOfHour(TimeUnix), cityHash64(Attributes), TimeUnix, uid)
SETTINGS
    index_granularity = 8192,
    ttl_only_drop_parts = 1,
    non_replicated_deduplication_window = 0,
    min_level_for_wide_part = 1,
    min_bytes_for_wide_part = 10485760
