-- Days whose records have expired are compared with no store. A month beyond their 90 days, and no later than the last day of a Date.
ALTER TABLE otel.ingest_days MODIFY TTL toDate(least(toUInt32(day) + 120, 65535))
