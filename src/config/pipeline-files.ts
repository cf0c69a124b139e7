// The files of pipelines/ as they are written: what their schemas let through.

/** pipelines/streams.yaml. */
export type StreamsFile = {
  streams: Record<
    string,
    {
      subjects: string[];
      retention: 'workqueue' | 'limits';
      discard?: 'new' | 'old';
      bytes_max: string;
      duplicate_window_seconds: number;
      replicas: number;
      consumer?: { name: string; ack_wait_seconds: number; ack_pending_max: number };
    }
  >;
};

/** What every file says of its consumer. */
export type TransferFile = {
  consumer: string;
  stages: string[];
  pull_bytes_max: string;
  rows_per_write_max: number;
  write_interval_ms: number;
  store: string;
  store_timeout_ms: number;
  breaker?: {
    dead_letters_in_a_row_max?: number;
    dead_letters_share_max?: number;
    share_items_min?: number;
    pause_seconds?: number;
  };
};

/** What the files of both signals have in common. */
export type LineFile = {
  receiver: {
    stages: string[];
    limits: {
      body_bytes_max: string;
      inflated_bytes_max: string;
      /** Files of programs before these were limited do not name them. */
      inflate_ratio_max?: number;
      elements_max?: number;
    };
    time: { ahead_seconds_max: number | 'off'; age_seconds_max: number | 'off' };
    publish: { stream: string; subject: string; shards: number; deadline_ms: number; away_ms: number };
  };
  transfer: TransferFile;
};

/** pipelines/metrics.yaml. */
export type MetricsFile = LineFile & {
  transfer: { table_wait_seconds?: number };
  receiver: { limits: { points_max: number; metric_columns_max: number; dimension_columns_max: number } };
};

/** pipelines/traces.yaml. */
export type TracesFile = LineFile & {
  receiver: {
    limits: {
      spans_max: number;
      attributes_max: number;
      events_max: number;
      links_max: number;
      value_bytes_max: string;
    };
  };
  transfer: { guard: 'suspect' | 'always'; retention_days: number | 'off' };
};

/** pipelines/ledger.yaml. */
export type LedgerFile = { stream: string; transfer: TransferFile & { drain_ms: number } };
