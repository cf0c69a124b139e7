-- Quantiles of explicit histograms within [since, until): a row for each bucket of `step` seconds since 1970 (0: one bucket), application,
-- service, value of the attribute `by` ('' for all together), temporality and bounds. What a cumulative point adds is its difference to
-- the point before it (of ten minutes before `since`, too), or all of it after a reset: a start not before that point, other bounds, a
-- smaller count, or a smaller one in a bucket. A start that lies before that point is none: one computed from an uptime moves by milliseconds.
-- Within a bucket values are taken as equally spread; the highest bucket is its lower bound, as Prometheus has it.
-- A start that is the point's own time, or a later one, is a start that is not known (OTLP): such a point is taken as one without a start.
-- NaN and infinities of a sum are left out: one of them would be the sum of a whole row.
-- Counts are added with 128 bits: where a sum is beyond 63 bits, Count is NULL, or BucketCounts empty; the quantiles hold.
-- A series is the attributes of the resource, the scope with its attributes, and the attributes of the data point, in any order.
-- It reads only the days of [since, until): rows with one uid have one time, and so they are in one partition.
CREATE OR REPLACE VIEW otel.otel_metrics_histogram_quantiles
AS WITH
    (counts, bounds, level) -> (
        arrayCumSum(counts) AS sums,
        level * sums[-1] AS rank,
        arrayFirstIndex(sum -> sum >= rank AND sum > 0, sums) AS i,
        multiIf(
            empty(bounds) OR empty(counts) OR sums[-1] = 0, NULL,
            i > length(bounds), bounds[-1],
            i = 1 AND bounds[1] <= 0, bounds[1],
            if(i = 1, 0, bounds[i - 1]) + (bounds[i] - if(i = 1, 0, bounds[i - 1])) * (rank - if(i = 1, 0, sums[i - 1])) / counts[i])).4 AS quantile_of
SELECT
    Time, AppId, ServiceName, MetricName, any(MetricUnit) AS MetricUnit, AggregationTemporality, Group, ExplicitBounds,
    if(arrayAll(count -> count <= 9223372036854775807, sumForEach(CAST(Buckets, 'Array(Int128)')) AS Exact), CAST(Exact, 'Array(Int64)'), []) AS BucketCounts,
    accurateCastOrNull(sum(toInt128(Added)), 'Int64') AS Count, sum(SumAdded) AS Sum,
    quantile_of(CAST(Exact, 'Array(Float64)') AS Rounded, ExplicitBounds, 0.5) AS P50,
    quantile_of(Rounded, ExplicitBounds, 0.95) AS P95,
    quantile_of(Rounded, ExplicitBounds, 0.99) AS P99
FROM
(
    SELECT
        *,
        AggregationTemporality = 1 OR Place = 1 OR (StartTimeUnix > StartBefore AND StartTimeUnix >= TimeBefore AND StartTimeUnix < TimeUnix) OR ExplicitBounds != BoundsBefore OR Count < CountBefore
            OR arrayExists((now, before) -> now < before, Counts, arrayResize(CountsBefore, length(Counts))) AS IsWhole,
        if(IsWhole, Counts, arrayMap((now, before) -> toUInt64(now - before), Counts, arrayResize(CountsBefore, length(Counts)))) AS Buckets,
        if(IsWhole, Count, toUInt64(Count - CountBefore)) AS Added,
        if(IsWhole, Sum, Sum - SumBefore) AS SumGained,
        if(HasSum AND isFinite(SumGained), SumGained, NULL) AS SumAdded
    FROM
    (
        SELECT
            toDateTime(if({step:UInt32} = 0, toUnixTimestamp({since:DateTime}), intDiv(toUnixTimestamp(TimeUnix), greatest({step:UInt32}, 1)) * {step:UInt32}), 'UTC') AS Time,
            TimeUnix, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality, if({by:String} = '', '', Attributes[{by:String}]) AS Group,
            StartTimeUnix, ExplicitBounds, BucketCounts AS Counts, Count, Sum, HasSum,
            row_number() OVER own AS Place,
            lagInFrame(TimeUnix) OVER own AS TimeBefore,
            lagInFrame(StartTimeUnix) OVER own AS StartBefore,
            lagInFrame(ExplicitBounds) OVER own AS BoundsBefore,
            lagInFrame(Counts) OVER own AS CountsBefore,
            lagInFrame(Count) OVER own AS CountBefore,
            lagInFrame(Sum) OVER own AS SumBefore
        FROM otel.otel_metrics_histogram FINAL
        WHERE MetricName = {metric:String} AND AggregationTemporality IN (1, 2) AND bitAnd(Flags, 1) = 0
            AND TimeUnix >= toDateTime64({since:DateTime}, 9) - INTERVAL 10 MINUTE AND TimeUnix < toDateTime64({until:DateTime}, 9)
        WINDOW own AS (
            PARTITION BY AppId, ServiceName, AggregationTemporality, cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes))
            ORDER BY TimeUnix, uid ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    )
    WHERE TimeUnix >= toDateTime64({since:DateTime}, 9) AND (AggregationTemporality = 1 OR Place > 1
        OR (StartTimeUnix >= toDateTime64({since:DateTime}, 9) - INTERVAL 10 MINUTE AND StartTimeUnix < TimeUnix))
)
GROUP BY Time, AppId, ServiceName, MetricName, AggregationTemporality, Group, ExplicitBounds
SETTINGS do_not_merge_across_partitions_select_final = 1
