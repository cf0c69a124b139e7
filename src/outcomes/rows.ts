/**
 * The content of LEDGER (architecture 10.3): lines of JSON, each a row of the ClickHouse table that the message's
 * subject names. Times are text that ClickHouse reads: `YYYY-MM-DD hh:mm:ss[.mmm]`, UTC.
 */
export const ledgerSubjects = {
  outcomes: 'ledger.outcomes',
  refusals: 'ledger.refusals',
  samples: 'ledger.samples',
} as const;

export type LedgerKind = keyof typeof ledgerSubjects;

export type Pipeline = 'metrics' | 'traces';

/** Tables of database `otel` that the rows of each subject go to. */
export const ledgerTables: Readonly<Record<LedgerKind, string>> = {
  outcomes: 'ingest_outcomes',
  refusals: 'ingest_refusals',
  samples: 'ingest_samples',
};

/** `stored`, `dead_lettered` or `dropped/<reason>` → items. Negative where a record corrects another one. */
export type OutcomeCounts = Readonly<Record<string, number>>;

/**
 * The outcomes of the items of one message for one data id or application; or, with `ordinal` ≥ 0, of one item that was
 * redriven or purged (`received` is then 0). Key: pipeline, data_id, app_id, base, first, ordinal, redrive.
 */
export type OutcomeRow = {
  readonly pipeline: Pipeline;
  /** 0 for spans. */
  readonly data_id: number;
  /** 0 for points. */
  readonly app_id: number;
  /** uid base (decimal) and first ordinal of the message's run; of a shared message those of its first request. */
  readonly base: string;
  readonly first: number;
  /** -1 for the message's own record. */
  readonly ordinal: number;
  readonly redrive: number;
  /** Minute of the arrival. */
  readonly minute: string;
  /** Items: the sum of the counts. */
  readonly received: number;
  readonly outcomes: OutcomeCounts;
  readonly at: string;
};

/** Refused requests, duplicates and dropped values of one minute, as one receiver process counted them. */
export type RefusalRow = {
  readonly pipeline: Pipeline;
  /** 0 where the owner is unknown. */
  readonly data_id: number;
  readonly app_id: number;
  readonly minute: string;
  readonly kind: 'refused' | 'duplicate' | 'value_lost';
  readonly reason: string;
  readonly requests: number;
  readonly items: number;
  readonly boot: number;
  readonly seq: number;
};

/** One sample of a dropped, refused or dead-lettered item. Every text has a limit and holds no secret. */
export type SampleRow = {
  readonly at: string;
  readonly pipeline: Pipeline;
  readonly data_id: number;
  readonly app_id: number;
  readonly stage: string;
  readonly reason: string;
  readonly ordinal: number;
  readonly field: string;
  readonly value: string;
  readonly detail: string;
  readonly payload: string;
  /** Address of the sender, and the SDK's name as it gives it. */
  readonly sender: string;
  readonly sdk: string;
  readonly boot: number;
  readonly seq: number;
};
