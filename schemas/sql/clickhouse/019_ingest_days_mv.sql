-- The owner 0 has no rows.
CREATE MATERIALIZED VIEW IF NOT EXISTS otel.ingest_days_mv TO otel.ingest_days
AS SELECT
    pipeline, data_id, app_id, days AS day,
    toUInt64(sum(day_rows)) AS rows,
    sum(day_sums + base * day_rows) AS sum
FROM otel.ingest_lines
ARRAY JOIN days, day_rows, day_sums
GROUP BY pipeline, data_id, app_id, day
