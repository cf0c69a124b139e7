-- The record of the line: the lower 32 bits of base + first; 0 for lines of earlier programs, and for those without an owner. It shows a record
-- that is gone although the place of its message is there.
ALTER TABLE otel.ingest_settled
    ADD COLUMN IF NOT EXISTS `record` UInt32 CODEC(Delta(4), ZSTD(1))
