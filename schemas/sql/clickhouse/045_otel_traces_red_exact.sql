-- Requests, errors and durations of the spans of some kinds that begin in [since, until), each span once (FINAL): a row for each
-- application, service and, by 'operation', name of spans; by 'service' the operation is empty. Buckets of `step` seconds since
-- 1970, and one bucket where step is 0. The quantiles are milliseconds. Of at most 1000 requests they are exact, with the ranks of
-- quantileExact: the P99 of up to 100 requests is the slowest of them. Of more they are of sketches, whose memory is bounded: at most
-- 1 % off (ClickHouse is off by up to three times the 0.3 % asked for), at a rank that may be lower by one request.
-- As before, it reads only the days of [since, until): rows with one uid have one time, and so they are in one partition.
CREATE OR REPLACE VIEW otel.otel_traces_red
AS SELECT Time, AppId, ServiceName, Operation, Requests, Errors, Quantiles[1] AS P50Ms, Quantiles[2] AS P95Ms, Quantiles[3] AS P99Ms
FROM
(
    SELECT
        toDateTime(if({step:UInt32} = 0, toUnixTimestamp({since:DateTime}), intDiv(toUnixTimestamp(Timestamp), greatest({step:UInt32}, 1)) * {step:UInt32}), 'UTC') AS Time,
        AppId,
        ServiceName,
        if({by:String} = 'operation', SpanName, '') AS Operation,
        count() AS Requests,
        countIf(StatusCode = 'Error') AS Errors,
        if(Requests <= 1000,
            arrayReduce('quantilesExact(0.5, 0.95, 0.99)', arrayMap(each -> each / 1e6, groupArray(1000)(Duration))),
            quantilesDD(0.003, 0.5, 0.95, 0.99)(Duration / 1e6)) AS Quantiles
    FROM otel.otel_traces FINAL
    WHERE Timestamp >= toDateTime64({since:DateTime}, 9) AND Timestamp < toDateTime64({until:DateTime}, 9) AND SpanKind IN {kinds:Array(String)}
    GROUP BY Time, AppId, ServiceName, Operation
)
SETTINGS do_not_merge_across_partitions_select_final = 1
