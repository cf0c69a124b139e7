-- The last value of each series of a gauge or a sum within [since, until). A series whose last data point says that it has no value any
-- more (flag 1) is left out. ValueInt is the value as it was sent, where it was an integer. A series is the
-- attributes of the resource, the scope with its attributes, and the attributes of the data point, in any order.
CREATE OR REPLACE VIEW otel.otel_metrics_last
AS SELECT
    Kind, AppId, ServiceName, MetricName, any(MetricUnit) AS MetricUnit, AggregationTemporality, any(ResourceAttributes) AS ResourceAttributes,
    any(ScopeName) AS ScopeName, any(ScopeAttributes) AS ScopeAttributes, any(Attributes) AS Attributes, Series,
    max(TimeUnix) AS LastTime, argMax(Value, (TimeUnix, uid)) AS LastValue, tupleElement(argMax(ValueInt, (TimeUnix, uid)), 1) AS LastValueInt
FROM
(
    SELECT
        'gauge' AS Kind, AppId, ServiceName, MetricName, MetricUnit, 0 AS AggregationTemporality, ResourceAttributes, ScopeName, ScopeAttributes, Attributes,
        cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series,
        TimeUnix, Value, tuple(ValueInt) AS ValueInt, HasValue, uid
    FROM otel.otel_metrics_gauge
    WHERE MetricName = {metric:String} AND TimeUnix >= toDateTime64({since:DateTime}, 9) AND TimeUnix < toDateTime64({until:DateTime}, 9)
    UNION ALL
    SELECT
        'sum' AS Kind, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality, ResourceAttributes, ScopeName, ScopeAttributes, Attributes,
        cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series,
        TimeUnix, Value, tuple(ValueInt) AS ValueInt, HasValue, uid
    FROM otel.otel_metrics_sum
    WHERE MetricName = {metric:String} AND TimeUnix >= toDateTime64({since:DateTime}, 9) AND TimeUnix < toDateTime64({until:DateTime}, 9)
)
GROUP BY Kind, AppId, ServiceName, MetricName, AggregationTemporality, Series
HAVING argMax(HasValue, (TimeUnix, uid))
