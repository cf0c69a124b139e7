-- The pipeline of the requests; empty in lines of earlier programs, which had a line for each pipeline and did not name it.
ALTER TABLE otel.ingest_usage
    ADD COLUMN IF NOT EXISTS `pipeline` LowCardinality(String) CODEC(ZSTD(1))
