-- The account asks again and again for the lines of the last minutes.
ALTER TABLE otel.ingest_settled
    ADD INDEX IF NOT EXISTS idx_at at TYPE minmax GRANULARITY 1
