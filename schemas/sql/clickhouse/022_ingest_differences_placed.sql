-- Of the items of an unrecorded difference, those whose message has its place in the settlers' book.
ALTER TABLE otel.ingest_differences
    ADD COLUMN IF NOT EXISTS `placed_items` UInt64 AFTER `messages`
