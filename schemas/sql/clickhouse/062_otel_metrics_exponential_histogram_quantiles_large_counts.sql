-- Quantiles of exponential histograms, as otel_metrics_histogram_quantiles has those of explicit ones. Buckets of finer scales are
-- joined to those of the coarsest one in a row. Within a bucket values are taken as spread equally over their logarithm. Of the counts
-- of a cumulative point those of the point before it are taken away, joined to its scale; after a reset, or with a finer scale, none.
-- A reset is a smaller count, also of one bucket at the joined scale, or a start not before the point before it. A zero threshold that has
-- risen takes lower buckets into the one of zero: then those of the point before it are taken there, and no bucket tells of a reset.
-- A start that is the point's own time, or a later one, is a start that is not known (OTLP): such a point is taken as one without a start.
-- Counts are added with 128 bits: where a sum is beyond 63 bits, Count is NULL, or Buckets empty; the quantiles hold.
-- A series is the attributes of the resource, the scope with its attributes, and the attributes of the data point, in any order.
-- It reads only the days of [since, until): rows with one uid have one time, and so they are in one partition.
-- A point of zeros alone has no scale of its own, and SDKs send 0: it makes no other point coarser, and one after it has no finer scale.
-- NaN and infinities of a sum are left out.
CREATE OR REPLACE VIEW otel.otel_metrics_exponential_histogram_quantiles
AS WITH
    (places, scale, level) -> (
        arrayCumSum(arrayMap(place -> place.3, places)) AS sums,
        level * sums[-1] AS rank,
        arrayFirstIndex(sum -> sum >= rank AND sum > 0, sums) AS i,
        places[i] AS place,
        (rank - if(i = 1, 0, sums[i - 1])) / place.3 AS share,
        multiIf(
            empty(places) OR sums[-1] = 0, NULL,
            place.1 = 0, 0.,
            place.1 * exp2((place.2 + if(place.1 > 0, share, 1 - share)) / exp2(scale)))).6 AS quantile_of,
    (places, shift) -> arrayMap(place -> (place.1, toInt64(floor(place.2 / exp2(shift))), place.3), places) AS joined,
    -- In the order of their values: those of negative ones by falling index, zero, and those of positive ones.
    places -> arrayMap(place -> place.1 * bitShiftLeft(1::Int64, 40) + place.1 * place.2, places) AS keys_of,
    places -> arrayExists(place -> place.1 != 0 AND place.3 != 0, places) AS has_scale
SELECT
    Time, AppId, ServiceName, MetricName, any(MetricUnit) AS MetricUnit, AggregationTemporality, Group, any(ScaleMin) AS Scale,
    sumMap(keys_of(joined(Places, greatest(OwnScale - ScaleMin, 0))), arrayMap(place -> place.3, Places)) AS Summed,
    if(arrayAll(count -> count <= 9223372036854775807, Summed.2),
        arrayMap((key, count) -> (sign(key), if(key = 0, 0, abs(key) - bitShiftLeft(1::Int64, 40)), toInt64(count)), Summed.1, Summed.2), []) AS Buckets,
    accurateCastOrNull(sum(toInt128(Added)), 'Int64') AS Count, sum(SumAdded) AS Sum,
    quantile_of(
        arrayMap((key, count) -> (sign(key), if(key = 0, 0, abs(key) - bitShiftLeft(1::Int64, 40)), toFloat64(count)), Summed.1, Summed.2) AS Rounded,
        Scale, 0.5) AS P50,
    quantile_of(Rounded, Scale, 0.95) AS P95, quantile_of(Rounded, Scale, 0.99) AS P99
FROM
(
    SELECT
        *,
        ZeroThreshold > ThresholdBefore AS HasWiderZero,
        arrayConcat(Own, arrayMap(place -> if(HasWiderZero AND exp2((place.2 + 0.5) / exp2(OwnScale)) < ZeroThreshold, (0, 0, -toInt128(place.3)), (place.1, place.2, -toInt128(place.3))),
            joined(OwnBefore, greatest(ScaleBefore - OwnScale, 0)))) AS Gained,
        AggregationTemporality = 1 OR Place = 1 OR (StartTimeUnix > StartBefore AND StartTimeUnix >= TimeBefore AND StartTimeUnix < TimeUnix) OR Count < CountBefore OR (OwnScale > ScaleBefore AND has_scale(OwnBefore))
            OR (NOT HasWiderZero AND arrayExists(gain -> gain < 0, arrayReduce('sumMap', [keys_of(Gained)], [arrayMap(place -> place.3, Gained)]).2)) AS IsWhole,
        if(IsWhole, Own, Gained) AS Places,
        if(IsWhole, Count, toUInt64(Count - CountBefore)) AS Added,
        if(IsWhole, Sum, Sum - SumBefore) AS SumGained,
        if(HasSum AND isFinite(SumGained), SumGained, NULL) AS SumAdded,
        ifNull(min(if(has_scale(Places), OwnScale, NULL)) OVER (PARTITION BY Time, AppId, ServiceName, AggregationTemporality, Group), 0) AS ScaleMin
    FROM
    (
        SELECT
            toDateTime(if({step:UInt32} = 0, toUnixTimestamp({since:DateTime}), intDiv(toUnixTimestamp(TimeUnix), greatest({step:UInt32}, 1)) * {step:UInt32}), 'UTC') AS Time,
            TimeUnix, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality, if({by:String} = '', '', Attributes[{by:String}]) AS Group,
            StartTimeUnix, toInt64(Scale) AS OwnScale, ZeroThreshold, Count, Sum, HasSum,
            -- Sign, index and count of each bucket.
            CAST(arrayConcat(
                arrayMap((count, i) -> (-1, NegativeOffset + i - 1, count), NegativeBucketCounts, arrayEnumerate(NegativeBucketCounts)),
                [(0, 0, ZeroCount)],
                arrayMap((count, i) -> (1, PositiveOffset + i - 1, count), PositiveBucketCounts, arrayEnumerate(PositiveBucketCounts))),
                'Array(Tuple(Int8, Int64, UInt64))') AS Own,
            row_number() OVER own AS Place,
            lagInFrame(TimeUnix) OVER own AS TimeBefore,
            lagInFrame(StartTimeUnix) OVER own AS StartBefore,
            lagInFrame(OwnScale) OVER own AS ScaleBefore,
            lagInFrame(ZeroThreshold) OVER own AS ThresholdBefore,
            lagInFrame(Own) OVER own AS OwnBefore,
            lagInFrame(Count) OVER own AS CountBefore,
            lagInFrame(Sum) OVER own AS SumBefore
        FROM otel.otel_metrics_exponential_histogram FINAL
        WHERE MetricName = {metric:String} AND AggregationTemporality IN (1, 2) AND bitAnd(Flags, 1) = 0
            AND TimeUnix >= toDateTime64({since:DateTime}, 9) - INTERVAL 10 MINUTE AND TimeUnix < toDateTime64({until:DateTime}, 9)
        WINDOW own AS (
            PARTITION BY AppId, ServiceName, AggregationTemporality, cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes))
            ORDER BY TimeUnix, uid ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    )
    WHERE TimeUnix >= toDateTime64({since:DateTime}, 9) AND (AggregationTemporality = 1 OR Place > 1
        OR (StartTimeUnix >= toDateTime64({since:DateTime}, 9) - INTERVAL 10 MINUTE AND StartTimeUnix < TimeUnix))
)
GROUP BY Time, AppId, ServiceName, MetricName, AggregationTemporality, Group
SETTINGS do_not_merge_across_partitions_select_final = 1
