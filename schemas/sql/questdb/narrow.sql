-- is_split_measurement: one row per metric of a point; a SYMBOL column per dimension is added as it first appears.
-- {{table}} is the table_id of the record, {{ttl}} empty or a TTL clause.
CREATE TABLE IF NOT EXISTS {{table}} (
  timestamp TIMESTAMP,
  uid LONG,
  target SYMBOL,
  more_dimensions VARCHAR,
  metric SYMBOL,
  value DOUBLE
) TIMESTAMP(timestamp) PARTITION BY DAY {{ttl}} WAL DEDUP UPSERT KEYS(timestamp, uid)
