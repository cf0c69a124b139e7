-- The server's clock stamps each row at its insert.
CREATE MATERIALIZED VIEW IF NOT EXISTS otel.ingest_settled_mv TO otel.ingest_settled
AS SELECT
    stream, life, sent AS minute, serial, sequence, data_id, app_id, owners, items, redrive,
    now() AS at
FROM otel.ingest_lines
