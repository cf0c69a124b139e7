-- One row per point; a DOUBLE column per metric and a SYMBOL column per dimension are added as they first appear.
-- {{table}} is the table_id of the record, {{ttl}} empty or a TTL clause.
CREATE TABLE IF NOT EXISTS {{table}} (
  timestamp TIMESTAMP,
  uid LONG,
  target SYMBOL,
  more_dimensions VARCHAR
) TIMESTAMP(timestamp) PARTITION BY DAY {{ttl}} WAL DEDUP UPSERT KEYS(timestamp, uid)
