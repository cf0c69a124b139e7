-- The last data point of each series of a histogram, an exponential histogram or a summary within [since, until), as it was sent: with
-- cumulative temporality it counts since the start of its series. Of histograms the quantiles are those of its buckets, as
-- otel_metrics_histogram_quantiles and otel_metrics_exponential_histogram_quantiles estimate them; a summary has the quantiles that its
-- sender computed. Sum, Min and Max are NULL where it has none. A series whose last point says that it has no value any more (flag 1) is left out.
-- Quantiles are of counts as doubles: a count has 64 bits, and arithmetic of integers would take one from 2^63 on as negative. A series is
-- the attributes of the resource, the scope with its attributes, and the attributes of the data point, in any order.
CREATE OR REPLACE VIEW otel.otel_metrics_last_distributions
AS WITH
    (counts, bounds, level) -> (
        arrayCumSum(counts) AS sums,
        level * sums[-1] AS rank,
        arrayFirstIndex(sum -> sum >= rank AND sum > 0, sums) AS i,
        multiIf(
            empty(bounds) OR empty(counts) OR sums[-1] = 0, NULL,
            i > length(bounds), bounds[-1],
            i = 1 AND bounds[1] <= 0, bounds[1],
            if(i = 1, 0, bounds[i - 1]) + (bounds[i] - if(i = 1, 0, bounds[i - 1])) * (rank - if(i = 1, 0, sums[i - 1])) / counts[i])).4 AS explicit_quantile,
    (places, scale, level) -> (
        arrayCumSum(arrayMap(place -> place.3, places)) AS place_sums,
        level * place_sums[-1] AS place_rank,
        arrayFirstIndex(sum -> sum >= place_rank AND sum > 0, place_sums) AS k,
        places[k] AS place,
        (place_rank - if(k = 1, 0, place_sums[k - 1])) / place.3 AS share,
        multiIf(
            empty(places) OR place_sums[-1] = 0, NULL,
            place.1 = 0, 0.,
            place.1 * exp2((place.2 + if(place.1 > 0, share, 1 - share)) / exp2(scale)))).6 AS exponential_quantile,
    [0.5, 0.95, 0.99] AS Levels
SELECT
    Kind, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality, ResourceAttributes, ScopeName, ScopeAttributes, Attributes, Series,
    LastTime, Last.1 AS Count, Last.2 AS Sum, Last.3 AS Min, Last.4 AS Max,
    if(Kind = 'summary', Last.9, Levels) AS QuantileLevels,
    multiIf(
        Kind = 'summary', Last.10,
        Kind = 'histogram', arrayMap(level -> explicit_quantile(Last.5, Last.6, level), Levels),
        arrayMap(level -> exponential_quantile(Last.7, Last.8, level), Levels))::Array(Nullable(Float64)) AS QuantileValues
FROM
(
    SELECT
        Kind, AppId, ServiceName, MetricName, any(MetricUnit) AS MetricUnit, AggregationTemporality,
        any(ResourceAttributes) AS ResourceAttributes, any(ScopeName) AS ScopeName, any(ScopeAttributes) AS ScopeAttributes, any(Attributes) AS Attributes, Series,
        max(TimeUnix) AS LastTime,
        argMax((Count, Sum, Min, Max, Counts, Bounds, Places, Scale, SentLevels, SentValues), (TimeUnix, uid)) AS Last
    FROM
    (
        SELECT
            'histogram' AS Kind, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality, ResourceAttributes, ScopeName, ScopeAttributes, Attributes,
            cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series, TimeUnix, uid, Flags,
            Count, if(HasSum, Sum, NULL) AS Sum, if(HasMin, Min, NULL) AS Min, if(HasMax, Max, NULL) AS Max,
            CAST(BucketCounts, 'Array(Float64)') AS Counts, ExplicitBounds AS Bounds,
            CAST([], 'Array(Tuple(Int8, Int64, Float64))') AS Places, 0::Int64 AS Scale,
            CAST([], 'Array(Float64)') AS SentLevels, CAST([], 'Array(Float64)') AS SentValues
        FROM otel.otel_metrics_histogram
        WHERE MetricName = {metric:String} AND TimeUnix >= toDateTime64({since:DateTime}, 9) AND TimeUnix < toDateTime64({until:DateTime}, 9)
        UNION ALL
        SELECT
            'exponential_histogram' AS Kind, AppId, ServiceName, MetricName, MetricUnit, AggregationTemporality, ResourceAttributes, ScopeName, ScopeAttributes, Attributes,
            cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series, TimeUnix, uid, Flags,
            Count, if(HasSum, Sum, NULL) AS Sum, if(HasMin, Min, NULL) AS Min, if(HasMax, Max, NULL) AS Max,
            CAST([], 'Array(Float64)') AS Counts, CAST([], 'Array(Float64)') AS Bounds,
            -- Sign, index and count of each bucket in the order of their values: those of negative ones by falling index, zero, and those of positive ones.
            CAST(arrayConcat(
                arrayReverse(arrayMap((count, i) -> (-1, NegativeOffset + i - 1, count), NegativeBucketCounts, arrayEnumerate(NegativeBucketCounts))),
                [(0, 0, ZeroCount)],
                arrayMap((count, i) -> (1, PositiveOffset + i - 1, count), PositiveBucketCounts, arrayEnumerate(PositiveBucketCounts))),
                'Array(Tuple(Int8, Int64, Float64))') AS Places, toInt64(Scale) AS Scale,
            CAST([], 'Array(Float64)') AS SentLevels, CAST([], 'Array(Float64)') AS SentValues
        FROM otel.otel_metrics_exponential_histogram
        WHERE MetricName = {metric:String} AND TimeUnix >= toDateTime64({since:DateTime}, 9) AND TimeUnix < toDateTime64({until:DateTime}, 9)
        UNION ALL
        SELECT
            'summary' AS Kind, AppId, ServiceName, MetricName, MetricUnit, 0 AS AggregationTemporality, ResourceAttributes, ScopeName, ScopeAttributes, Attributes,
            cityHash64(mapSort(ResourceAttributes), ScopeName, ScopeVersion, mapSort(ScopeAttributes), mapSort(Attributes)) AS Series, TimeUnix, uid, Flags,
            Count, Sum::Nullable(Float64) AS Sum, NULL AS Min, NULL AS Max,
            CAST([], 'Array(Float64)') AS Counts, CAST([], 'Array(Float64)') AS Bounds,
            CAST([], 'Array(Tuple(Int8, Int64, Float64))') AS Places, 0::Int64 AS Scale,
            `ValueAtQuantiles.Quantile` AS SentLevels, `ValueAtQuantiles.Value` AS SentValues
        FROM otel.otel_metrics_summary
        WHERE MetricName = {metric:String} AND TimeUnix >= toDateTime64({since:DateTime}, 9) AND TimeUnix < toDateTime64({until:DateTime}, 9)
    )
    GROUP BY Kind, AppId, ServiceName, MetricName, AggregationTemporality, Series
    HAVING bitAnd(argMax(Flags, (TimeUnix, uid)), 1) = 0
)
