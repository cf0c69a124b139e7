-- The id of the request, as its answer has it in X-Request-Id; empty for samples of transfer and of earlier programs.
ALTER TABLE otel.ingest_samples
    ADD COLUMN IF NOT EXISTS `request` String CODEC(ZSTD(1))
