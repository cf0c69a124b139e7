-- `record` stays as it was: a metadata of an earlier program reads it alone.
ALTER TABLE otel.ingest_settled_mv MODIFY QUERY
SELECT
    stream, life, sent AS minute, serial, sequence, data_id, app_id, owners, items, redrive,
    now() AS at,
    toUInt32(bitAnd(base + first, 4294967295)) AS record,
    toUInt32(if(base >= 4611686018427387904, 1073741824, bitShiftRight(base + first, 32))) AS record_high
FROM otel.ingest_lines
