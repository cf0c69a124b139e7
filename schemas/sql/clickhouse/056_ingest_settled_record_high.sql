-- The upper 32 bits of base + first: with `record`, the lower ones, they name one record. The lower ones alone repeat: the counter of each
-- run of a receiver begins at 0, and its epoch stands above them. 0 for lines of earlier programs, and for those without an owner.
ALTER TABLE otel.ingest_settled
    ADD COLUMN IF NOT EXISTS `record_high` UInt32 CODEC(ZSTD(1))
