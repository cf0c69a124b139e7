-- Parts that an insert brought stay in one file; what merges make of them has a file for each column from 10 MiB on: merged into one
-- file, rows cost ClickHouse twice as much.
ALTER TABLE otel.otel_traces
    MODIFY SETTING min_level_for_wide_part = 1, min_bytes_for_wide_part = 10485760
