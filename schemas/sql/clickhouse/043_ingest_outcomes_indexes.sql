-- The account asks again and again for the records of some minutes, and for those that name dead letters: few granules hold any of them.
ALTER TABLE otel.ingest_outcomes
    ADD INDEX IF NOT EXISTS idx_minute minute TYPE minmax GRANULARITY 1,
    ADD INDEX IF NOT EXISTS idx_letters length(letters) TYPE minmax GRANULARITY 1
