/** An answer of JetStream to a publish. `batch` and `count` are those of the batch that it confirms. */
export type PubAck = {
  readonly duplicate?: boolean;
  /** Sequence of the message, of a batch that of its last one. */
  readonly seq?: number;
  readonly batch?: string;
  readonly count?: number;
  readonly error?: { readonly err_code: number; readonly description: string };
};

/**
 * The result of a try to store a batch: `stored` = all of it; `known` = a message of it is stored, by this try or an earlier one;
 * `refused` = nothing of this try; `full` = the stream has no room, and as a rule nothing of this try is stored; `unclear` = it may
 * be stored.
 */
export type BatchAnswer = 'stored' | 'known' | 'full' | 'refused' | 'unclear';

/** Error codes with which JetStream refuses a batch before anything of it is stored (nats-server 2.15, jetstream_batching.go). */
const refusals: ReadonlySet<number> = new Set([
  10158, // the server stores a message id of it for an earlier try now
  10174, // the stream does not allow batches
  10175, // no sequence
  10176, // a message of it is missing
  10177, // a header that batches may not have
  10179, // the id is not valid
  10199, // more messages than the server accepts in one
  10200, // the commit is not valid
  10210, // too many batches in progress
]);
const knownId = 10201;
const noRoom = 10077;

/** Reads the answer to a try with this id and number of messages. */
export const batchAnswerOf = ({ error, batch, count }: PubAck, id: string, messages: number): BatchAnswer => {
  // A single message, where the server knows no batches: it has stored this one.
  if (error === undefined) return batch === id && count === messages ? 'stored' : 'known';
  if (error.err_code === knownId) return 'known';
  if (error.err_code === noRoom) return 'full';
  return refusals.has(error.err_code) ? 'refused' : 'unclear';
};
