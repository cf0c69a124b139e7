-- A DateTime ends in 2106 and begins again in 1970: what stands under an event day from 2105 on had expired at once.
ALTER TABLE otel.ingest_differences MODIFY TTL toDateTime(least(toUInt64(toUInt32(minute)) + 34560000, 4294967295), 'UTC')
