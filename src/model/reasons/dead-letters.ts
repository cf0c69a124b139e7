/** Reasons for a dead letter: transfer keeps the bytes instead of dropping the item. */
export const deadLetterReasons = [
  [
    'unreadable_message',
    'a message of the stream is malformed',
    'report it with the dead letter, which has the bytes of the message',
  ],
  [
    'row_refused',
    'QuestDB refuses the row of a point, also in a retry',
    'read the error in the dead letter, fix its cause, then redrive it',
  ],
  [
    'span_refused',
    'ClickHouse refuses a span, also in a retry',
    'read the error in the dead letter, fix its cause, then redrive it',
  ],
  [
    'record_refused',
    'ClickHouse refuses a log record, also in a retry',
    'read the error in the dead letter, fix its cause, then redrive it',
  ],
  [
    'data_point_refused',
    'ClickHouse refuses a data point, also in a retry',
    'read the error in the dead letter, fix its cause, then redrive it',
  ],
  [
    'block_refused',
    'ClickHouse refuses a block of spans, log records or data points, also in a retry, and the one at fault is unknown',
    'read the error in the dead letter, fix its cause, then redrive it',
  ],
  [
    'table_unavailable',
    'the QuestDB table of the points failed for longer than table_wait_seconds while other tables accepted rows',
    'repair or create the table, then redrive its dead letters',
  ],
  [
    'deferred_item_valid',
    'the receiver deferred the item for its time, and transfer finds the time valid: their versions differ',
    'run one version in all processes, then redrive it',
  ],
  [
    'ledger_line_refused',
    'ClickHouse refuses a line of outcomes, refusals or samples, also in a retry; the items themselves are not affected',
    'read the error in the dead letter: the tables may be older than the program (tidemark migrate)',
  ],
] as const;

export type DeadLetterReason = (typeof deadLetterReasons)[number][0];
