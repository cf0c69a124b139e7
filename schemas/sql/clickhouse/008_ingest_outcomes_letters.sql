-- What a record names beside its counts: its dead letters (ordinals, -1 for a whole message, and their items), and its rows in the store
-- by event day with the sum of (uid - base) modulo 2^64. `book` is 0 in records of earlier programs, which have none of it.
ALTER TABLE otel.ingest_outcomes
    ADD COLUMN IF NOT EXISTS `letters` Array(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `letter_items` Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `days` Array(UInt16) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `day_rows` Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `day_sums` Array(UInt64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `book` UInt8
