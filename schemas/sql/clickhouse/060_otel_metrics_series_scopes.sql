-- How many series each metric of an application has within [since, until), and the distinct values of each attribute of its data points.
-- A series is the attributes of the resource, the scope with its attributes, and the attributes of the data point, in any order.
-- Series are counted exactly. Distinct values are estimated beyond 65,536: exact, each attribute would take as much memory as the series.
CREATE OR REPLACE VIEW otel.otel_metrics_series
AS SELECT
    Kind, AppId, ServiceName, MetricName, any(MetricUnit) AS MetricUnit, AggregationTemporality, IsMonotonic,
    uniqExact(Series) AS SeriesCount, uniqMap(Attributes) AS AttributeValues, min(TimeUnix) AS FirstTime, max(TimeUnix) AS LastTime
FROM
(
    SELECT
        'gauge' AS Kind, AppId, ServiceName, MetricName, MetricUnit, 0 AS AggregationTemporality, false AS IsMonotonic, Attributes, TimeUnix,
        cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series
    FROM otel.otel_metrics_gauge
    WHERE TimeUnix >= toDateTime64({since:DateTime}, 9) AND TimeUnix < toDateTime64({until:DateTime}, 9)
    UNION ALL
    SELECT
        'sum' AS Kind, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality AS AggregationTemporality, IsMonotonic AS IsMonotonic, Attributes, TimeUnix,
        cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series
    FROM otel.otel_metrics_sum
    WHERE TimeUnix >= toDateTime64({since:DateTime}, 9) AND TimeUnix < toDateTime64({until:DateTime}, 9)
    UNION ALL
    SELECT
        'histogram' AS Kind, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality AS AggregationTemporality, false AS IsMonotonic, Attributes, TimeUnix,
        cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series
    FROM otel.otel_metrics_histogram
    WHERE TimeUnix >= toDateTime64({since:DateTime}, 9) AND TimeUnix < toDateTime64({until:DateTime}, 9)
    UNION ALL
    SELECT
        'exponential_histogram' AS Kind, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality AS AggregationTemporality, false AS IsMonotonic, Attributes, TimeUnix,
        cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series
    FROM otel.otel_metrics_exponential_histogram
    WHERE TimeUnix >= toDateTime64({since:DateTime}, 9) AND TimeUnix < toDateTime64({until:DateTime}, 9)
    UNION ALL
    SELECT
        'summary' AS Kind, AppId, ServiceName, MetricName, MetricUnit, 0 AS AggregationTemporality, false AS IsMonotonic, Attributes, TimeUnix,
        cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series
    FROM otel.otel_metrics_summary
    WHERE TimeUnix >= toDateTime64({since:DateTime}, 9) AND TimeUnix < toDateTime64({until:DateTime}, 9)
)
GROUP BY Kind, AppId, ServiceName, MetricName, AggregationTemporality, IsMonotonic
