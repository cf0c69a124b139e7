-- As of the differences that they close.
ALTER TABLE otel.ingest_closings MODIFY TTL toDateTime(least(toUInt64(toUInt32(minute)) + 34560000, 4294967295), 'UTC')
