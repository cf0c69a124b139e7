import type { Headers, ReceiverStatus, Refused } from '../refused.ts';

/** An answer of a receiver. */
export type Reply = {
  readonly status: ReceiverStatus;
  readonly contentType: string;
  readonly headers: Headers;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** What it answers, where it is an answer to a refused request. */
  readonly refused?: Refused;
};
