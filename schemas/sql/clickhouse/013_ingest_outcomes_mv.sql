-- A message without an owner has a line for its place alone.
CREATE MATERIALIZED VIEW IF NOT EXISTS otel.ingest_outcomes_mv TO otel.ingest_outcomes
AS SELECT
    pipeline, data_id, app_id, base, first, ordinal, redrive, minute, received, outcomes, at,
    letters, letter_items, days, day_rows, day_sums,
    toUInt8(1) AS book
FROM otel.ingest_lines
WHERE notEmpty(outcomes)
