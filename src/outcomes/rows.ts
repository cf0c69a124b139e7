import type { Pipeline } from '../model/signals.ts';

/**
 * The content of LEDGER (architecture 10.1): lines of JSON, each a row of the ClickHouse table that the message's
 * subject names. Times are text that ClickHouse reads: `YYYY-MM-DD hh:mm:ss[.mmm]`, UTC.
 */
export const ledgerSubjects = {
  outcomes: 'ledger.outcomes',
  settled: 'ledger.settled',
  published: 'ledger.published',
  doubtful: 'ledger.doubtful',
  usage: 'ledger.usage',
  refusals: 'ledger.refusals',
  samples: 'ledger.samples',
} as const;

export type LedgerKind = keyof typeof ledgerSubjects;

/**
 * The envelope version of the lines of the two books and of usage (settled, published, doubtful, usage), and the newest version of LEDGER that this program
 * reads. Programs that know version 1 alone hold such messages back for a newer one. The other subjects stay at version 1.
 */
export const ledgerVersion = 2;

/** Tables of database `otel` that the rows of each subject go to. */
export const ledgerTables: Readonly<Record<LedgerKind, string>> = {
  outcomes: 'ingest_outcomes',
  settled: 'ingest_lines',
  published: 'ingest_published',
  doubtful: 'ingest_doubtful',
  usage: 'ingest_usage',
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
  /** 0 for the items of an application. */
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

/**
 * The settlers' book (architecture 10.2): the outcomes of the items of one message for one owner, with the message's place in its stream
 * and in the publishers' book. A message without an owner has one line, with owner 0 and no items. ClickHouse divides a line: the
 * outcomes go to `ingest_outcomes`, the place to `ingest_settled`.
 */
export type SettledLine = OutcomeRow & {
  readonly stream: string;
  /** 0 for a message without a serial. */
  readonly life: number;
  readonly serial: number;
  /** The minute of the serial; without one, that of the arrival, and of 1970 where neither can be read. */
  readonly sent: string;
  /** Sequence in the stream. */
  readonly sequence: number;
  /** Lines of this message. */
  readonly owners: number;
  /** Items of the owner in the message, of a redrive too. */
  readonly items: number;
  /** Dead letters of this settlement, in the order of `letter_items`: their `ordinal`, -1 for a whole message. Left out where empty. */
  readonly letters?: readonly number[] | undefined;
  readonly letter_items?: readonly number[] | undefined;
  /**
   * Rows that the store has taken, by event day: days since 1970, rows, and the sum of (uid - base) modulo 2^64, decimal. Left out where
   * empty.
   */
  readonly days?: readonly number[] | undefined;
  readonly day_rows?: readonly number[] | undefined;
  readonly day_sums?: readonly string[] | undefined;
};

/**
 * The publishers' book (architecture 10.2): what one life published to one stream in messages of one minute, for one owner. The line with
 * owner 0 counts messages, regardless of their owners. Counts are cumulative: the line with the highest `version` stands. A message counts once
 * every earlier serial has its final result.
 */
export type PublishedLine = {
  readonly stream: string;
  readonly life: number;
  readonly minute: string;
  readonly data_id: number;
  readonly app_id: number;
  /** Messages with a PubAck that was no duplicate. */
  readonly messages: number;
  /** Items in them: accepted, deferred, and dropped by the receiver. */
  readonly items: number;
  readonly rows: number;
  readonly bytes: number;
  /** Dropped by the receiver, by reason; a part of `items`. */
  readonly dropped: Readonly<Record<string, number>>;
  /** Least and greatest sequence of a PubAck; 0 without one. */
  readonly sequence_first: number;
  readonly sequence_last: number;
  /** Every serial up to this one has its final result, and counts here. */
  readonly closed: number;
  /** 1 in the last lines of a life that ended in order. */
  readonly ended: 0 | 1;
  readonly version: number;
};

/** A message whose publish ended without an answer: it may be stored. Not part of the published lines. */
export type DoubtfulLine = {
  readonly stream: string;
  readonly life: number;
  readonly serial: number;
  readonly minute: string;
  readonly data_id: number;
  readonly app_id: number;
  readonly items: number;
  /** Key of the message. */
  readonly base: string;
  readonly first: number;
  /** 1: its sender was answered 2xx, because an earlier message seemed to have its name. */
  readonly told: 0 | 1;
};

/**
 * The usage of one owner: requests of one minute of arrival that were answered with success and had something to store, as one life of a
 * receiver counted them. Counts are cumulative: of the lines with one owner, minute, life and `line` the highest `version` stands.
 */
export type UsageLine = {
  readonly pipeline: Pipeline;
  readonly data_id: number;
  readonly app_id: number;
  readonly minute: string;
  readonly life: number;
  /** Number of the line in its life: a minute that was given up by the memory of the receiver goes on in another line. */
  readonly line: number;
  readonly requests: number;
  /** Bytes of the bodies as sent, and after decompression. */
  readonly wire_bytes: number;
  readonly inflated_bytes: number;
  /** Most requests that arrived within one second of the minute. */
  readonly second_max: number;
  /** Arrival of the last request, and who sent it: address, and the SDK's name as it gives it. Both bounded and without secrets. */
  readonly last_at: string;
  readonly sender: string;
  readonly sdk: string;
  readonly version: number;
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
  /** The id of the request, as its answer has it; empty for samples of transfer. */
  readonly request: string;
  /** Address of the sender, and the SDK's name as it gives it. */
  readonly sender: string;
  readonly sdk: string;
  readonly boot: number;
  readonly seq: number;
};
