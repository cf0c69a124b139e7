-- How much each series of a monotonic or delta sum has grown by each of its data points, within [since, until). A cumulative value
-- grows from the point before it in the series (of ten minutes before `since`, too), and from 0 after a reset: another start time, or a
-- smaller value. Without a point before it, it grows since its start where that lies in the same time. Seconds is the time in which it grew.
-- A start that is the point's own time, or a later one, is a start that is not known (OTLP): such a point is taken as one without a start.
-- Integers are subtracted as they were sent: doubles round those from 2^53 on. NaN and infinities are left out: no sum has use for them.
-- A series is the attributes of the resource, the scope with its attributes, and the attributes of the data point, in any order.
-- It reads only the days of [since, until): rows with one uid have one time, and so they are in one partition.
CREATE OR REPLACE VIEW otel.otel_metrics_sum_increases
AS SELECT
    TimeUnix, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality, ResourceAttributes, ScopeName, ScopeAttributes, Attributes, Series,
    IsReset, Increase, Seconds, if(Seconds > 0, Increase / Seconds, NULL) AS PerSecond
FROM
(
    SELECT
        *,
        AggregationTemporality = 2 AND Place > 1 AND (ifNull(ValueInt < IntBefore, Value < Before) OR (StartTimeUnix > StartBefore AND StartTimeUnix >= TimeBefore AND StartTimeUnix < TimeUnix)) AS IsReset,
        multiIf(AggregationTemporality = 1 OR IsReset, Value, Place > 1, ifNull(toFloat64(toInt128(ValueInt) - IntBefore), Value - Before), Value) AS Increase,
        multiIf(
            AggregationTemporality = 2 AND Place > 1 AND NOT (IsReset AND StartTimeUnix >= TimeBefore AND StartTimeUnix < TimeUnix), TimeBefore,
            toUnixTimestamp(StartTimeUnix) > 0, StartTimeUnix,
            Place > 1, TimeBefore,
            TimeUnix) AS From,
        (toUnixTimestamp64Nano(TimeUnix) - toUnixTimestamp64Nano(From)) / 1e9 AS Seconds
    FROM
    (
        SELECT
            TimeUnix, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality, ResourceAttributes, ScopeName, ScopeAttributes, Attributes,
            StartTimeUnix, Value, ValueInt,
            cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series,
            row_number() OVER own AS Place,
            lagInFrame(Value) OVER own AS Before,
            lagInFrame(ValueInt) OVER own AS IntBefore,
            lagInFrame(TimeUnix) OVER own AS TimeBefore,
            lagInFrame(StartTimeUnix) OVER own AS StartBefore
        FROM otel.otel_metrics_sum FINAL
        WHERE MetricName = {metric:String} AND (AggregationTemporality = 1 OR (AggregationTemporality = 2 AND IsMonotonic)) AND HasValue AND isFinite(Value)
            AND TimeUnix >= toDateTime64({since:DateTime}, 9) - INTERVAL 10 MINUTE AND TimeUnix < toDateTime64({until:DateTime}, 9)
        WINDOW own AS (PARTITION BY AppId, ServiceName, AggregationTemporality, Series ORDER BY TimeUnix, uid ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    )
)
WHERE TimeUnix >= toDateTime64({since:DateTime}, 9) AND (AggregationTemporality = 1 OR Place > 1 OR (From >= toDateTime64({since:DateTime}, 9) - INTERVAL 10 MINUTE AND From < TimeUnix))
SETTINGS do_not_merge_across_partitions_select_final = 1
