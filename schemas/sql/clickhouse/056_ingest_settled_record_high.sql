-- The upper 32 bits of base + first: with `record`, the lower ones, they name one record. The lower ones alone repeat: the counter of each
-- run of a receiver begins at 0, and its epoch stands above them. Of a hashed base only the bit that says so: its lower bits differ by
-- themselves, and four random bytes a line would be most of what a line takes. 0 for lines of earlier programs.
ALTER TABLE otel.ingest_settled
    ADD COLUMN IF NOT EXISTS `record_high` UInt32 CODEC(ZSTD(1))
