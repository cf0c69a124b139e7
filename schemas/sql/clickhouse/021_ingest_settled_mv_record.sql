ALTER TABLE otel.ingest_settled_mv MODIFY QUERY
SELECT
    stream, life, sent AS minute, serial, sequence, data_id, app_id, owners, items, redrive,
    now() AS at,
    toUInt32(bitAnd(base + first, 4294967295)) AS record
FROM otel.ingest_lines
